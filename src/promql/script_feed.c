/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_feed.c - series of a test, given to memory as time goes by.
 *
 * A feed is a script of which only the reading of series is used, with memory that is the caller's.
 */
#include <errno.h>

#include "base/mem.h"
#include "promql/script_private.h"

/* One series and how far it was given. */
struct fed {
    struct script_series *series;
    size_t n_given;
    const struct fhist *last;
    struct fed *next;
};

struct script_feed {
    struct script script;
    int64_t start_ms, step_ms;
    struct fed *first, **end;
};

int script_feed_new(int64_t start_ms, int64_t step_ms, struct script_feed **ret)
{
    struct script_feed *f = mem_zalloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    arena_init(&f->script.arena, NULL);
    f->start_ms = start_ms;
    f->step_ms = step_ms;
    f->end = &f->first;
    *ret = f;
    return 0;
}

struct script_feed *script_feed_free(struct script_feed *f)
{
    if (!f)
        return NULL;
    arena_done(&f->script.arena);
    mem_free(f);
    return NULL;
}

/* Messages of a script begin with its line, and here is none. */
static int without_line(int r, const struct err *why, struct err *reterr)
{
    struct span text = span_cstr(why->text);

    if (span_starts_with(text, SPAN("0: ")))
        text = span_from(text, 3);
    return r < 0 ? err_set(reterr, r, "%.*s", SPAN_ARG(text)) : r;
}

static struct fed *find(const struct script_feed *f, struct labels l)
{
    struct fed *fed = f->first;

    while (fed && !labels_eq(fed->series->labels, l))
        fed = fed->next;
    return fed;
}

static int add(struct script_feed *f, struct span line)
{
    struct script_series *series;
    struct fed *fed;
    int r = script_read_series(&f->script, line, &series);

    if (r < 0)
        return r;
    fed = find(f, series->labels);
    if (fed) {
        fed->series = series;
        return 0;
    }
    fed = arena_zalloc(&f->script.arena, 1, sizeof(*fed));
    if (!fed)
        return -ENOMEM;
    fed->series = series;
    *f->end = fed;
    f->end = &fed->next;
    return 0;
}

int script_feed_add(struct script_feed *f, struct span series, struct span values,
                    struct err *reterr)
{
    struct err why = {.text = ""};
    struct buf line;
    int r;

    buf_init(&line, series.n + values.n + 1);
    f->script.reterr = &why;
    r = buf_append(&line, series);
    if (r == 0)
        r = buf_append(&line, SPAN(" "));
    if (r == 0)
        r = buf_append(&line, values);
    if (r == 0) {
        /* Labels point into the line. */
        struct span kept = arena_dup(&f->script.arena, buf_span(&line));
        r = kept.p ? add(f, kept) : -ENOMEM;
    }
    buf_done(&line);
    return without_line(r, &why, reterr);
}

static int give(struct script_feed *f, struct fed *fed, int64_t until_ms)
{
    int r = 0;

    while (r == 0 && fed->n_given < fed->series->n) {
        const struct script_value *value = &fed->series->values[fed->n_given];
        int64_t t_ms = f->start_ms + (int64_t)fed->n_given * f->step_ms;

        if (t_ms > until_ms)
            break;
        fed->n_given++;
        if (!value->is_omitted)
            r = script_append(&f->script, fed->series->labels, t_ms, value->v, value->h,
                              &fed->last);
    }
    return r;
}

int script_feed_until(struct script_feed *f, int64_t until_ms, struct memory *to,
                      struct err *reterr)
{
    struct err why = {.text = ""};
    int r = 0;

    f->script.memory = to;
    f->script.reterr = &why;
    for (struct fed *fed = f->first; fed && r == 0; fed = fed->next)
        r = give(f, fed, until_ms);
    return without_line(r, &why, reterr);
}
