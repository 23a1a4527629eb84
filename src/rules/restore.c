/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/restore.c - after a start: since when alerts were active before it.
 *
 * The last sample of ALERTS_FOR_STATE within the outage tolerance says when an alert began and, by
 * its own time, when the last process saw it. What had fired then fires with the next evaluation;
 * what had less than the grace period to go waits that long; else the time in between does not
 * count. A stale marker there means that the alert was not active.
 */
#include <errno.h>
#include <math.h>

#include "rules/rules_private.h"

/* Labels of the rule that all of its alerts have, and the name. */
static int make_matchers(const struct rule_run *rule, struct arena *a, struct matcher **ret,
                         size_t *ret_n)
{
    struct matcher *m = arena_array(a, rule->n_set, sizeof(*m));
    size_t n = 0;
    int r = m ? 0 : -ENOMEM;
    for (size_t i = 0; i < rule->n_set && r == 0; i++) {
        const struct override *o = &rule->set[i];
        bool is_name = span_eq(o->name, SPAN(LABEL_NAME));
        struct span value = is_name ? SPAN("ALERTS_FOR_STATE") : o->value;
        if (o->template || value.n == 0 || span_find(value, SPAN("{{")) < value.n)
            continue;
        r = matcher_init(a, MATCH_EQ, o->name, value, &m[n], NULL);
        n += r == 0;
    }
    *ret = m;
    *ret_n = n;
    return r;
}

static int64_t restored_ms(int64_t began_ms, int64_t down_ms, int64_t for_ms, int64_t grace_ms,
                           int64_t now_ms)
{
    int64_t remaining_ms = for_ms - (down_ms - began_ms);
    if (remaining_ms <= 0)
        return began_ms;
    if (remaining_ms < grace_ms)
        return now_ms + grace_ms - for_ms;
    return began_ms + now_ms - down_ms;
}

static int64_t whole_second(int64_t t_ms)
{
    return t_ms - t_ms % 1000;
}

static void restore_alert(struct tick *t, const struct rule_run *rule, struct alert_state *alert,
                          const struct samples *s)
{
    enum { FAR = 1000000 }; /* days: beyond it a start is no time */
    size_t n = 0;           /* floats */
    while (n < s->n && !(s->h && s->h[n]))
        n++;
    if (n == 0 || series_is_stale(s->v[n - 1]) || !(fabs(s->v[n - 1]) < FAR * 86400.0))
        return;
    int64_t began_ms = (int64_t)s->v[n - 1] * 1000;
    int64_t active_ms = restored_ms(began_ms, whole_second(s->t[n - 1]), rule->def->for_ms,
                                    t->r->config.grace_ms, t->now_ms);
    pthread_mutex_lock(&t->r->lock);
    alert->active_ms = active_ms;
    pthread_mutex_unlock(&t->r->lock);
}

static int restore_series(struct tick *t, struct rule_run *rule, const struct series_ref *ref,
                          int64_t from_ms)
{
    static const struct span name = SPAN_INIT(LABEL_NAME);
    struct labels l;
    struct samples s;
    int r = labels_without(&t->r->scratch, ref->labels, &name, 1, &l);
    struct alert_state *alert = r == 0 ? alert_states_find(&rule->alerts, l) : NULL;
    if (!alert)
        return r;
    samples_init(&s, NULL);
    r = t->store->ops->samples(t->store, ref->id, from_ms, t->now_ms, SERIES_LAST, &s);
    if (r == 0)
        restore_alert(t, rule, alert, &s);
    samples_done(&s);
    return r;
}

static int restore_rule(struct tick *t, struct rule_run *rule)
{
    struct arena *a = &t->r->scratch;
    struct series_select what = {.from_ms = t->now_ms - t->r->config.outage_tolerance_ms,
                                 .to_ms = t->now_ms};
    struct matcher *matchers;
    struct series_ref *refs = NULL;
    size_t n = 0;
    arena_reset(a);
    int r = make_matchers(rule, a, &matchers, &what.n_matchers);
    what.matchers = matchers;
    if (r == 0)
        r = t->store->ops->select(t->store, &what, a, &refs, &n);
    for (size_t i = 0; i < n && r == 0; i++)
        r = restore_series(t, rule, &refs[i], what.from_ms);
    for (size_t i = 0; i < what.n_matchers; i++)
        matcher_done(&matchers[i]);
    return r;
}

/* What cannot be read stays as it is: the alert waits its whole `for`. */
void restore_group(struct tick *t, struct group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        struct rule_run *rule = &g->rules[i];
        if (!rule->def->is_alert)
            continue;
        if (rule->def->for_ms >= t->r->config.grace_ms && rule->alerts.n > 0)
            (void)restore_rule(t, rule);
        rule->is_restored = true;
    }
    g->is_restoring = false;
}
