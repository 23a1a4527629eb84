/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/admin.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/pulse.h"
#include "io/listener.h"

enum { BACKLOG = 128 };
#define TICK_NS NS_PER_S

struct admin {
    struct loop *loop;
    struct api *api;
    struct timer timer;
    void (*tick)(void *arg);
    void *arg;
    int fd; /* -1: not listening */
    bool is_running;
    struct pulse pulse;
    pthread_t thread;
    char text[ADDR_TEXT_MAX];
};

static void *admin_main(void *arg)
{
    struct admin *a = arg;

    loop_run(a->loop);
    return NULL;
}

static void on_timer(struct timer *t)
{
    struct admin *a = CONTAINER_OF(t, struct admin, timer);

    a->tick(a->arg);
    loop_timer_start(a->loop, t, TICK_NS);
}

int admin_start(const struct addr *at, const struct api_sources *sources, void (*tick)(void *arg),
                struct admin **ret)
{
    struct admin *a = mem_zalloc(1, sizeof(*a));
    struct addr bound;
    int r;

    if (!a)
        return -ENOMEM;
    timer_init(&a->timer, on_timer);
    a->tick = tick;
    a->arg = sources->arg;
    a->fd = listener_open(at, BACKLOG, &bound);
    r = a->fd < 0 ? a->fd : loop_new(&a->loop);
    if (r == 0)
        r = api_new(a->loop, sources, &a->api);
    if (r == 0)
        r = api_listen(a->api, a->fd);
    if (r == 0)
        loop_timer_start(a->loop, &a->timer, TICK_NS);
    pulse_init(&a->pulse, a->loop);
    if (r == 0)
        r = -pthread_create(&a->thread, NULL, admin_main, a);
    if (r < 0) {
        admin_stop(a);
        return r;
    }
    a->is_running = true;
    addr_format(&bound, a->text);
    *ret = a;
    return 0;
}

struct admin *admin_stop(struct admin *a)
{
    if (!a)
        return NULL;
    if (a->is_running) {
        loop_stop(a->loop);
        pthread_join(a->thread, NULL);
    }
    if (a->loop) {
        loop_timer_stop(a->loop, &a->timer);
        loop_turn(a->loop, 0); /* what was posted last */
    }
    api_free(a->api);
    loop_free(a->loop);
    if (a->fd >= 0)
        listener_close(a->fd);
    mem_free(a);
    return NULL;
}

/* --- messages to its thread --- */

struct reloaded_message {
    struct admin *admin;
    struct api_reloaded reloaded;
    char texts[];
};

static void reloaded_run(void *arg)
{
    struct reloaded_message *m = arg;

    api_reloaded(m->admin->api, &m->reloaded);
    mem_free(m);
}

static struct span copy_to(char *dst, struct span s)
{
    if (s.n > 0)
        memcpy(dst, s.p, s.n);
    return span_of(dst, s.n);
}

int admin_post_reloaded(struct admin *a, const struct api_reloaded *r)
{
    struct reloaded_message *m = mem_alloc(sizeof(*m) + r->json.n + r->text.n);
    int e;

    if (!m)
        return -ENOMEM;
    m->admin = a;
    m->reloaded = *r;
    m->reloaded.json = copy_to(m->texts, r->json);
    m->reloaded.text = copy_to(m->texts + r->json.n, r->text);
    e = loop_post(a->loop, reloaded_run, m);
    if (e < 0)
        mem_free(m);
    return e;
}

bool admin_beats(struct admin *a)
{
    return pulse_beats(&a->pulse);
}

const char *admin_text(const struct admin *a)
{
    return a->text;
}
