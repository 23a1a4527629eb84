/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/metricpage.c - a page gone over line by line, and what becomes of it.
 */
#include "collect/metricpage.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/fnv.h"
#include "base/mem.h"
#include "collect/metricpage_private.h"

enum {
    MISTAKES_RATIO = 10,    /* one line in so many may be wrong */
    LOOK_AGAIN_ROUNDS = 10, /* for values where there were none */
    AHEAD_MAX_MS = 10 * 60 * 1000
};

int metricpage_new(const struct scrape_job *j, struct labels labels, struct metricpage **ret)
{
    struct metricpage *p = mem_zalloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    arena_init(&p->arena, NULL);
    arena_init(&p->scratch, NULL);
    present_init(&p->live);
    p->job = j;
    p->missing.started_s = (double)NAN;
    if (labels_copy(&p->arena, labels, &p->labels) < 0) {
        (void)metricpage_free(p);
        return -ENOMEM;
    }
    *ret = p;
    return 0;
}

struct metricpage *metricpage_free(struct metricpage *p)
{
    if (!p)
        return NULL;
    metricpage_missing_done(&p->missing);
    p->model = metricpage_model_free(p->model);
    metricpage_table_done(&p->table);
    present_done(&p->live);
    arena_done(&p->scratch);
    arena_done(&p->arena);
    mem_free(p->mistakes);
    mem_free(p);
    return NULL;
}

void metricpage_rejob(struct metricpage *p, const struct scrape_job *j)
{
    if (p->job == j)
        return;
    metricpage_missing_clear(&p->missing);
    p->model = metricpage_model_free(p->model);
    metricpage_table_clear(&p->table);
    p->job = j;
}

int metricpage_refuse(struct metricpage *p, int r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(p->words, sizeof(p->words), fmt, ap);
    va_end(ap);
    return r;
}

/* --- lines --- */

struct reading {
    struct metricpage *p;
    struct batch *out;
    int64_t t_ms;
    struct metricpage_counts counts;
    size_t n_lines;
    uint64_t types_hash;
    struct metricpage_entry *last; /* of the line before */
};

static int add_mistake(struct reading *rd, size_t line, int column, const char *why)
{
    struct metricpage *p = rd->p;

    if (!p->mistakes) {
        p->mistakes = mem_alloc(sizeof(*p->mistakes));
        if (!p->mistakes)
            return -ENOMEM;
        err_list_init(p->mistakes);
    }
    (void)err_set(
        err_list_add(p->mistakes, "page", line < INT32_MAX ? (int)line : INT32_MAX, column),
        -EINVAL, "%s", why);
    p->n_mistakes++;
    return 0;
}

