/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/judge_alert.c - the life of one alert: inactive, pending, firing in time, inactive again.
 */
#include <math.h>
#include <stdio.h>

#include "verify/judge_private.h"

/* An evaluation may begin late on a busy machine. */
enum { LATE_MS = 500 };

static double seconds(int64_t from_ms, int64_t to_ms)
{
    return (double)(to_ms - from_ms) / 1000;
}

/* "it measured 3.1 at most, its limit is 10": as far as it is known. */
static void print_measured(const struct verify_alert *a, double v, char *dst, size_t cap)
{
    if (isnan(v))
        (void)snprintf(dst, cap, "what it measures has no value");
    else if (isnan(a->limit))
        (void)snprintf(dst, cap, "it measures %.4g", v);
    else
        (void)snprintf(dst, cap, "it measures %.4g, its limit is %g", v, a->limit);
}

/* At rest it has to be inactive. */
static bool is_active_at_rest(const struct verify_alert *a, const struct verify_seen *s,
                              struct verify_finding *f)
{
    char measured[120];

    if (s->at_rest != VERIFY_PENDING && s->at_rest != VERIFY_FIRING)
        return false;
    print_measured(a, s->values[VERIFY_REST], measured, sizeof(measured));
    verify_judge_set(f, VERIFY_FAIL, "the threshold is too low, or the comparison turned round",
                     "is %s at rest, before any latency: %s", verify_state_name(s->at_rest),
                     measured);
    return true;
}

static void say_silent(const struct verify_plan *p, const struct verify_alert *a,
                       const struct verify_result *r, const struct verify_seen *s,
                       struct verify_finding *f)
{
    const char *verb =
        s->track.pending_ms != VERIFY_NEVER ? "became pending and never fired" : "stayed inactive";
    bool is_below = a->limit_is_ttft && a->limit >= r->phases[VERIFY_HARD].latency_s;
    double wanted_s = ceil(1.1 * a->limit);
    char measured[120], hint[200] = "";

    print_measured(a, s->values[VERIFY_HARD], measured, sizeof(measured));
    if (s->missing[0] != '\0') {
        verify_judge_set(f, s->is_missing_by_nature ? VERIFY_SKIP : VERIFY_FAIL, NULL, "%s: %s",
                         verb, s->missing);
        return;
    }
    if (is_below && wanted_s <= VERIFY_LATENCY_MAX_S)
        (void)snprintf(hint, sizeof(hint),
                       "the threshold is too high for %g s; if it is meant: --latency %gs,%gs",
                       r->phases[VERIFY_HARD].latency_s, r->phases[VERIFY_MILD].latency_s,
                       wanted_s);
    else if (!is_below && p->factor > 1)
        (void)snprintf(hint, sizeof(hint),
                       "windows of different lengths may have become the same, %g times as fast; "
                       "--real-time runs it as it is written",
                       p->factor);
    bool is_out_of_reach = a->limit_is_e2e && a->limit >= r->phases[VERIFY_HARD].latency_s;
    verify_judge_set(f, is_out_of_reach ? VERIFY_SKIP : VERIFY_FAIL, hint, "%s with %g s%s: %s%s%s",
                     verb, r->phases[VERIFY_HARD].latency_s,
                     is_out_of_reach ? ", requests of this load do not get that long" : "",
                     measured, s->track.error[0] ? "; its evaluation failed: " : "",
                     s->track.error);
}

/* When latency began that it answered to. */
static const struct verify_phase *cause_of(const struct verify_result *r,
                                           const struct verify_track *t)
{
    int64_t at = t->pending_ms != VERIFY_NEVER ? t->pending_ms : t->firing_ms;
    const struct verify_phase *hard = &r->phases[VERIFY_HARD];

    return at < hard->begin_ms ? &r->phases[VERIFY_MILD] : hard;
}

static bool is_in_time(const struct verify_alert *a, const struct verify_track *t,
                       struct verify_finding *f)
{
    int64_t since = t->active_ms != VERIFY_NEVER ? t->active_ms : t->pending_ms;
    int64_t took = since != VERIFY_NEVER ? t->firing_ms - since : 0;

    if (a->for_ms > 0 && t->pending_ms == VERIFY_NEVER) {
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "fired without having been pending, though `for` is %g s",
                         (double)a->for_ms / 1000);
        return false;
    }
    if (took + LATE_MS < a->for_ms || took > a->for_ms + a->interval_ms + LATE_MS) {
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "fired %.1f s after it became active, which is not within `for` of %g s "
                         "and one interval of %g s",
                         (double)took / 1000, (double)a->for_ms / 1000,
                         (double)a->interval_ms / 1000);
        return false;
    }
    return true;
}

