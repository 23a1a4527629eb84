/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms_status.c - rules, alerts and incidents in numbers, for the status.
 */
#include "base/stat.h"
#include "daemon/alarms.h"

static void number_write(struct jsonw *w, const char *key, uint64_t n)
{
    jsonw_key(w, key);
    jsonw_u64(w, n);
}

static void rules_status_write(void *ctx, struct rules *r)
{
    struct jsonw *w = ctx;
    struct rules_stats now;
    rules_stats(r, &now);
    jsonw_key(w, "rules");
    jsonw_begin_object(w);
    jsonw_key(w, "state");
    jsonw_cstr(w, stat_sum(STAT_RULES_STOPPED) != 0 ? "stopped" : "running");
    number_write(w, "groups", now.n_groups);
    number_write(w, "rules", now.n_rules);
    number_write(w, "alerts_pending", now.n_pending);
    number_write(w, "alerts_firing", now.n_firing);
    number_write(w, "evaluations_failed", now.n_failures);
    number_write(w, "evaluations_missed", now.n_missed);
    jsonw_end_object(w);
}

static void alerts_status_write(void *ctx, struct alerts *a)
{
    struct jsonw *w = ctx;
    struct alerts_stats now;
    alerts_stats(a, &now);
    jsonw_key(w, "alerts");
    jsonw_begin_object(w);
    number_write(w, "active", now.n_active);
    number_write(w, "silences", now.n_silences);
    number_write(w, "deliveries_waiting", now.n_waiting);
    number_write(w, "deliveries_failed", now.n_failed_attempts);
    jsonw_end_object(w);
}

static void incidents_status_write(void *ctx, struct incidents *i)
{
    struct jsonw *w = ctx;
    struct incidents_stats now;
    incidents_stats(i, &now);
    jsonw_key(w, "incidents");
    jsonw_begin_object(w);
    number_write(w, "open", now.n_open);
    number_write(w, "waiting_for_curves", now.n_waiting);
    number_write(w, "unsaved", now.n_unsaved);
    number_write(w, "lost", now.n_lost);
    jsonw_end_object(w);
}

void alarms_write(struct alarms *a, struct jsonw *w)
{
    if (!a)
        return;
    (void)alarms_use_rules(a, rules_status_write, w);
    (void)alarms_use_alerts(a, alerts_status_write, w);
    (void)alarms_use_incidents(a, incidents_status_write, w);
}
