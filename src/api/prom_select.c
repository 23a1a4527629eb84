/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_select.c - the series that match[], start and end mean.
 */
#include <errno.h>
#include <stdlib.h>

#include "api/prom.h"

static int by_labels(const void *a, const void *b)
{
    const struct series_ref *x = a, *y = b;
    return labels_cmp(x->labels, y->labels);
}

struct selection {
    struct prom_call *c;
    struct reader *reader;
    int64_t from_ms, to_ms;
    struct series_ref *at;
    size_t n, cap;
};

/* Adds what some matchers mean; false: prom_fail was called. */
static bool add(struct selection *s, const struct matcher *matchers, size_t n_matchers)
{
    struct series_select what = {matchers, n_matchers, s->from_ms, s->to_ms};
    struct series_ref *found = NULL;
    size_t n = 0;
    int r = prom_is_over(s->c);
    if (r == 0)
        r = s->reader->ops->select(s->reader, &what, s->c->arena, &found, &n);
    struct series_ref *at = NULL;
    if (r == 0) {
        at = arena_grow(s->c->arena, s->at, s->n, n, &s->cap, sizeof(*at));
        r = at ? 0 : -ENOMEM;
    }
    if (r != 0) {
        prom_fail_query(s->c, r, "the series cannot be selected");
        return false;
    }
    s->at = at;
    if (n > 0)
        memcpy(s->at + s->n, found, n * sizeof(*found));
    s->n += n;
    return true;
}

static bool add_match(struct selection *s, struct span text, const char *parameter)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    int r = promql_parse_selector(text, &e, &error);
    if (r < 0) {
        if (r == -ENOMEM)
            prom_fail_memory(s->c);
        else
            prom_fail_parse(s->c, parameter, &error);
        return false;
    }
    const struct node *n = promql_root(e);
    bool is_ok = add(s, n->selector.matchers, n->selector.n_matchers);
    (void)promql_free_expr(e);
    return is_ok;
}

static bool add_all(struct selection *s, const char *parameter)
{
    const struct params *p = &s->c->params;
    size_t n_matches = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!span_eq(p->at[i].name, SPAN("match[]")))
            continue;
        n_matches++;
        if (!add_match(s, p->at[i].value, parameter))
            return false;
    }
    return n_matches > 0 || add(s, NULL, 0);
}

/* Sorted, each once: a series may be meant by several matches. */
static void tidy(struct selection *s)
{
    size_t n = 0;
    if (s->n > 0)
        qsort(s->at, s->n, sizeof(*s->at), by_labels);
    for (size_t i = 0; i < s->n; i++) {
        if (n == 0 || !labels_eq(s->at[n - 1].labels, s->at[i].labels))
            s->at[n++] = s->at[i];
    }
    s->n = n;
}

bool prom_needs_match(struct prom_call *c)
{
    if (params_get(&c->params, SPAN("match[]")).p)
        return true;
    prom_fail(c, PROM_BAD_DATA, "no match[] parameter provided");
    return false;
}

bool prom_select_in(struct prom_call *c, struct reader *r, int64_t from_ms, int64_t to_ms,
                    const char *parameter, struct series_ref **ret, size_t *ret_n)
{
    struct selection s = {.c = c, .reader = r, .from_ms = from_ms, .to_ms = to_ms};
    if (!add_all(&s, parameter))
        return false;
    tidy(&s);
    *ret = s.at;
    *ret_n = s.n;
    return true;
}

bool prom_select(struct prom_call *c, bool is_match_needed, struct series_ref **ret, size_t *ret_n)
{
    int64_t from_ms = PARAMS_TIME_MIN, to_ms = PARAMS_TIME_MAX;
    struct reader *r = NULL;
    if ((is_match_needed && !prom_needs_match(c)) || !prom_time(c, "start", false, &from_ms) ||
        !prom_time(c, "end", false, &to_ms) || !prom_open(c, &r))
        return false;
    bool is_ok =
        prom_select_in(c, r, from_ms, to_ms, is_match_needed ? "match[]" : NULL, ret, ret_n);
    prom_close(c, r);
    return is_ok;
}