static void say_life(const struct verify_alert *a, const struct verify_result *r,
                     const struct verify_seen *s, struct verify_finding *f)
{
    const struct verify_track *t = &s->track;
    const struct verify_phase *ph = cause_of(r, t);
    int64_t since = t->active_ms != VERIFY_NEVER ? t->active_ms : t->firing_ms;
    char pending[400] = "";

    if (a->for_ms > 0)
        (void)snprintf(pending, sizeof(pending), "pending %.1f s after %g s of latency began, ",
                       seconds(ph->begin_ms, t->pending_ms), ph->latency_s);
    verify_judge_set(
        f, VERIFY_OK, NULL,
        "inactive, %sfiring %.1f s later (for %g s, every %g s), resolved %.1f s "
        "after latency ended",
        pending, a->for_ms > 0 ? seconds(since, t->firing_ms) : seconds(ph->begin_ms, t->firing_ms),
        (double)a->for_ms / 1000, (double)a->interval_ms / 1000,
        seconds(r->phases[VERIFY_HARD].end_ms, t->ended_ms));
}

void verify_judge_alert(const struct verify_plan *p, const struct verify_result *r, size_t i,
                        enum verify_where where, struct verify_finding *f)
{
    const struct verify_alert *a = &p->alerts[i];
    const struct verify_seen *s = &r->seen[where][i];
    char measured[120];

    if (is_active_at_rest(a, s, f))
        return;
    if (!r->phases[VERIFY_HARD].has_run) {
        verify_judge_set(f, VERIFY_FAIL, NULL, "%s; no latency was injected",
                         verify_state_name(s->at_rest));
        return;
    }
    if (s->track.firing_ms == VERIFY_NEVER) {
        say_silent(p, a, r, s, f);
        return;
    }
    if (!is_in_time(a, &s->track, f))
        return;
    if (!r->phases[VERIFY_AFTER].has_run) {
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "fired; its end was not seen, since latency could not be taken away");
        return;
    }
    if (s->track.ended_ms == VERIFY_NEVER) {
        print_measured(a, s->values[VERIFY_AFTER], measured, sizeof(measured));
        verify_judge_set(f, VERIFY_FAIL, NULL,
                         "fired, and did not resolve within %.1f s after latency ended: %s",
                         seconds(r->phases[VERIFY_AFTER].begin_ms, r->phases[VERIFY_AFTER].end_ms),
                         measured);
        return;
    }
    say_life(a, r, s, f);
}

/* --- Alertmanager --- */

static int print_delivery(const struct verify_seen *s, const char *who, char *dst, size_t cap)
{
    int n;

    if (s->told_ms == VERIFY_NEVER)
        return snprintf(dst, cap, "nothing from %s", who);
    n = snprintf(dst, cap, "from %s %.1f s after it fired", who,
                 seconds(s->track.firing_ms, s->told_ms));
    if (s->untold_ms == VERIFY_NEVER)
        n = snprintf(dst, cap, "from %s, and not its end", who);
    return n;
}

void verify_judge_delivery(const struct verify_result *r, size_t i, struct verify_finding *f)
{
    enum { PART = 450 };
    char parts[VERIFY_WHERES][PART] = {"", ""};
    bool is_fine = true, has_fired = false;

    for (int w = 0; w < VERIFY_WHERES; w++) {
        const struct verify_seen *s = &r->seen[w][i];
        if (s->track.firing_ms == VERIFY_NEVER || s->at_rest > VERIFY_INACTIVE)
            continue;
        has_fired = true;
        is_fine &= s->told_ms != VERIFY_NEVER && s->untold_ms != VERIFY_NEVER;
        (void)print_delivery(s, verify_result_where((enum verify_where)w), parts[w], PART);
    }
    if (!has_fired)
        return;
    verify_judge_set(f, is_fine ? VERIFY_OK : VERIFY_FAIL, NULL, "has the alert %s%s%s%s",
                     parts[VERIFY_GATEWAY],
                     parts[VERIFY_GATEWAY][0] && parts[VERIFY_PROMETHEUS][0] ? ", " : "",
                     parts[VERIFY_PROMETHEUS], is_fine ? ", and its end" : "");
}
