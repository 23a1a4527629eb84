/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/admin.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/process.h"
#include "daemon/pulse.h"

#define TICK_NS NS_PER_S

struct admin {
    struct loop *loop;
    struct api *api;
    struct timer timer;
    void (*tick)(void *arg);
    void *arg;
    bool is_running;
    struct pulse pulse;
    pthread_t thread;
};

static void *admin_main(void *arg)
{
    struct admin *a = arg;

    process_name_thread("admin");
    loop_run(a->loop);
    return NULL;
}

static void on_timer(struct timer *t)
{
    struct admin *a = CONTAINER_OF(t, struct admin, timer);

    a->tick(a->arg);
    loop_timer_start(a->loop, t, TICK_NS);
}

int admin_new(int fd, const struct api_sources *sources, void (*tick)(void *arg),
              struct admin **ret)
{
    struct admin *a = mem_zalloc(1, sizeof(*a));
    int r;

    if (!a)
        return -ENOMEM;
    timer_init(&a->timer, on_timer);
    a->tick = tick;
    a->arg = sources->arg;
    r = loop_new(&a->loop);
    if (r == 0)
        r = api_new(a->loop, sources, &a->api);
    if (r == 0)
        r = api_listen(a->api, fd);
    if (r < 0) {
        admin_free(a);
        return r;
    }
    loop_timer_start(a->loop, &a->timer, TICK_NS);
    pulse_init(&a->pulse, a->loop);
    *ret = a;
    return 0;
}

int admin_start(struct admin *a)
{
    int r = -pthread_create(&a->thread, NULL, admin_main, a);

    a->is_running = r == 0;
    return r;
}

void admin_stop(struct admin *a)
{
    if (!a || !a->is_running)
        return;
    loop_stop(a->loop);
    pthread_join(a->thread, NULL);
    a->is_running = false;
}

struct admin *admin_free(struct admin *a)
{
    if (!a)
        return NULL;
    admin_stop(a);
    if (a->loop) {
        loop_timer_stop(a->loop, &a->timer);
        loop_turn(a->loop, 0); /* what was posted last */
    }
    api_free(a->api);
    loop_free(a->loop);
    mem_free(a);
    return NULL;
}

struct loop *admin_loop(struct admin *a)
{
    return a->loop;
}

void admin_hand_over(struct admin *a)
{
    api_hand_over(a->api);
}

void admin_look(struct admin *a)
{
    api_look(a->api);
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
