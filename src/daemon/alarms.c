/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alarms.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "daemon/evidence.h"
#include "daemon/usual.h"

enum { LOOK_MS = 1000 }; /* whether the store is open, whether there is something new */

struct alarms {
    pthread_t thread;
    bool has_thread;
    struct store *store;
    char *dir;
    _Atomic bool must_stop;

    pthread_mutex_t lock; /* of the following, and of alerts while it is used or changed */
    pthread_cond_t bell;
    struct config *config;
    struct alarms_files files; /* in force, or new */
    bool is_new;
    struct alerts *alerts;       /* NULL: the data directory is not ours yet */
    struct incidents *incidents; /* likewise */

    struct rules *rules; /* the thread's but for rules_write */
    struct usual usual;  /* the thread's */
};

static int64_t now_ms(void)
{
    return clock_wall().us / 1000;
}

/* Once there, they stay until the end. */
static struct incidents *incidents_of(struct alarms *a)
{
    pthread_mutex_lock(&a->lock);
    struct incidents *incidents = a->incidents;
    pthread_mutex_unlock(&a->lock);
    return incidents;
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
    /* On the only thread that sets alerts. What is not taken is told again, by the resend rule. */
    if (a->alerts && alerts_put(a->alerts, notices, n) < 0)
        LOG_ERROR("%zu alerts could not be taken for delivery: out of memory, trying again", n);
    if (a->incidents && incidents_put(a->incidents, notices, n, now_ms()) < 0)
        LOG_WARN("%zu alerts could not be taken into an incident, trying again", n);
}

/* On the thread of delivery. What was found out stays with the incident. */
static int on_evidence(void *ctx, const struct alert_notice *n, struct arena *arena,
                       struct labels *ret)
{
    struct alarms *a = ctx;
    int r = evidence_find(a->dir, n, arena, ret);
    struct incidents *incidents = incidents_of(a);
    if (r == 0 && ret->n > 0 && incidents &&
        incidents_evidence(incidents, n->labels, *ret, now_ms()) < 0)
        LOG_WARN("requests behind an alert could not be taken into its incident");
    return r;
}

/* --- delivery --- */

