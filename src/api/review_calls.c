/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/review_calls.c - the SLO review: since, to, format, only.
 *
 * Runs on a thread of the queries with a reader of its own; it ends early where the client leaves
 * or its time is up.
 */
#include <errno.h>

#include "api/alerting.h"
#include "api/routes.h"

enum { DAY_MS = 24 * 3600 * 1000, DAYS = 90 };

struct question {
    struct prom_call *c;
    struct reader *reader;
    int64_t from_ms, to_ms;
    bool is_markdown, is_of_budgets;
};

static void answer(struct prom_call *c, const struct review *r, bool is_markdown)
{
    int error;
    if (is_markdown) {
        c->content_type = "text/markdown; charset=utf-8";
        error = review_print_markdown(r, c->body);
    } else {
        prom_begin(c);
        error = review_write(r, &c->w);
    }
    if (error == -EMSGSIZE)
        prom_fail(c, PROM_EXECUTION, "the review is too long, ask for a shorter time");
    else if (error < 0)
        prom_fail_memory(c);
    else if (!is_markdown)
        prom_end(c);
}

static void look_back(void *ctx, const struct review_question *from)
{
    struct question *q = ctx;
    struct review_question wanted = *from;
    struct review *r = NULL;
    struct err err = {.text = ""};
    wanted.from_ms = q->from_ms;
    wanted.to_ms = q->to_ms;
    wanted.reader = q->reader;
    wanted.is_of_budgets = q->is_of_budgets;
    wanted.is_over = prom_is_over;
    wanted.ctx = q->c;
    int error = review_make(&wanted, &r, &err);
    if (error == 0)
        answer(q->c, r, q->is_markdown);
    else
        prom_fail_query(q->c, error, err.text);
    r = review_free(r);
}

static bool read_format(struct question *q)
{
    struct span format = params_get(&q->c->params, SPAN("format"));
    q->is_markdown = span_eq(format, SPAN("markdown"));
    if (format.n == 0 || q->is_markdown || span_eq(format, SPAN("json")))
        return true;
    prom_fail(q->c, PROM_BAD_DATA, "invalid parameter \"format\": json or markdown");
    return false;
}

static bool read_only(struct question *q)
{
    struct span only = params_get(&q->c->params, SPAN("only"));
    q->is_of_budgets = span_eq(only, SPAN("budgets"));
    if (only.n == 0 || (q->is_of_budgets && !q->is_markdown))
        return true;
    prom_fail(q->c, PROM_BAD_DATA, "invalid parameter \"only\": budgets, and as JSON");
    return false;
}

static bool read_period(struct question *q)
{
    int64_t since_ms = (int64_t)DAYS * DAY_MS;
    q->to_ms = q->c->now_ms;
    if (!prom_duration(q->c, "since", false, &since_ms) || !prom_time(q->c, "to", false, &q->to_ms))
        return false;
    if (since_ms <= 0 || since_ms > (int64_t)REVIEW_DAYS_MAX * DAY_MS) {
        prom_fail(q->c, PROM_BAD_DATA,
                  "invalid parameter \"since\": more than nothing, and at most %dd",
                  REVIEW_DAYS_MAX);
        return false;
    }
    q->from_ms = q->to_ms - since_ms;
    return true;
}

void review_calls_get(struct prom_call *c)
{
    const struct api_sources *s = c->sources;
    struct question q = {.c = c};
    if (!read_format(&q) || !read_only(&q) || !read_period(&q) || !prom_open(c, &q.reader))
        return;
    int r = s->review_use ? s->review_use(s->arg, look_back, &q) : -ENODEV;
    if (r < 0)
        prom_fail(c, PROM_UNAVAILABLE, "%s", alerting_why_not(r));
    prom_close(c, q.reader);
}
