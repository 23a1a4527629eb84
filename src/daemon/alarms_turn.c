/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms_turn.c - turns of the evaluator's thread: slots evaluated, what comes of them put
 * into the store, to delivery and into incidents.
 */
#include <errno.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/stat.h"
#include "daemon/alarms_private.h"
#include "daemon/evidence.h"

enum {
    LOOK_MS = 1000,           /* whether there is something new */
    LOOK_FOR_STORE_MS = 100,  /* whether it is open */
    SAY_AGAIN_MS = 60 * 1000, /* what still does not work */
};

/* What the thread works with, so that it opens and loads without the lock. */
struct in_force {
    struct config *config;
    struct alarms_files files;
};

static int64_t now_ms(void)
{
    return clock_wall().us / 1000;
}

/* --- what rules ask --- */

static int on_reader_open(void *ctx, struct reader **ret)
{
    struct alarms *a = ctx;
    return store_reader_open(a->store, ret);
}

static void on_reader_close(void *ctx, struct reader *r)
{
    (void)ctx;
    tsdb_reader_close(r);
}

static int on_write(void *ctx, struct batch *b, uint64_t *ret_number)
{
    struct alarms *a = ctx;
    return store_write(a->store, b, ret_number);
}

static uint64_t on_written(void *ctx)
{
    struct alarms *a = ctx;
    return store_written(a->store);
}

static void on_notify(void *ctx, const struct alert_notice *notices, size_t n)
{
    struct alarms *a = ctx;
    atomic_fetch_add_explicit(&a->n_notices, n, memory_order_relaxed);
    /* First, so that it is there when delivery has found the requests behind an alert. */
    if (a->incidents && incidents_put(a->incidents, notices, n, now_ms()) < 0)
        LOG_WARN("%zu alerts could not be taken into an incident, trying again", n);
    /* On the only thread that sets alerts. What is not taken is told again, by the resend rule. */
    if (a->alerts && alerts_put(a->alerts, notices, n) < 0)
        LOG_ERROR("%zu alerts could not be taken for delivery: out of memory, trying again", n);
}

/* On the thread of delivery. What was found out stays with the incident. */
static int on_evidence(void *ctx, const struct alert_notice *n, struct arena *arena,
                       struct labels *ret)
{
    struct alarms *a = ctx;
    int r = evidence_find(a->dir, n, arena, ret);
    struct incidents *incidents = alarms_incidents(a);
    if (r == 0 && ret->n > 0 && incidents &&
        incidents_evidence(incidents, n->labels, *ret, now_ms()) < 0)
        LOG_WARN("requests behind an alert could not be taken into its incident");
    return r;
}

int alarms_rules_new(struct alarms *a, const struct rules_config *config)
{
    struct rules_ops ops = {.reader_open = on_reader_open,
                            .reader_close = on_reader_close,
                            .write = on_write,
                            .written = on_written,
                            .notify = on_notify,
                            .ctx = a};
    return rules_new(config, &ops, &a->rules);
}

/* --- delivery --- */

static struct alerts_config alerts_config_of(struct alarms *a, const struct in_force *now,
                                             struct span *urls)
{
    const struct config *c = now->config;
    for (size_t i = 0; i < c->alertmanagers.n; i++)
        urls[i] = span_cstr(c->alertmanagers.items[i]);
    return (struct alerts_config){.dir = a->dir,
                                  .file = now->files.routes,
                                  .external_url = span_cstr(a->url),
                                  .alertmanagers = urls,
                                  .n_alertmanagers = c->alertmanagers.n,
                                  .evidence = on_evidence,
                                  .ctx = a};
}

static bool is_store_ours(struct alarms *a)
{
    struct store_status now;
    store_status(a->store, &now);
    return now.is_open;
}

static void say(struct alarms_trouble *t, const struct err *err)
{
    if (t->is_said && mono_diff(clock_mono(), t->said) < SAY_AGAIN_MS * NS_PER_MS)
        return;
    LOG_ERROR("%s: %s%s%s; trying again", t->what, err->text, err->hint[0] ? "; " : "", err->hint);
    t->said = clock_mono();
    t->is_said = true;
}

static void open_incidents(struct alarms *a, const struct in_force *now)
{
    struct incidents_config config = {.dir = a->dir,
                                      .range_ms = 4 * now->config->history_interval_ns / NS_PER_MS};
    struct incidents *incidents;
    struct err err = {0};
    if (incidents_open(&config, &incidents, &err) < 0) {
        say(&a->no_incidents, &err);
        return;
    }
    pthread_mutex_lock(&a->lock);
    a->incidents = incidents;
    pthread_mutex_unlock(&a->lock);
}

static void open_alerts(struct alarms *a, const struct in_force *now)
{
    struct span urls[CONFIG_ALERTMANAGERS_MAX];
    struct alerts_config config = alerts_config_of(a, now, urls);
    struct alerts *alerts;
    struct err err = {0};
    if (alerts_new(&config, &alerts, &err) < 0) {
        say(&a->no_alerts, &err);
        return;
    }
    pthread_mutex_lock(&a->lock);
    a->alerts = alerts;
    pthread_mutex_unlock(&a->lock);
}