static uint64_t mix(uint64_t h, struct span s)
{
    return fnv_add(h, s) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A series is on this page, perhaps once more. */
static void see(struct reading *rd, struct metricpage_entry *e)
{
    struct metricpage *p = rd->p;
    struct metricpage_name *name = e->name;
    if (e->round == p->last_round)
        e->kept = e->round;
    bool is_new = e->kept == 0 || e->kept != p->last_round;
    /* As Prometheus counts: what a page had that was refused is not new any more. */
    bool is_added = e->round == 0 || e->round < p->last_round;

    if (e->round == p->round)
        return;
    e->round = p->round;
    if (!name)
        return;
    if (name->round != p->round) {
        name->round = p->round;
        name->n = 0;
    }
    name->n++;
    name->has_new = name->has_new || is_new;
    rd->counts.n_added += is_added && e->series;
}

static int take_sample(struct reading *rd, const struct text_item *item, struct metricpage_entry *e)
{
    struct metricpage *p = rd->p;
    bool has_time = item->has_time && p->job->honors_timestamps;

    if (has_time && item->t_ms > rd->t_ms + AHEAD_MAX_MS)
        return add_mistake(rd, item->line, 1,
                           "its time is more than 10 minutes ahead of our clock");
    if (rd->last)
        rd->last->follower = e;
    rd->last = e;
    see(rd, e);
    if (e->mistake)
        return add_mistake(rd, item->line, 1, e->mistake);
    rd->counts.n_samples++;
    if (e->slot && p->model)
        *e->slot = item->v;
    if (!e->series)
        return 0;
    rd->counts.n_kept++;
    if (p->job->limits.samples > 0 && rd->counts.n_kept > p->job->limits.samples)
        return metricpage_refuse(p, -E2BIG, "more than %llu samples, the job's limit",
                                 (unsigned long long)p->job->limits.samples);
    int r = present_tell(&p->live, e->series, has_time ? item->t_ms : rd->t_ms, item->v, !has_time,
                         rd->out);
    return r == -E2BIG ? metricpage_refuse(p, r, "more samples than fit into memory") : r;
}

static int take_item(struct reading *rd, const struct text_item *item, struct metricpage_entry *e)
{
    int r = 0;

    rd->n_lines++;
    switch (item->kind) {
    case TEXT_SAMPLE:
        e = e ? e : metricpage_table_find(&rd->p->table, item->series);
        if (!e)
            r = metricpage_entry_new(rd->p, item, &e);
        rd->counts.n_samples += r < 0; /* it was there, whatever it does */
        return r < 0 ? r : take_sample(rd, item, e);
    case TEXT_TYPE:
        rd->types_hash = mix(rd->types_hash + (uint64_t)item->type, item->name);
        return 0;
    case TEXT_MISTAKE:
        return add_mistake(rd, item->line, item->column, item->mistake);
    case TEXT_HELP:
    case TEXT_UNIT:
    case TEXT_END:
        break;
    }
    return 0;
}

/* Mostly a page is the one before, line by line. */
static int read_lines(struct reading *rd, struct span body, enum text_format format)
{
    struct text t;
    struct text_item item;
    int r = 0;

    text_init(&t, body, format);
    for (;;) {
        struct metricpage_entry *e = rd->last ? rd->last->follower : NULL;
        if (!e || !text_next_same(&t, e->bytes, &item)) {
            text_next(&t, &item);
            e = NULL;
        }
        if (item.kind == TEXT_END)
            return 0;
        r = take_item(rd, &item, e);
        if (r < 0)
            return r;
    }
}

static int check_lines(const struct reading *rd, struct span body, enum text_format format)
{
    struct metricpage *p = rd->p;
    const char *why = engine_why_no_page(body);
    struct span end = body;

    while (end.n > 0 && strchr(" \t\r\n", end.p[end.n - 1]))
        end.n--;
    if (format == TEXT_OPENMETRICS && !span_ends_with(end, SPAN("# EOF")))
        return metricpage_refuse(p, -EBADMSG, "the page is cut: it does not end with \"# EOF\"");
    if (p->n_mistakes * MISTAKES_RATIO <= rd->n_lines)
        return 0;
    if (why && body.n > 0)
        return metricpage_refuse(p, -EBADMSG, "%s", why);
    const struct err_item *first = &p->mistakes->items[0];
    return metricpage_refuse(p, -EBADMSG, "%zu of %zu lines cannot be read; line %d, column %d: %s",
                             p->n_mistakes, rd->n_lines, first->line, first->column,
                             first->err.text);
}

/* --- the page --- */

/* Whether names came or went, or series of names that signals read. */
static bool has_changed(const struct metricpage *p)
{
    for (size_t i = 0; i < p->table.n_name_buckets; i++)
        for (const struct metricpage_name *n = p->table.names[i]; n; n = n->next) {
            size_t n_now = n->round == p->round ? n->n : 0;
            if ((n_now > 0) != (n->n_kept > 0) ||
                (n->is_used && (n->has_new || n_now != n->n_kept)))
                return true;
        }
    return false;
}

static bool is_another(const struct metricpage *p, const struct reading *rd)
{
    const struct metricpage_model *m = p->model;

    return !m || rd->types_hash != p->types_hash || has_changed(p) ||
           (m->has_no_data && p->round - m->made_in >= LOOK_AGAIN_ROUNDS);
}

static int tell_signals(struct reading *rd, struct span body, enum text_format format)
{
    struct metricpage *p = rd->p;
    bool is_lost = false;
    int r = is_another(p, rd) ? metricpage_model_make(p, body, format, rd->t_ms) : 0;

    if (r == 0)
        r = metricpage_model_read(p, &is_lost);
    if (r == 0 && is_lost && p->model->made_in != p->round) {
        r = metricpage_model_make(p, body, format, rd->t_ms);
        if (r == 0)
            r = metricpage_model_read(p, &is_lost);
    }
    if (r == 0)
        r = metricpage_model_tell(p, rd->t_ms, rd->out);
    return r == 0 ? metricpage_missing_tell(p, rd->t_ms, rd->out) : r;
}

static int read_page(struct reading *rd, struct span body, enum text_format format)
{
    struct metricpage *p = rd->p;
    int r = read_lines(rd, body, format);

    if (r == 0)
        r = check_lines(rd, body, format);
    if (r == 0)
        r = tell_signals(rd, body, format);
    return r == 0 ? present_end(&p->live, rd->t_ms, rd->out) : r;
}

int metricpage_read(struct metricpage *p, struct span body, enum text_format format, int64_t t_ms,
                    struct batch *out, struct metricpage_counts *ret, const char **ret_words)
{
    struct reading rd = {.p = p, .out = out, .t_ms = t_ms};

    p->round++;
    p->n_mistakes = 0;
    p->words[0] = '\0';
    if (p->mistakes)
        err_list_init(p->mistakes);
    present_begin(&p->live, out);
    int r = read_page(&rd, body, format);
    arena_done(&p->scratch);
    *ret = rd.counts;
    if (r < 0) {
        present_abort(&p->live, out);
        if (p->model && p->model->made_in == p->round) /* of a page that never was */
            p->model = metricpage_model_free(p->model);
        metricpage_table_refuse(&p->table, p->round);
        *ret_words = p->words[0] ? p->words : err_str(r);
        return r;
    }
    metricpage_table_keep(&p->table, p->round);
    p->last_round = p->round;
    p->types_hash = rd.types_hash;
    return 0;
}

int metricpage_gone(struct metricpage *p, int64_t t_ms, struct batch *out)
{
    present_begin(&p->live, out);
    int r = present_end(&p->live, t_ms, out);
    if (r < 0)
        present_abort(&p->live, out);
    return r;
}

const struct engine_page *metricpage_engine(const struct metricpage *p)
{
    return p->model ? &p->model->page : NULL;
}

const struct err_list *metricpage_mistakes(const struct metricpage *p)
{
    return p->n_mistakes > 0 ? p->mistakes : NULL;
}

size_t metricpage_n_mistakes(const struct metricpage *p)
{
    return p->n_mistakes;
}
