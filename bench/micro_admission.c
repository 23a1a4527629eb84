/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_admission.c - nanoseconds per request that admission costs: an enter and a leave.
 * Prints one line per case: the median of the rounds.
 *
 *   build/release/bench_micro_admission
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "gateway/admission.h"

enum { N_REPEATS = 200000, N_ROUNDS = 15, N_TICKETS = 4096 };

struct bench {
    struct admission *a;
    struct loop *loop;
    struct admission_port port;
    struct admission_ticket t[N_TICKETS];
};

static const mono_t now = {NS_PER_S};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, void (*round)(struct bench *b), struct bench *b)
{
    double ns[N_ROUNDS];
    for (int i = 0; i < N_ROUNDS; i++) {
        mono_t start = clock_mono();
        round(b);
        ns[i] = (double)mono_diff(clock_mono(), start) / (double)N_REPEATS;
    }
    qsort(ns, N_ROUNDS, sizeof(ns[0]), compare);
    printf("%-46s %7.1f ns (min %.1f, max %.1f)\n", name, ns[N_ROUNDS / 2], ns[0],
           ns[N_ROUNDS - 1]);
}

static void on_granted(struct admission_ticket *t)
{
    (void)t;
}

static struct bench *bench_new(struct admission *a)
{
    struct bench *b = calloc(1, sizeof(*b));
    if (!b || loop_new(&b->loop) < 0 || admission_port_open(&b->port, a, b->loop, on_granted) < 0)
        exit(1);
    b->a = a;
    return b;
}

/* As an exchange does: the ticket is made, too. */
static void round_enter_leave(struct bench *b)
{
    for (int i = 0; i < N_REPEATS; i++) {
        admission_ticket_init(&b->t[0], ADMISSION_INTERACTIVE, SPAN("team-a"), 1000);
        (void)admission_enter(&b->port, &b->t[0], now); /* there is room */
        admission_leave(&b->t[0], now);
    }
}

/* Each one that leaves lets in the next, which queues again when it is through. */
static void round_queued(struct bench *b)
{
    for (int i = 0; i < N_REPEATS; i++) {
        struct admission_ticket *t = admission_port_take(&b->port);
        admission_leave(t, now);
        (void)admission_enter(&b->port, t, now); /* at the end of the queue */
    }
}

static void queue_fill(struct bench *b, int n_tenants, uint32_t tokens)
{
    for (int i = 0; i < N_TICKETS; i++) {
        char tenant[16];
        (void)snprintf(tenant, sizeof(tenant), "tenant-%d", i % n_tenants);
        admission_ticket_init(&b->t[i], ADMISSION_INTERACTIVE, span_cstr(tenant),
                              tokens + (uint32_t)(i * 7919 % 1000));
        (void)admission_enter(&b->port, &b->t[i], now);
    }
    admission_leave(&b->t[0], now);
}

static void queue_empty(struct bench *b)
{
    for (int i = 0; i < N_TICKETS; i++)
        admission_cancel(&b->t[i], now);
}

static atomic_bool is_over;

static void *other(void *arg)
{
    while (!atomic_load(&is_over))
        round_enter_leave(arg);
    return NULL;
}

int main(void)
{
    struct admission_limits limits = {.max_inflight = 1000, .max_tokens = 10000000};
    struct admission *a = NULL;
    struct bench *b;
    struct bench *c;
    pthread_t thread;
    if (admission_new(&a) < 0)
        return 1;
    admission_set_limits(a, &limits, now);
    b = bench_new(a);
    c = bench_new(a);
    atomic_store(&is_over, true); /* locks cost more once there was a second thread */
    if (pthread_create(&thread, NULL, other, c) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    report("enter and leave", round_enter_leave, b);
    atomic_store(&is_over, false);
    if (pthread_create(&thread, NULL, other, c) != 0)
        return 1;
    report("enter and leave, another thread does, too", round_enter_leave, b);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    limits.max_inflight = 1;
    admission_set_limits(a, &limits, now);
    static const int tenants[] = {1, 10, 1000, N_TICKETS};
    for (size_t i = 0; i < sizeof(tenants) / sizeof(tenants[0]); i++) {
        static const uint32_t tokens[] = {500, 20000};
        for (size_t k = 0; k < 2; k++) {
            char name[64];
            (void)snprintf(name, sizeof(name), "4096 wait, %d tenants, %u tokens", tenants[i],
                           tokens[k]);
            queue_fill(b, tenants[i], tokens[k]);
            report(name, round_queued, b);
            queue_empty(b);
        }
    }
    return 0;
}
