/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/search_answer.c - request rows as they are kept: a page of those that were asked for, and one
 * by its id. The rows are those of the request log.
 */
#include <errno.h>

#include "api/prom.h"
#include "api/queries.h"
#include "api/routes.h"
#include "api/search.h"
#include "base/mem.h"

_Static_assert((uint64_t)(SEARCH_LIMIT_MAX + 2) * RECORD_LINE_MAX < QUERIES_ANSWER_MAX,
               "a page of the longest rows is an answer");

/* A reader that ends when the call is over; false: prom_fail was called. */
static bool open_rows(struct prom_call *c, struct rows_reader **ret)
{
    const struct api_sources *s = c->sources;
    int r = s->rows_open ? s->rows_open(s->arg, ret) : -ENODEV;
    if (r == -ENODEV)
        prom_fail(c, PROM_UNAVAILABLE,
                  "no requests are kept; data_dir in the configuration (or serve --data DIR) says "
                  "where to");
    else if (r < 0)
        prom_fail(c, PROM_INTERNAL, "kept requests cannot be read: %s", err_str(r));
    if (r < 0)
        return false;
    if (c->hold)
        c->hold(c->ctx, *ret);
    return true;
}

static void close_rows(struct prom_call *c, struct rows_reader *rows)
{
    if (c->hold)
        c->hold(c->ctx, NULL);
    rows_reader_close(rows);
}

static void fail(struct prom_call *c, int r)
{
    if (r == -ECANCELED && prom_is_over(c) == -ETIMEDOUT)
        prom_fail(c, PROM_TIMEOUT,
                  "the time for one query (query.timeout) is over; ask for less with from and to");
    else if (r == -ECANCELED)
        prom_fail(c, PROM_CANCELED, "nobody waits for it any more");
    else if (r == -ENOMEM)
        prom_fail_memory(c);
    else
        prom_fail(c, PROM_INTERNAL, "kept requests cannot be read: %s", err_str(r));
}

static void end(struct prom_call *c)
{
    int r = jsonw_error(&c->w);
    if (r == 0)
        r = buf_append(c->body, SPAN("\n"));
    if (r < 0)
        prom_fail_memory(c);
}

/* --- a page --- */

struct page {
    struct prom_call *call;
    struct search search;
    size_t n_max, n;
    bool is_more;
    char next[SEARCH_KEY_BYTES];
    struct buf line;
};

/* One row more than was asked for tells that there are more. */
static int visit_row(void *ctx, uint64_t key, const struct record *record)
{
    struct page *p = ctx;
    if (p->n == p->n_max) {
        p->is_more = true;
        return 1;
    }
    buf_clear(&p->line);
    int r = record_to_json(record, &p->line);
    if (r < 0)
        return r;
    jsonw_raw(&p->call->w, buf_span(&p->line));
    if (++p->n == p->n_max)
        search_key(&p->search, key, record, p->next);
    return jsonw_error(&p->call->w);
}

static void write_page(struct page *p, struct rows_reader *rows)
{
    struct prom_call *c = p->call;
    p->n_max = p->search.question.limit++;
    jsonw_begin_object(&c->w);
    jsonw_key(&c->w, "requests");
    jsonw_begin_array(&c->w);
    int r = prom_is_over(c);
    if (r == 0)
        r = rows_ask(rows, &p->search.question, visit_row, p);
    if (r < 0) {
        fail(c, r == -ETIMEDOUT ? -ECANCELED : r);
        return;
    }
    jsonw_end_array(&c->w);
    jsonw_key(&c->w, "next");
    if (p->is_more)
        jsonw_cstr(&c->w, p->next);
    else
        jsonw_null(&c->w);
    jsonw_end_object(&c->w);
    end(c);
}

void search_list(struct prom_call *c)
{
    struct page p = {.call = c};
    struct rows_reader *rows;
    struct err err = {0};
    int r = search_parse(&c->params, clock_wall(), c->arena, &p.search, &err);
    if (r == -ENOMEM)
        prom_fail_memory(c);
    else if (r < 0)
        prom_fail(c, PROM_BAD_DATA, "%s%s%s", err.text, err.hint[0] ? "; " : "", err.hint);
    if (r < 0 || !open_rows(c, &rows))
        return;
    buf_init(&p.line, (size_t)2 * RECORD_LINE_MAX);
    write_page(&p, rows);
    buf_done(&p.line);
    close_rows(c, rows);
}

/* --- one --- */

static int visit_one(void *ctx, uint64_t key, const struct record *record)
{
    struct prom_call *c = ctx;
    (void)key;
    int r = record_to_json(record, c->body);
    return r < 0 ? r : 1;
}

/* By our id, or else the last one that its client named so. */
static int find(struct prom_call *c, struct rows_reader *rows, struct span id)
{
    const struct param name = {SPAN("client_request_id"), id};
    struct search s;
    int r = prom_is_over(c);
    if (r == 0)
        r = rows_find(rows, id, visit_one, c);
    if (r != -ENOENT)
        return r == -ETIMEDOUT ? -ECANCELED : r;
    r = search_parse(&(struct params){&name, 1}, clock_wall(), c->arena, &s, NULL);
    s.question.limit = 1;
    if (r == 0)
        r = rows_ask(rows, &s.question, visit_one, c);
    return r == 0 ? -ENOENT : r;
}

void search_one(struct prom_call *c)
{
    struct span id = c->path;
    struct rows_reader *rows;
    while (span_find_char(id, '/') < id.n)
        id = span_from(id, span_find_char(id, '/') + 1);
    if (params_decode(c->arena, id, false, &id) < 0 || id.n == 0) {
        prom_fail(c, PROM_BAD_DATA, "\"%.*s\" is no request id", SPAN_ARG(id));
        return;
    }
    if (!open_rows(c, &rows))
        return;
    int r = find(c, rows, id);
    if (r == -ENOENT)
        prom_fail(c, PROM_NOT_FOUND,
                  "no request \"%.*s\" is kept; one that has just ended is there a second later",
                  SPAN_ARG(id));
    else if (r < 0)
        fail(c, r);
    else
        end(c);
    close_rows(c, rows);
}
