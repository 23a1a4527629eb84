/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms_status.c - rules, alerts and incidents in numbers, for the status.
 */
#include "base/stat.h"
#include "daemon/alarms_private.h"

struct figure {
    const char *key;
    uint64_t n;
};

/* state: NULL: none. */
static void figures_write(struct jsonw *w, const char *key, const char *state,
                          const struct figure *figures, size_t n)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
    if (state) {
        jsonw_put_cstr(w, "state", state);
    }
    for (size_t i = 0; i < n; i++) {
        jsonw_put_u64(w, figures[i].key, figures[i].n);
    }
    jsonw_end_object(w);
}

static void rules_status_write(void *ctx, struct rules *r)
{
    struct rules_stats now;
    rules_stats(r, &now);
    const struct figure figures[] = {
        {"groups", now.n_groups},
        {"rules", now.n_rules},
        {"alerts_pending", now.n_pending},
        {"alerts_firing", now.n_firing},
        {"evaluations_failed", now.n_failures},
        {"evaluations_missed", now.n_missed},
    };
    figures_write(ctx, "rules", stat_sum(STAT_RULES_STOPPED) != 0 ? "stopped" : "running", figures,
                  ARRAY_LEN(figures));
}

static void alerts_status_write(void *ctx, struct alerts *a)
{
    struct alerts_stats now;
    alerts_stats(a, &now);
    const struct figure figures[] = {
        {"active", now.n_active},
        {"silences", now.n_silences},
        {"deliveries_waiting", now.n_waiting},
        {"deliveries_failed", now.n_failed_attempts},
    };
    figures_write(ctx, "alerts", NULL, figures, ARRAY_LEN(figures));
}

static void incidents_status_write(void *ctx, struct incidents *i)
{
    struct incidents_stats now;
    incidents_stats(i, &now);
    const struct figure figures[] = {
        {"open", now.n_open},
        {"waiting_for_curves", now.n_waiting},
        {"unsaved", now.n_unsaved},
        {"lost", now.n_lost},
    };
    figures_write(ctx, "incidents", NULL, figures, ARRAY_LEN(figures));
}

void alarms_write(struct alarms *a, struct jsonw *w)
{
    if (!a)
        return;
    (void)alarms_use_rules(a, rules_status_write, w);
    (void)alarms_use_alerts(a, alerts_status_write, w);
    (void)alarms_use_incidents(a, incidents_status_write, w);
}

/* --- whether something is new --- */

/* Sums of counts that move apart: what goes from one to another one changes them. */
enum { WEIGHT = 1000003 };

static void rules_version(void *ctx, struct rules *r)
{
    uint64_t *n = ctx;
    struct rules_stats now;
    rules_stats(r, &now);
    *n = (*n * WEIGHT + now.n_pending) * WEIGHT + now.n_firing;
}

static void alerts_version(void *ctx, struct alerts *a)
{
    uint64_t *n = ctx;
    struct alerts_stats now;
    alerts_stats(a, &now);
    *n = ((*n * WEIGHT + now.n_active) * WEIGHT + now.n_silences) * WEIGHT + now.n_delivered;
}

static void incidents_version(void *ctx, struct incidents *i)
{
    uint64_t *n = ctx;
    struct incidents_stats now;
    incidents_stats(i, &now);
    *n = (*n * WEIGHT + now.n_open) * WEIGHT + now.n_waiting;
}

void alarms_versions(struct alarms *a, uint64_t *ret_alerts, uint64_t *ret_incidents)
{
    *ret_alerts = *ret_incidents =
        a ? atomic_load_explicit(&a->n_notices, memory_order_relaxed) : 0;
    (void)alarms_use_rules(a, rules_version, ret_alerts);
    (void)alarms_use_alerts(a, alerts_version, ret_alerts);
    (void)alarms_use_incidents(a, incidents_version, ret_incidents);
}