static int take_url(struct alarms *a, const struct config *c)
{
    char *url;
    int r = alarms_url(c->external_url, a->admin, &url);
    if (r < 0)
        return r;
    mem_free(a->url);
    a->url = url;
    return rules_set_url(a->rules, span_cstr(url));
}

static int configure_alerts(struct alarms *a, const struct in_force *now)
{
    struct span urls[CONFIG_ALERTMANAGERS_MAX];
    struct alerts_config config = alerts_config_of(a, now, urls);
    return alerts_configure(a->alerts, &config);
}

/* false: it has to be tried again. */
static bool load(struct alarms *a, const struct in_force *now)
{
    int r = take_url(a, now->config);
    if (r == 0)
        r = rules_load(a->rules, now->files.rules, now->files.n_rules, now->files.n_ours, now_ms());
    if (r == 0 && a->alerts)
        r = configure_alerts(a, now);
    if (r < 0) {
        struct err err = {0};
        (void)err_set(&err, r, "%s", err_str(r));
        say(&a->no_rules, &err);
    }
    return r == 0;
}

/* --- the thread --- */

static bool must_stop(void *ctx)
{
    struct alarms *a = ctx;
    return atomic_load_explicit(&a->must_stop, memory_order_relaxed);
}

static int is_over(void *ctx)
{
    return must_stop(ctx) ? -ECANCELED : 0;
}

/* Until the next slot, or something new. */
static void sleep_until(struct alarms *a, int64_t next_ms)
{
    int64_t ms = next_ms - now_ms();
    ms = ms < 1 ? 1 : ms > LOOK_MS ? LOOK_MS : ms;
    int64_t ns = clock_mono().ns + ms * NS_PER_MS;
    struct timespec until = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    pthread_mutex_lock(&a->lock);
    if (!a->is_new && !must_stop(a))
        pthread_cond_timedwait(&a->bell, &a->lock, &until);
    pthread_mutex_unlock(&a->lock);
}

static void tell_stats(const struct alarms *a, bool is_ours)
{
    struct rules_stats now;
    rules_stats(a->rules, &now);
    stat_set(STAT_RULE_EVALUATIONS, (int64_t)now.n_evaluations);
    stat_set(STAT_RULE_FAILURES, (int64_t)now.n_failures);
    stat_set(STAT_RULE_MISSED, (int64_t)now.n_missed);
    stat_set(STAT_RULE_TICK_US, now.last_tick_ns / NS_PER_US);
    stat_set(STAT_RULES_STOPPED, !is_ours || now.is_blind);
    stat_set(STAT_ALERT_PENDING, (int64_t)now.n_pending);
    stat_set(STAT_ALERT_FIRING, (int64_t)now.n_firing);
}

static void tend_incidents(struct alarms *a)
{
    struct reader *reader = NULL;
    if (!a->incidents)
        return;
    if (incidents_wants_reader(a->incidents, now_ms()) && store_reader_open(a->store, &reader) < 0)
        reader = NULL;
    int r = incidents_tick(a->incidents, reader, now_ms());
    if (r < 0 && r != a->incidents_error) /* not every second again */
        LOG_WARN("incidents cannot be brought up to date: %s, trying again", err_str(r));
    a->incidents_error = r;
    if (reader)
        tsdb_reader_close(reader);
}

static int take_in_force(struct alarms *a, struct in_force *ret)
{
    pthread_mutex_lock(&a->lock);
    int r = alarms_files_copy(&a->files, &ret->files);
    if (r == 0) {
        ret->config = config_ref(a->config);
        a->must_load = a->must_load || a->is_new;
        a->is_new = false;
    }
    pthread_mutex_unlock(&a->lock);
    return r;
}

/* What is not there yet, and what is new. Without memory for it again with the next look. */
static void prepare(struct alarms *a, bool is_ours)
{
    struct in_force now;
    if (take_in_force(a, &now) < 0)
        return;
    if (a->must_load)
        a->must_load = !load(a, &now);
    if (!a->incidents && is_ours)
        open_incidents(a, &now);
    if (!a->alerts && a->url && is_ours)
        open_alerts(a, &now);
    alarms_files_done(&now.files);
    config_unref(now.config);
}

void *alarms_run(void *alarms)
{
    struct alarms *a = alarms;
    process_name_thread("rules");
    while (!must_stop(a)) {
        bool is_ours = is_store_ours(a);
        prepare(a, is_ours);
        if (is_ours) {
            rules_tick(a->rules, now_ms(), must_stop, a);
            usual_tick(&a->usual, a->store, now_ms(), is_over, a);
            tend_incidents(a);
        }
        tell_stats(a, is_ours);
        sleep_until(a, is_ours ? rules_next_ms(a->rules) : now_ms() + LOOK_FOR_STORE_MS);
    }
    return NULL;
}
