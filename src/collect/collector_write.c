/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector_write.c - targets, sources and what is looked up, as JSON.
 */
#include <stdio.h>
#include <time.h>

#include "collect/collector_private.h"
#include "series/duration.h"

static void put_text(struct jsonw *w, const char *key, const char *text)
{
    jsonw_key(w, key);
    if (text)
        jsonw_cstr(w, text);
    else
        jsonw_null(w);
}

/* --- what a page is --- */

static void write_version(const struct engine_found *e, const char *key, engine_version v,
                          struct jsonw *w)
{
    char text[ENGINE_VERSION_TEXT_MAX];

    if (v == 0 || v == ENGINE_NEWEST) {
        put_text(w, key, NULL);
        return;
    }
    e->map->print_version(v, text);
    put_text(w, key, text);
}

static void write_engine(const struct engine_found *e, struct jsonw *w)
{
    jsonw_begin_object(w);
    put_text(w, "name", e->map->name);
    put_text(w, "title", e->map->title);
    put_text(w, "edition", e->edition);
    write_version(e, "since", e->since, w);
    write_version(e, "until", e->until, w);
    jsonw_put_bool(w, "is_mixed", e->is_mixed);
    jsonw_end_object(w);
}

static void write_signal(const struct signal_found *s, struct jsonw *w)
{
    jsonw_begin_object(w);
    put_text(w, "signal", signal_table[s->signal].name);
    put_text(w, "series", signal_table[s->signal].series);
    put_text(w, "engine", s->engine->map->name);
    jsonw_key(w, "from");
    jsonw_begin_array(w);
    for (size_t i = 0; i < ENGINE_PARTS_MAX && s->metric[i].n > 0; i++)
        jsonw_str(w, s->metric[i]);
    jsonw_end_array(w);
    put_text(w, "note", s->note);
    jsonw_end_object(w);
}

static void write_missing(const struct signal_missing *m, struct jsonw *w)
{
    static const char *const causes[] = {
        [MISSING_NEVER] = "never",
        [MISSING_VERSION] = "version",
        [MISSING_NO_DATA] = "no_data",
        [MISSING_ABSENT] = "absent",
    };
    jsonw_begin_object(w);
    put_text(w, "signal", signal_table[m->signal].name);
    put_text(w, "engine", m->engine->map->name);
    put_text(w, "cause", causes[m->cause]);
    put_text(w, "why", m->why);
    jsonw_end_object(w);
}

static void write_page(const struct engine_page *page, struct jsonw *w)
{
    jsonw_key(w, "engines");
    jsonw_begin_array(w);
    for (size_t i = 0; i < page->n_engines; i++)
        write_engine(&page->engines[i], w);
    jsonw_end_array(w);
    jsonw_key(w, "signals");
    jsonw_begin_array(w);
    for (size_t i = 0; i < page->n_signals; i++)
        write_signal(&page->signals[i], w);
    jsonw_end_array(w);
    jsonw_key(w, "missing");
    jsonw_begin_array(w);
    for (size_t i = 0; i < page->n_missing; i++)
        write_missing(&page->missing[i], w);
    jsonw_end_array(w);
    jsonw_put_u64(w, "n_unknown", page->n_unknown);
    put_text(w, "remark", page->remark);
}

