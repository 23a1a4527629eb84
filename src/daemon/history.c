/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/history.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#define JOB "inferometer"

static struct store_config config_of(const struct config *c)
{
    return (struct store_config){
        .dir = c->data_dir,
        .rows = {.keep_us = c->requests_keep_ns / NS_PER_US,
                 .max_disk_bytes = (int64_t)c->requests_max_disk,
                 .archive_dir = c->requests_archive[0] ? c->requests_archive : NULL},
        .spill_bytes = (size_t)c->requests_spill,
        .series = {.keep_ms = {c->history_keep_ns[0] / NS_PER_MS, c->history_keep_ns[1] / NS_PER_MS,
                               c->history_keep_ns[2] / NS_PER_MS},
                   .max_disk_bytes = (int64_t)c->history_max_disk,
                   .max_series = (uint32_t)c->history_max_series},
        .gather_ms = c->history_interval_ns / NS_PER_MS};
}

struct labels history_own_labels(const char *instance, struct label pairs[HISTORY_OWN_LABELS])
{
    pairs[0] = (struct label){SPAN("instance"), span_cstr(instance)};
    pairs[1] = (struct label){SPAN("job"), SPAN(JOB)};
    return (struct labels){pairs, HISTORY_OWN_LABELS};
}

int history_open(const struct config *c, const struct metrics *metrics, struct labels own,
                 struct store **ret, struct err *reterr)
{
    struct store_config config = config_of(c);

    *ret = NULL;
    if (c->data_dir[0] == '\0')
        return 0;
    config.metrics = metrics;
    config.own_labels = own;
    return store_new(&config, ret, reterr);
}

void history_configure(struct store *s, const struct config *c)
{
    struct store_config config = config_of(c);
    int r = s ? store_configure(s, &config) : 0;

    if (r < 0)
        LOG_ERROR("how long things are kept stays as it was: %s", err_str(r));
}

int history_reader(struct store *s, struct reader **ret)
{
    return s ? store_reader_open(s, ret) : -ENODEV;
}

int history_rows(const struct config *c, struct rows_reader **ret)
{
    return c->data_dir[0] ? rows_reader_open(c->data_dir, ret, NULL) : -ENODEV;
}

/* --- the status page --- */

static const char *state_of(const struct store_status *now)
{
    if (now->is_failing)
        return "failing";
    return now->is_open ? "writing" : "waiting";
}

/* How long what is kept: in seconds; 0 bytes: no limit. */
static void keep_write(const struct config *c, struct jsonw *w)
{
    const struct {
        const char *key;
        int64_t ns;
    } times[] = {
        {"interval_s", c->history_interval_ns},   {"keep_raw_s", c->history_keep_ns[0]},
        {"keep_5m_s", c->history_keep_ns[1]},     {"keep_1h_s", c->history_keep_ns[2]},
        {"keep_requests_s", c->requests_keep_ns},
    };

    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        jsonw_put_u64(w, times[i].key, (uint64_t)(times[i].ns / NS_PER_S));
    jsonw_put_u64(w, "series_max_disk_bytes", c->history_max_disk);
    jsonw_put_u64(w, "rows_max_disk_bytes", c->requests_max_disk);
}

void history_write(struct store *s, const struct config *c, struct jsonw *w)
{
    struct store_status now;

    jsonw_key(w, "history");
    if (!s) {
        jsonw_null(w);
        return;
    }
    store_status(s, &now);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "state", state_of(&now));
    if (now.why[0] != '\0') {
        jsonw_put_cstr(w, "error", now.why);
    }
    jsonw_put_u64(w, "series", now.series.n_series);
    jsonw_put_u64(w, "series_disk_bytes", (uint64_t)now.series.disk_bytes);
    jsonw_put_u64(w, "rows_written", now.rows.n_committed);
    jsonw_put_u64(w, "rows_disk_bytes", (uint64_t)now.rows.disk_bytes);
    jsonw_put_u64(w, "rows_waiting", now.n_waiting + now.n_spilled);
    jsonw_put_u64(w, "rows_lost", now.n_lost);
    keep_write(c, w);
    jsonw_end_object(w);
}

/* --- what Prometheus' API tells of targets --- */

void history_target_write(const struct config *c, const char *instance, struct jsonw *w)
{
    struct label pairs[HISTORY_OWN_LABELS];
    struct labels own = history_own_labels(instance, pairs);
    char url[300], every[32];
    int64_t every_ms = c->history_interval_ns / NS_PER_MS;

    (void)snprintf(url, sizeof(url), "http://%s/metrics", instance);
    (void)snprintf(every, sizeof(every), "%gs", (double)every_ms / 1000);
    jsonw_begin_object(w);
    labels_write(own, "discoveredLabels", w);
    labels_write(own, "labels", w);
    jsonw_put_cstr(w, "scrapePool", JOB);
    jsonw_put_cstr(w, "scrapeUrl", url);
    jsonw_put_cstr(w, "globalUrl", url);
    jsonw_put_cstr(w, "lastError", "");
    jsonw_put_cstr(w, "health", "up");
    jsonw_put_cstr(w, "scrapeInterval", every);
    jsonw_end_object(w);
}
