/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/breaker.c - see breaker.h. Half-open is no state of its own: it is open and rested.
 */
#include "gateway/breaker.h"

const char *breaker_state_name(enum breaker_state s)
{
    return s == BREAKER_CLOSED ? "closed" : s == BREAKER_OPEN ? "open" : "half_open";
}

void breaker_init(struct breaker *b, uint32_t max_failures)
{
    *b = (struct breaker){._max_failures = max_failures > 0 ? max_failures : BREAKER_FAILURES};
    for (int i = 0; i < BREAKER_WINDOW_S; i++)
        b->_window[i].second = -1;
    pthread_mutex_init(&b->_lock, NULL);
}

void breaker_done(struct breaker *b)
{
    pthread_mutex_destroy(&b->_lock);
}

/* --- the window --- */

static void window_forget(struct breaker *b)
{
    for (int i = 0; i < BREAKER_WINDOW_S; i++)
        b->_window[i] = (struct breaker_second){.second = -1};
}

static void window_count(struct breaker *b, mono_t now, bool is_ok)
{
    int64_t second = now.ns / NS_PER_S;
    struct breaker_second *s = &b->_window[second % BREAKER_WINDOW_S];

    if (s->second < second)
        *s = (struct breaker_second){.second = second};
    else if (s->second > second)
        return; /* another worker is 10 s ahead: this result is too old */
    if (is_ok)
        s->n_ok++;
    else
        s->n_failed++;
}

static void window_sum(const struct breaker *b, mono_t now, uint32_t *ret_ok, uint32_t *ret_failed)
{
    int64_t oldest = now.ns / NS_PER_S - BREAKER_WINDOW_S + 1;

    *ret_ok = 0;
    *ret_failed = 0;
    for (int i = 0; i < BREAKER_WINDOW_S; i++) {
        if (b->_window[i].second < oldest)
            continue;
        *ret_ok += b->_window[i].n_ok;
        *ret_failed += b->_window[i].n_failed;
    }
}

static bool window_is_bad(const struct breaker *b, mono_t now)
{
    uint32_t n_ok;
    uint32_t n_failed;

    window_sum(b, now, &n_ok, &n_failed);
    return n_ok + n_failed >= BREAKER_WINDOW_MIN && n_failed >= n_ok;
}

/* --- states --- */

static void breaker_open(struct breaker *b, mono_t now)
{
    int64_t rest_ns = b->_is_open ? 2 * b->_rest_ns : BREAKER_REST_MIN_S * NS_PER_S;

    b->_rest_ns = rest_ns < BREAKER_REST_MAX_S * NS_PER_S ? rest_ns : BREAKER_REST_MAX_S * NS_PER_S;
    b->_is_open = true;
    b->_is_probing = false;
    b->_rested_at = mono_add(now, b->_rest_ns);
    b->_n_opened++;
    b->_era++;
}

static void breaker_close(struct breaker *b)
{
    b->_is_open = false;
    b->_is_probing = false;
    b->_in_row = 0;
    b->_era++;
    window_forget(b);
}

static enum breaker_verdict verdict_of(const struct breaker *b, mono_t now)
{
    if (now.ns < b->_busy_until.ns)
        return BREAKER_NO;
    if (!b->_is_open)
        return BREAKER_YES;
    return now.ns >= b->_rested_at.ns && !b->_is_probing ? BREAKER_PROBE : BREAKER_NO;
}

struct breaker_pass breaker_may_use(struct breaker *b, mono_t now)
{
    struct breaker_pass pass;

    pthread_mutex_lock(&b->_lock);
    pass = (struct breaker_pass){.verdict = verdict_of(b, now), ._era = b->_era};
    if (pass.verdict == BREAKER_PROBE)
        b->_is_probing = true;
    pthread_mutex_unlock(&b->_lock);
    return pass;
}

static void closed_report(struct breaker *b, mono_t now, bool is_ok)
{
    window_count(b, now, is_ok);
    b->_in_row = is_ok ? 0 : b->_in_row + 1;
    if (!is_ok && (b->_in_row >= b->_max_failures || window_is_bad(b, now)))
        breaker_open(b, now);
}

static void open_report(struct breaker *b, mono_t now, enum breaker_verdict verdict, bool is_ok)
{
    if (is_ok)
        breaker_close(b);
    else if (verdict == BREAKER_PROBE)
        breaker_open(b, now);
}

void breaker_report(struct breaker *b, mono_t now, struct breaker_pass pass,
                    enum breaker_result result)
{
    pthread_mutex_lock(&b->_lock);
    if (pass._era != b->_era)
        ; /* it tells of a time before this state */
    else if (result == BREAKER_NO_VERDICT)
        b->_is_probing = b->_is_probing && pass.verdict != BREAKER_PROBE;
    else if (b->_is_open)
        open_report(b, now, pass.verdict, result == BREAKER_SUCCESS);
    else
        closed_report(b, now, result == BREAKER_SUCCESS);
    pthread_mutex_unlock(&b->_lock);
}

void breaker_busy(struct breaker *b, mono_t now, mono_t until)
{
    mono_t latest = mono_add(now, BREAKER_BUSY_MAX_S * NS_PER_S);

    pthread_mutex_lock(&b->_lock);
    b->_busy_until = mono_max(b->_busy_until, until.ns < latest.ns ? until : latest);
    pthread_mutex_unlock(&b->_lock);
}

static int64_t rest_of(mono_t until, mono_t now)
{
    return until.ns > now.ns ? mono_diff(until, now) : 0;
}

struct breaker_snapshot breaker_read(struct breaker *b, mono_t now)
{
    struct breaker_snapshot s;

    pthread_mutex_lock(&b->_lock);
    s = (struct breaker_snapshot){.is_probing = b->_is_probing,
                                  .n_failures_in_row = b->_in_row,
                                  .n_opened = b->_n_opened,
                                  .rests_ns = b->_is_open ? rest_of(b->_rested_at, now) : 0,
                                  .busy_ns = rest_of(b->_busy_until, now)};
    if (b->_is_open)
        s.state = s.rests_ns > 0 ? BREAKER_OPEN : BREAKER_HALF_OPEN;
    window_sum(b, now, &s.n_window_ok, &s.n_window_failed);
    pthread_mutex_unlock(&b->_lock);
    return s;
}
