/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watchdog.h"

#include <string.h>

#include "base/log.h"

static mono_t earlier(mono_t a, mono_t b)
{
    return mono_is_set(a) && (!mono_is_set(b) || a.ns < b.ns) ? a : b;
}

void watchdog_add(struct observe_waiting *sum, const struct observe_waiting *one)
{
    sum->t_look = earlier(sum->t_look, one->t_look);
    sum->t_oldest = earlier(sum->t_oldest, one->t_oldest);
    sum->t_heard = mono_max(sum->t_heard, one->t_heard);
    sum->n += one->n;
    sum->n_streams += one->n_streams;
}

/* The silence that has ended, and by what. */
static enum watchdog_change end_silence(struct watchdog_upstream *u,
                                        const struct observe_waiting *sum, mono_t now,
                                        int64_t *ret_silent_ns)
{
    bool is_heard = sum->t_heard.ns > u->t_silent.ns;

    u->is_hung = false;
    *ret_silent_ns = mono_diff(is_heard ? sum->t_heard : now, u->t_silent);
    return is_heard ? WATCHDOG_ANSWERS : WATCHDOG_LEFT;
}

enum watchdog_change watchdog_judge(struct watchdog_upstream *u, const struct observe_waiting *sum,
                                    mono_t now, int64_t hung_after_ns, int64_t *ret_silent_ns)
{
    mono_t since;

    if (!mono_is_set(sum->t_look) || mono_diff(now, sum->t_look) > WATCHDOG_STALE_NS)
        return WATCHDOG_AS_BEFORE;
    if (sum->n == 0) {
        u->t_waiting = MONO_NONE;
        u->t_idle = sum->t_look;
    } else if (!mono_is_set(u->t_waiting)) {
        /* It may be an old one whose client reads again only now. */
        u->t_waiting = mono_max(sum->t_oldest, u->t_idle);
    }
    since = mono_max(u->t_waiting, sum->t_heard);
    u->silent_ns = sum->n > 0 && now.ns > since.ns ? mono_diff(now, since) : 0;
    if (hung_after_ns > 0 && u->silent_ns >= hung_after_ns) {
        if (u->is_hung && u->t_silent.ns == since.ns)
            return WATCHDOG_AS_BEFORE;
        u->is_hung = true;
        u->t_silent = since;
        *ret_silent_ns = u->silent_ns;
        return WATCHDOG_HUNG;
    }
    return u->is_hung ? end_silence(u, sum, now, ret_silent_ns) : WATCHDOG_AS_BEFORE;
}

int watchdog_init(struct watchdog *w, const char *const *names, size_t n, int64_t hung_after_ns,
                  struct metrics *metrics)
{
    int r;

    memset(w, 0, sizeof(*w));
    atomic_init(&w->hung_after_ns, hung_after_ns);
    r = metrics_shard_new(metrics, &w->_shard);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        struct metrics_request labels = {.upstream = names[i]};

        (void)span_copy(span_cstr(names[i]), w->_names[i], sizeof(w->_names[i]));
        w->_sets[i] = metrics_shard_resolve(w->_shard, &labels);
        metrics_set_upstream_silent(w->_sets[i], 0); /* without memory: counted, and none later */
    }
    w->_n = n;
    return 0;
}

void watchdog_done(struct watchdog *w)
{
    w->_shard = metrics_shard_release(w->_shard);
}

static void say(const char *name, enum watchdog_change change, const struct observe_waiting *sum,
                mono_t now, int64_t silent_ns)
{
    long long silent_s = silent_ns / NS_PER_S;
    const char *wait = sum->n == 1 ? " waits" : "s wait";

    switch (change) {
    case WATCHDOG_AS_BEFORE:
        break;
    case WATCHDOG_HUNG:
        if (mono_is_set(sum->t_heard))
            LOG_WARN("upstream \"%s\" is silent: %u request%s (streams: %u), the last output came "
                     "%lld s ago",
                     name, sum->n, wait, sum->n_streams,
                     (long long)(mono_diff(now, sum->t_heard) / NS_PER_S));
        else
            LOG_WARN("upstream \"%s\" is silent: %u request%s (streams: %u) since %lld s, and "
                     "nothing ever came",
                     name, sum->n, wait, sum->n_streams, silent_s);
        break;
    case WATCHDOG_ANSWERS:
        LOG_INFO("upstream \"%s\" answers again after %lld s of silence", name, silent_s);
        break;
    case WATCHDOG_LEFT:
        LOG_INFO("upstream \"%s\" was silent for %lld s and has not answered; nothing waits for it "
                 "any more",
                 name, silent_s);
        break;
    }
}

void watchdog_look(struct watchdog *w, const struct observe_waiting *sums, mono_t now)
{
    int64_t hung_after_ns = atomic_load_explicit(&w->hung_after_ns, memory_order_relaxed);

    for (size_t i = 0; i < w->_n; i++) {
        struct watchdog_upstream *u = &w->_upstreams[i];
        int64_t silent_ns = 0;
        enum watchdog_change change = watchdog_judge(u, &sums[i], now, hung_after_ns, &silent_ns);

        metrics_set_upstream_silent(w->_sets[i], u->silent_ns);
        say(w->_names[i], change, &sums[i], now, silent_ns);
    }
}