static struct alerts_config alerts_config_of(struct alarms *a, struct span *urls)
{
    const struct config *c = a->config;
    for (size_t i = 0; i < c->alertmanagers.n; i++)
        urls[i] = span_cstr(c->alertmanagers.items[i]);
    return (struct alerts_config){.dir = a->dir,
                                  .file = a->files.routes,
                                  .external_url = span_cstr(c->external_url),
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

/* Under the lock. */
static void open_incidents(struct alarms *a)
{
    struct incidents_config config = {.dir = a->dir,
                                      .range_ms = 4 * a->config->history_interval_ns / NS_PER_MS};
    struct err err = {0};
    if (incidents_open(&config, &a->incidents, &err) < 0)
        LOG_ERROR("incidents cannot be kept: %s%s%s; trying again", err.text,
                  err.hint[0] ? "; " : "", err.hint);
}

/* Under the lock. */
static void open_alerts(struct alarms *a)
{
    struct span urls[CONFIG_ALERTMANAGERS_MAX];
    struct alerts_config config = alerts_config_of(a, urls);
    struct err err = {0};
    if (alerts_new(&config, &a->alerts, &err) < 0)
        LOG_ERROR("alerts cannot be delivered: %s%s%s; trying again", err.text,
                  err.hint[0] ? "; " : "", err.hint);
}

/* Under the lock. */
static void take_new(struct alarms *a)
{
    struct span urls[CONFIG_ALERTMANAGERS_MAX];
    struct alerts_config config = alerts_config_of(a, urls);
    int r = rules_load(a->rules, a->files.rules, a->files.n_rules, now_ms());
    if (r == 0 && a->alerts)
        r = alerts_configure(a->alerts, &config);
    a->is_new = r < 0; /* no memory: again with the next look */
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

static void tend_incidents(struct alarms *a)
{
    struct reader *reader = NULL;
    if (!a->incidents)
        return;
    if (incidents_wants_reader(a->incidents, now_ms()) && store_reader_open(a->store, &reader) < 0)
        reader = NULL;
    int r = incidents_tick(a->incidents, reader, now_ms());
    (void)r; /* told by the incidents, and tried again */
    if (reader)
        tsdb_reader_close(reader);
}

static void *run(void *arg)
{
    struct alarms *a = arg;
    process_name_thread("rules");
    while (!must_stop(a)) {
        bool is_ours = is_store_ours(a);
        pthread_mutex_lock(&a->lock);
        if (!a->incidents && is_ours)
            open_incidents(a);
        if (!a->alerts && is_ours)
            open_alerts(a);
        if (a->is_new)
            take_new(a);
        pthread_mutex_unlock(&a->lock);
        if (is_ours) {
            rules_tick(a->rules, now_ms(), must_stop, a);
            usual_tick(&a->usual, a->store, now_ms(), is_over, a);
            tend_incidents(a);
        }
        sleep_until(a, rules_next_ms(a->rules));
    }
    return NULL;
}

/* --- birth and end --- */

static void ring(struct alarms *a)
{
    pthread_mutex_lock(&a->lock);
    pthread_cond_signal(&a->bell);
    pthread_mutex_unlock(&a->lock);
}

static int copy_files(const struct alarms_files *from, struct alarms_files *ret)
{
    struct rule_file **rules = mem_zalloc(from->n_rules + 1, sizeof(*rules));
    if (!rules)
        return -ENOMEM;
    for (size_t i = 0; i < from->n_rules; i++)
        rules[i] = rule_file_ref(from->rules[i]);
    *ret = (struct alarms_files){.rules = rules,
                                 .n_rules = from->n_rules,
                                 .routes = from->routes ? alert_file_ref(from->routes) : NULL};
    return 0;
}

static int init(struct alarms *a, const struct alarms_files *f)
{
    struct rules_config config = {.interval_ms = a->config->rules_interval_ns / NS_PER_MS,
                                  .external_url = span_cstr(a->config->external_url)};
    struct rules_ops ops = {.reader_open = on_reader_open,
                            .reader_close = on_reader_close,
                            .write = on_write,
                            .written = on_written,
                            .notify = on_notify,
                            .ctx = a};
    a->dir = mem_strdup(a->config->data_dir);
    int r = a->dir ? copy_files(f, &a->files) : -ENOMEM;
    if (r == 0)
        r = rules_new(&config, &ops, &a->rules);
    a->is_new = true;
    return r;
}

static int start_thread(struct alarms *a, struct err *reterr)
{
    int r = process_start_thread(&a->thread, NULL, run, a);
    a->has_thread = r == 0;
    return r < 0 ? err_set(reterr, r, "could not start the thread of rules: %s", err_str(r)) : 0;
}

int alarms_new(struct config *c, const struct alarms_files *f, struct store *store,
               struct alarms **ret, struct err *reterr)
{
    struct alarms *a = mem_zalloc(1, sizeof(*a));
    pthread_condattr_t attr;
    if (!a)
        return err_set(reterr, -ENOMEM, "out of memory");
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->bell, &attr);
    pthread_condattr_destroy(&attr);
    a->store = store;
    a->config = config_ref(c);
    int r = usual_init(&a->usual, c->time_zone, reterr);
    if (r == 0 && (r = init(a, f)) < 0)
        err_set(reterr, r, "could not set up rules and alerts: %s", err_str(r));
    if (r == 0)
        r = start_thread(a, reterr);
    if (r < 0) {
        alarms_free(a);
        return r;
    }
    *ret = a;
    return 0;
}

struct alarms *alarms_free(struct alarms *a)
{
    if (!a)
        return NULL;
    atomic_store_explicit(&a->must_stop, true, memory_order_relaxed);
    ring(a);
    if (a->has_thread)
        pthread_join(a->thread, NULL);
    rules_free(a->rules);
    usual_done(&a->usual);
    alerts_free(a->alerts);
    incidents_close(a->incidents);
    alarms_files_done(&a->files);
    config_unref(a->config);
    pthread_cond_destroy(&a->bell);
    pthread_mutex_destroy(&a->lock);
    mem_free(a->dir);
    mem_free(a);
    return NULL;
}

int alarms_configure(struct alarms *a, struct config *c, const struct alarms_files *f)
{
    struct alarms_files files;
    int r = copy_files(f, &files);
    if (r < 0)
        return r;
    pthread_mutex_lock(&a->lock);
    alarms_files_done(&a->files);
    a->files = files;
    config_unref(a->config);
    a->config = config_ref(c);
    a->is_new = true;
    pthread_cond_signal(&a->bell);
    pthread_mutex_unlock(&a->lock);
    return 0;
}

/* --- for those who ask --- */

int alarms_use_rules(struct alarms *a, void (*use)(void *ctx, struct rules *r), void *ctx)
{
    if (!a)
        return -ENODEV;
    use(ctx, a->rules);
    return 0;
}

/* Once there, alerts stay until the end. */
int alarms_use_alerts(struct alarms *a, void (*use)(void *ctx, struct alerts *al), void *ctx)
{
    if (!a)
        return -ENODEV;
    pthread_mutex_lock(&a->lock);
    struct alerts *alerts = a->alerts;
    pthread_mutex_unlock(&a->lock);
    if (!alerts)
        return -EBUSY;
    use(ctx, alerts);
    return 0;
}

int alarms_use_incidents(struct alarms *a, void (*use)(void *ctx, struct incidents *i), void *ctx)
{
    struct incidents *incidents = a ? incidents_of(a) : NULL;
    if (!incidents)
        return a ? -EBUSY : -ENODEV;
    use(ctx, incidents);
    return 0;
}

static void number_write(struct jsonw *w, const char *key, uint64_t n)
{
    jsonw_key(w, key);
    jsonw_u64(w, n);
}

static void rules_status_write(struct rules *r, struct jsonw *w)
{
    struct rules_stats now;
    rules_stats(r, &now);
    jsonw_key(w, "rules");
    jsonw_begin_object(w);
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

void alarms_write(struct alarms *a, struct jsonw *w)
{
    if (!a)
        return;
    rules_status_write(a->rules, w);
    (void)alarms_use_alerts(a, alerts_status_write, w);
}