static void write_mistakes(const struct target_state *s, struct jsonw *w)
{
    jsonw_put_u64(w, "n_mistakes", s->n_mistakes);
    jsonw_key(w, "mistakes");
    jsonw_begin_array(w);
    for (size_t i = 0; s->mistakes && i < s->mistakes->n; i++) {
        const struct err_item *item = &s->mistakes->items[i];
        jsonw_begin_object(w);
        jsonw_put_i64(w, "line", item->line);
        jsonw_put_i64(w, "column", item->column);
        put_text(w, "text", item->err.text);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

/* --- targets --- */

static const char *health(const struct target_state *s)
{
    return !s->is_known || s->is_absent ? "unknown" : s->is_up ? "up" : "down";
}

static void write_target(const struct slot *slot, struct jsonw *w)
{
    const struct target *t = slot->target;
    struct target_state s = target_state(t);

    jsonw_begin_object(w);
    jsonw_put_str(w, "job", target_job(t)->name);
    jsonw_put_str(w, "url", target_url(t));
    labels_write(target_labels(t), "labels", w);
    put_text(w, "health", s.is_absent ? "absent" : health(&s));
    put_text(w, "fault", s.fault);
    put_text(w, "words", s.words);
    jsonw_put_double(w, "interval_s", (double)target_interval_ms(t) / 1e3);
    jsonw_key(w, "last_ms");
    if (s.is_known)
        jsonw_i64(w, s.t_ms);
    else
        jsonw_null(w);
    jsonw_put_double(w, "took_s", (double)s.took_ns / 1e9);
    jsonw_put_u64(w, "n_samples", s.n_samples);
    jsonw_put_u64(w, "n_kept", s.n_kept);
    write_mistakes(&s, w);
    if (s.engine)
        write_page(s.engine, w);
    jsonw_end_object(w);
}

static void write_job(const struct pool *pool, struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_put_str(w, "job", pool->job->name);
    put_text(w, "file", pool->file->path);
    jsonw_put_u64(w, "n_targets", pool->n_targets);
    jsonw_put_u64(w, "n_dropped", pool->n_dropped_all);
    jsonw_put_u64(w, "n_bad", pool->n_bad);
    put_text(w, "words", pool->words[0] ? pool->words : NULL);
    jsonw_put_bool(w, "is_over_limit", pool->is_over_limit);
    jsonw_key(w, "discoveries");
    jsonw_begin_array(w);
    for (size_t i = 0; i < pool->n_feeds; i++) {
        const struct pool_feed *f = &pool->feeds[i];
        jsonw_begin_object(w);
        put_text(w, "kind", f->feed->files ? "file" : "dns");
        jsonw_put_bool(w, "has_looked", f->has_looked);
        jsonw_put_u64(w, "n_targets", f->finding ? f->finding->n : 0);
        put_text(w, "words", f->words[0] ? f->words : NULL);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void write_source(const struct source_slot *s, struct jsonw *w)
{
    static const char *const states[] = {
        [SOURCE_WORKING] = "working", [SOURCE_ABSENT] = "absent", [SOURCE_BROKEN] = "broken"};

    jsonw_begin_object(w);
    put_text(w, "name", s->plan.kind->name);
    put_text(w, "cluster", s->plan.cluster);
    put_text(w, "state", s->is_hanging ? "hanging" : s->has_said ? states[s->state] : "unknown");
    put_text(w, "words", s->words[0] ? s->words : NULL);
    jsonw_put_double(w, "interval_s", (double)s->plan.interval_ms / 1e3);
    jsonw_put_u64(w, "n_samples", s->n_samples);
    jsonw_end_object(w);
}

void collector_write_state(struct collector *c, struct jsonw *w)
{
    pthread_mutex_lock(&c->lock);
    jsonw_key(w, "targets");
    jsonw_begin_array(w);
    for (size_t i = 0; i < c->n_slots; i++)
        if (c->slots[i]->pool)
            write_target(c->slots[i], w);
    jsonw_end_array(w);
    jsonw_key(w, "jobs");
    jsonw_begin_array(w);
    for (size_t i = 0; i < c->n_pools; i++)
        write_job(&c->pools[i], w);
    jsonw_end_array(w);
    jsonw_key(w, "sources");
    jsonw_begin_array(w);
    for (size_t i = 0; i < c->n_sources; i++)
        write_source(&c->sources[i], w);
    jsonw_end_array(w);
    pthread_mutex_unlock(&c->lock);
}

/* --- as Prometheus has them --- */

static void put_time(struct jsonw *w, const char *key, int64_t t_ms)
{
    time_t s = (time_t)(t_ms / 1000);
    char text[64], whole[40] = "";
    struct tm tm;

    if (gmtime_r(&s, &tm))
        (void)strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text, sizeof(text), "%s.%03dZ", whole, (int)(t_ms % 1000));
    put_text(w, key, text);
}

static void put_duration(struct jsonw *w, const char *key, int64_t ms)
{
    struct buf b;

    buf_init(&b, 64);
    jsonw_key(w, key);
    if (duration_print(ms, &b) == 0)
        jsonw_str(w, buf_span(&b));
    else
        jsonw_null(w);
    buf_done(&b);
}

static void write_active(const struct slot *slot, struct jsonw *w)
{
    const struct target *t = slot->target;
    struct target_state s = target_state(t);

    jsonw_begin_object(w);
    labels_write(target_discovered(t), "discoveredLabels", w);
    labels_write(target_labels(t), "labels", w);
    jsonw_put_str(w, "scrapePool", target_job(t)->name);
    jsonw_put_str(w, "scrapeUrl", target_url(t));
    jsonw_put_str(w, "globalUrl", target_url(t));
    put_text(w, "lastError", s.words ? s.words : "");
    if (s.is_known)
        put_time(w, "lastScrape", s.t_ms);
    else
        put_text(w, "lastScrape", "0001-01-01T00:00:00Z");
    jsonw_put_double(w, "lastScrapeDuration", (double)s.took_ns / 1e9);
    put_text(w, "health", health(&s));
    put_duration(w, "scrapeInterval", target_interval_ms(t));
    put_duration(w, "scrapeTimeout", target_timeout_ms(t));
    jsonw_end_object(w);
}

void collector_write_active(struct collector *c, struct jsonw *w)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_slots; i++)
        if (c->slots[i]->pool)
            write_active(c->slots[i], w);
    pthread_mutex_unlock(&c->lock);
}

void collector_write_dropped(struct collector *c, struct jsonw *w)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_pools; i++)
        for (size_t k = 0; k < c->pools[i].n_dropped; k++) {
            jsonw_begin_object(w);
            labels_write(c->pools[i].dropped[k], "discoveredLabels", w);
            jsonw_end_object(w);
        }
    pthread_mutex_unlock(&c->lock);
}

static bool is_first_of_name(const struct collector *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (span_eq(c->pools[k].job->name, c->pools[i].job->name))
            return false;
    return true;
}

/* Files may have jobs of the same name. */
void collector_write_dropped_counts(struct collector *c, struct jsonw *w)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_pools; i++) {
        struct span name = c->pools[i].job->name;
        size_t n = 0;
        if (!is_first_of_name(c, i))
            continue;
        for (size_t k = i; k < c->n_pools; k++)
            if (span_eq(c->pools[k].job->name, name))
                n += c->pools[k].n_dropped_all;
        jsonw_key_str(w, name);
        jsonw_u64(w, n);
    }
    pthread_mutex_unlock(&c->lock);
}
