/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/mem.h"
#include "base/process.h"
#include "daemon/alarms_private.h"

/* --- birth and end --- */

static void ring(struct alarms *a)
{
    pthread_mutex_lock(&a->lock);
    pthread_cond_signal(&a->bell);
    pthread_mutex_unlock(&a->lock);
}

static int init(struct alarms *a, const struct alarms_files *f, const char *admin)
{
    struct rules_config config = {.interval_ms = a->config->rules_interval_ns / NS_PER_MS};
    a->dir = mem_strdup(a->config->data_dir);
    a->admin = mem_strdup(admin);
    int r = a->dir && a->admin ? alarms_files_copy(f, &a->files) : -ENOMEM;
    if (r == 0)
        r = alarms_rules_new(a, &config);
    a->is_new = true;
    return r;
}

static int start_thread(struct alarms *a, struct err *reterr)
{
    int r = process_start_thread(&a->thread, NULL, alarms_run, a);
    a->has_thread = r == 0;
    return r < 0 ? err_set(reterr, r, "could not start the thread of rules: %s", err_str(r)) : 0;
}

int alarms_new(struct config *c, const struct alarms_files *f, struct store *store,
               const char *admin, struct alarms **ret, struct err *reterr)
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
    a->no_alerts.what = "alerts cannot be delivered";
    a->no_incidents.what = "incidents cannot be kept";
    a->no_rules.what = "new rules and routes are not in force";
    a->store = store;
    a->config = config_ref(c);
    int r = usual_init(&a->usual, c->time_zone, reterr);
    if (r == 0 && (r = init(a, f, admin)) < 0)
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
    mem_free(a->admin);
    mem_free(a->url);
    mem_free(a);
    return NULL;
}

int alarms_configure(struct alarms *a, struct config *c, const struct alarms_files *f)
{
    struct alarms_files files;
    int r = alarms_files_copy(f, &files);
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

struct incidents *alarms_incidents(struct alarms *a)
{
    pthread_mutex_lock(&a->lock);
    struct incidents *incidents = a->incidents;
    pthread_mutex_unlock(&a->lock);
    return incidents;
}

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
    struct incidents *incidents = a ? alarms_incidents(a) : NULL;
    if (!incidents)
        return a ? -EBUSY : -ENODEV;
    use(ctx, incidents);
    return 0;
}

/* Held by references, since it takes long; incidents stay until the end. */
int alarms_use_review(struct alarms *a, void (*use)(void *ctx, const struct review_question *from),
                      void *ctx)
{
    struct alarms_files files;
    if (!a)
        return -ENODEV;
    pthread_mutex_lock(&a->lock);
    int r = alarms_files_copy(&a->files, &files);
    struct slo_set *slos = slo_set_ref(a->config->slo_set);
    struct review_question from = {.incidents = a->incidents,
                                   .slos = slos ? slos->items : NULL,
                                   .n_slos = slos ? slos->n : 0,
                                   .interval_ms = a->config->rules_interval_ns / NS_PER_MS};
    pthread_mutex_unlock(&a->lock);
    if (r == 0) {
        from.files = files.rules;
        from.n_files = files.n_rules;
        use(ctx, &from);
        alarms_files_done(&files);
    }
    (void)slo_set_unref(slos);
    return r;
}
