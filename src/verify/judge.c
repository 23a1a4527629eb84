/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/judge.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "verify/judge_private.h"

const char *verify_result_phase(enum verify_phase_name p)
{
    static const char *const names[] = {"at rest", "with little latency", "with much latency",
                                        "afterwards"};
    return names[p];
}

const char *verify_result_where(enum verify_where w)
{
    static const char *const names[] = {"gateway", "Prometheus"};
    return names[w];
}

const char *verify_judge_name(enum verify_verdict v)
{
    static const char *const names[] = {"OK", "FAIL", "SKIP"};
    return names[v];
}

void verify_judge_set(struct verify_finding *f, enum verify_verdict v, const char *hint,
                      const char *fmt, ...)
{
    va_list args;

    f->verdict = v;
    va_start(args, fmt);
    (void)vsnprintf(f->text, sizeof(f->text), fmt, args);
    va_end(args);
    (void)snprintf(f->hint, sizeof(f->hint), "%s", hint ? hint : "");
}

/* What is known of an alert without a run. */
static bool judge_plan(const struct verify_alert *a, struct verify_finding *f)
{
    if (a->drive == VERIFY_DRIVEN)
        return false;
    verify_judge_set(f, a->drive == VERIFY_BROKEN ? VERIFY_FAIL : VERIFY_SKIP, NULL, "%s", a->why);
    return true;
}

static struct verify_finding *next(struct verify_findings *l, const char *about)
{
    struct verify_finding *f = &l->at[l->n++];

    *f = (struct verify_finding){.about = about};
    return f;
}

static void judge_alerts(const struct verify_plan *p, const struct verify_result *r,
                         struct verify_findings *l)
{
    bool has_peer = r->has_prometheus && r->prometheus_error[0] == '\0';

    for (size_t i = 0; i < p->n; i++) {
        const struct verify_alert *a = &p->alerts[i];
        for (int w = 0; w < VERIFY_WHERES; w++) {
            struct verify_finding *f;

            if (w == VERIFY_PROMETHEUS && (!has_peer || a->drive != VERIFY_DRIVEN))
                continue;
            f = next(l, "alert");
            f->alert = a->rule->name;
            f->where = a->drive == VERIFY_DRIVEN ? verify_result_where((enum verify_where)w) : NULL;
            if (!judge_plan(a, f))
                verify_judge_alert(p, r, i, (enum verify_where)w, f);
        }
        if (!r->has_alertmanager || a->drive != VERIFY_DRIVEN)
            continue;
        struct verify_finding *f = next(l, "alertmanager");
        f->alert = a->rule->name;
        verify_judge_delivery(r, i, f);
        if (f->text[0] == '\0')
            l->n--; /* it never fired: that is told already */
    }
}

int verify_judge(const struct verify_plan *p, const struct verify_result *result, struct arena *a,
                 struct verify_findings *ret)
{
    enum { PER_ALERT = VERIFY_WHERES + 1, OTHERS = 4 };
    struct verify_findings l = {0};

    l.at = arena_zalloc(a, p->n * PER_ALERT + OTHERS, sizeof(*l.at));
    if (!l.at)
        return -ENOMEM;
    verify_judge_client(p, result, next(&l, "client"));
    verify_judge_engine(result, next(&l, "engine"));
    if (result->stay_error[0] != '\0')
        verify_judge_set(next(&l, "engine"), VERIFY_FAIL,
                         "take it away: curl -X DELETE ENGINE/sim/faults/added_latency",
                         "%.200s still has the latency that was injected: %s", result->engine_url,
                         result->stay_error);
    if (result->prometheus_error[0] != '\0')
        verify_judge_set(next(&l, "prometheus"), VERIFY_FAIL,
                         "the same rules have to do for it: promtool check rules FILE; or leave it "
                         "out with --no-peers",
                         "%s", result->prometheus_error);
    judge_alerts(p, result, &l);
    *ret = l;
    return 0;
}

bool verify_judge_is_passed(const struct verify_findings *f)
{
    bool has_alert = false;

    for (size_t i = 0; i < f->n; i++) {
        if (f->at[i].verdict == VERIFY_FAIL)
            return false;
        has_alert |= f->at[i].verdict == VERIFY_OK && f->at[i].alert.n > 0;
    }
    return has_alert;
}
