/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/resolver.c - getaddrinfo blocks, so it runs on a thread of its own; one is enough, since
 * answers are kept by the pools for their time to live.
 */
#include "io/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/mem.h"
#include "base/process.h"
#include "base/queue.h"

enum { LOOKUPS_MAX = 256 };

struct lookup {
    struct loop *loop;
    void (*on_answer)(void *arg, const struct resolver_answer *answer);
    void *arg;
    uint16_t port;
    char host[ADDR_HOST_MAX];
    struct resolver_answer answer;
};

struct resolver {
    struct queue *queue;
    atomic_bool is_closing;
    pthread_t thread;
};

/* On the loop's thread. */
static void lookup_deliver(void *arg)
{
    struct lookup *k = arg;
    k->on_answer(k->arg, &k->answer);
    mem_free(k);
}

static int gai_errno(int r)
{
    switch (r) {
    case 0:
        return 0;
    case EAI_MEMORY:
        return -ENOMEM;
    case EAI_AGAIN:
        return -EAGAIN;
    default:
        return -ENOENT;
    }
}

static void addr_set_port(struct addr *a, uint16_t port)
{
    if (a->ss.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)&a->ss)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)(void *)&a->ss)->sin_port = htons(port);
}

static void lookup_run(struct lookup *k)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    k->answer.error = gai_errno(getaddrinfo(k->host, NULL, &hints, &list));
    for (struct addrinfo *i = list; i && k->answer.n_addrs < RESOLVER_ADDRS_MAX; i = i->ai_next) {
        struct addr *a = &k->answer.addrs[k->answer.n_addrs];
        if (i->ai_family != AF_INET && i->ai_family != AF_INET6)
            continue;
        memcpy(&a->ss, i->ai_addr, i->ai_addrlen);
        a->len = i->ai_addrlen;
        addr_set_port(a, k->port);
        k->answer.n_addrs++;
    }
    if (list)
        freeaddrinfo(list);
    if (k->answer.error == 0 && k->answer.n_addrs == 0)
        k->answer.error = -ENOENT;
}

/* The asking side counts on exactly one answer, so a moment without memory is waited out. */
static void lookup_answer(struct resolver *r, struct lookup *k)
{
    if (atomic_load_explicit(&r->is_closing, memory_order_relaxed))
        k->answer = (struct resolver_answer){.error = -ECANCELED};
    while (loop_post(k->loop, lookup_deliver, k) < 0) {
        struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};
        if (atomic_load_explicit(&r->is_closing, memory_order_relaxed)) {
            mem_free(k);
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
}

static void *resolver_main(void *arg)
{
    struct resolver *r = arg;

    process_name_thread("resolver");
    while (!queue_is_done(r->queue)) {
        struct lookup *k = queue_pop(r->queue);
        if (!k) {
            queue_wait(r->queue, -1);
            continue;
        }
        lookup_run(k);
        lookup_answer(r, k);
    }
    return NULL;
}

int resolver_new(struct resolver **ret)
{
    struct resolver *r = mem_zalloc(1, sizeof(*r));
    int rc;

    if (!r)
        return -ENOMEM;
    rc = queue_new(LOOKUPS_MAX, &r->queue);
    if (rc < 0)
        goto fail;
    rc = -pthread_create(&r->thread, NULL, resolver_main, r);
    if (rc < 0)
        goto fail;
    *ret = r;
    return 0;
fail:
    queue_free(r->queue, NULL);
    mem_free(r);
    return rc;
}

struct resolver *resolver_free(struct resolver *r)
{
    struct lookup *k;

    if (!r)
        return NULL;
    atomic_store_explicit(&r->is_closing, true, memory_order_relaxed);
    while ((k = queue_pop(r->queue)) != NULL)
        lookup_answer(r, k); /* the asking side frees what it hung on this */
    queue_close(r->queue);
    pthread_join(r->thread, NULL);
    queue_free(r->queue, mem_free);
    mem_free(r);
    return NULL;
}

int resolver_lookup(struct resolver *r, struct loop *l, const char *host, uint16_t port,
                    void (*on_answer)(void *arg, const struct resolver_answer *answer), void *arg)
{
    struct lookup *k = mem_zalloc(1, sizeof(*k));
    int rc;

    if (!k)
        return -ENOMEM;
    k->loop = l;
    k->on_answer = on_answer;
    k->arg = arg;
    k->port = port;
    span_copy(span_cstr(host), k->host, sizeof(k->host));
    rc = queue_push(r->queue, k);
    if (rc < 0)
        mem_free(k);
    return rc;
}
