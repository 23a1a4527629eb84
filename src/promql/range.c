/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/range.c - see range.h.
 *
 * For each series its samples are read (or taken from a subquery's column) once, stale markers and
 * histograms are sorted out once, and then both ends of the window move over them from step to
 * step. Moments ascend, so the ends only go forward; where summaries widen windows a beginning may
 * step back, which costs a little and happens once.
 */
#include "promql/range.h"

#include <errno.h>

#include "promql/select.h"

static const struct range_function absent_function = {.name = "absent_over_time",
                                                      .kernel = kernel_present};

/* Where the windows of a call come from: a selector's series or a subquery's columns. */
struct source {
    struct range_call *call;
    const struct node *node; /* the argument */
    struct moment moment;
    struct reach reach;
    int64_t range_ms;
    struct selection selection; /* selector */
    struct value inner;         /* subquery */
    struct grid inner_grid;
};

static int find_histogram_resets(struct range_series *s, struct arena *work)
{
    s->h_resets = arena_zalloc(work, s->nh, 1);
    if (!s->h_resets)
        return -ENOMEM;
    for (size_t i = 1; i < s->nh; i++)
        s->h_resets[i] = fhist_is_reset(s->hh[i], s->hh[i - 1]);
    return 0;
}

static int find_resets(struct range_series *s, struct arena *work)
{
    size_t n = 0;
    for (size_t i = 1; i < s->nf; i++)
        n += s->fv[i] < s->fv[i - 1];
    s->n_resets = 0;
    s->resets = n > 0 ? arena_array(work, n, sizeof(*s->resets)) : NULL;
    if (n > 0 && !s->resets)
        return -ENOMEM;
    for (size_t i = 1; i < s->nf && n > 0; i++)
        if (s->fv[i] < s->fv[i - 1])
            s->resets[s->n_resets++] = i;
    return s->nh > 0 ? find_histogram_resets(s, work) : 0;
}

/* Sorts floats and histograms of x apart, in place, without stale markers. */
static int split_samples(struct samples *x, struct arena *work, struct range_series *s)
{
    s->ft = x->t;
    s->fv = x->v;
    if (x->h) {
        s->ht = arena_array(work, x->n, sizeof(*s->ht));
        s->hh = arena_array(work, x->n, sizeof(const struct fhist *));
        if (!s->ht || !s->hh)
            return -ENOMEM;
    }
    for (size_t i = 0; i < x->n; i++) {
        if (series_is_stale(x->v[i]))
            continue;
        if (x->h && x->h[i]) {
            s->ht[s->nh] = x->t[i];
            s->hh[s->nh++] = x->h[i];
            continue;
        }
        s->ft[s->nf] = x->t[i];
        s->fv[s->nf++] = x->v[i];
    }
    return 0;
}

/* What a subquery's steps tell of resets was told of other samples. */
static int without_hint(struct arena *a, const struct fhist *h, const struct fhist **ret)
{
    *ret = h;
    if (h->hint != FHIST_RESET && h->hint != FHIST_NOT_RESET)
        return 0;
    struct fhist *copy = arena_alloc(a, sizeof(*copy));
    if (!copy)
        return -ENOMEM;
    *copy = *h;
    copy->hint = FHIST_UNKNOWN;
    *ret = copy;
    return 0;
}

static int split_column(const struct column *c, const struct grid *g, struct arena *work,
                        struct range_series *s)
{
    s->ft = arena_array(work, g->n, sizeof(*s->ft));
    s->fv = arena_array(work, g->n, sizeof(*s->fv));
    s->ht = c->h ? arena_array(work, g->n, sizeof(*s->ht)) : NULL;
    s->hh = c->h ? arena_array(work, g->n, sizeof(const struct fhist *)) : NULL;
    if (!s->ft || !s->fv || (c->h && (!s->ht || !s->hh)))
        return -ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        if (!c->has[i])
            continue;
        if (c->h && c->h[i]) {
            s->ht[s->nh] = grid_at(g, i);
            int r = without_hint(work, c->h[i], &s->hh[s->nh++]);
            if (r < 0)
                return r;
            continue;
        }
        s->ft[s->nf] = grid_at(g, i);
        s->fv[s->nf++] = c->v[i];
    }
    return 0;
}

/* Both ends of a window over ascending times. */
struct ends {
    size_t from, to;
};

static void ends_move(struct ends *x, const int64_t *t, size_t n, int64_t first_ms, int64_t last_ms)
{
    while (x->to < n && t[x->to] <= last_ms)
        x->to++;
    while (x->from < x->to && t[x->from] < first_ms)
        x->from++;
    while (x->from > 0 && t[x->from - 1] >= first_ms)
        x->from--;
}

/* Windows may be long: counts the samples they pass to the kernel. */
static int work_on(struct range_call *c, size_t n)
{
    enum { SAMPLES_BETWEEN_ASKING = 4096 };
    c->n_seen += n;
    if (c->n_seen < SAMPLES_BETWEEN_ASKING)
        return 0;
    size_t n_seen = c->n_seen;
    c->n_seen = 0;
    return eval_work(c->e, n_seen);
}

static int fill(struct source *src, const struct range_series *s, struct column *col)
{
    struct range_call *c = src->call;
    const struct grid *g = c->grid;
    struct ends f = {0, 0}, h = {0, 0};
    c->series = s;
    c->said = 0;
    c->next_reset = 0;
    for (size_t i = 0; i < g->n; i++) {
        int64_t end = moment_at(&src->moment, g, i);
        int64_t start = end - reach_back(&src->reach, i);
        int64_t first = start + (src->reach.is_closed ? 0 : 1);
        struct cell cell = {0, NULL};
        ends_move(&f, s->ft, s->nf, first, end);
        if (s->nh > 0)
            ends_move(&h, s->ht, s->nh, first, end);
        if (f.from == f.to && h.from == h.to)
            continue;
        struct window w = {.ft = s->ft + f.from,
                           .fv = s->fv + f.from,
                           .nf = f.to - f.from,
                           .nh = h.to - h.from,
                           .from = f.from,
                           .step = i,
                           .start_ms = start,
                           .end_ms = end,
                           .asked_ms = src->range_ms,
                           .apart_ms = reach_apart(&src->reach, i),
                           .at_ms = grid_at(g, i)};
        if (s->nh > 0) {
            w.ht = s->ht + h.from;
            w.hh = s->hh + h.from;
            w.h_from = h.from;
            arena_reset(&c->scratch);
        }
        int r = work_on(c, w.nf + w.nh);
        if (r == 0)
            r = c->function->kernel(c, &w, &cell);
        if (r > 0)
            r = column_set(c->out, g->n, col, i, cell.v, cell.h);
        if (r < 0)
            return r;
    }
    return eval_work(c->e, g->n);
}

static bool is_named_as_counter(struct span name)
{
    return span_ends_with(name, SPAN("_total")) || span_ends_with(name, SPAN("_sum")) ||
           span_ends_with(name, SPAN("_count")) || span_ends_with(name, SPAN("_bucket"));
}

static int say_no_counter(struct range_call *c, const struct range_series *s,
                          const struct column *col)
{
    struct span name = labels_name(s->labels);
    if (name.n == 0 || is_named_as_counter(name))
        return 0;
    for (size_t i = 0; i < c->grid->n; i++)
        if (col->has[i] && !column_h(col, i))
            return notes_info(&c->e->notes, c->at,
                              "metric might not be a counter, name does not end in "
                              "_total/_sum/_count/_bucket: \"%.*s\"",
                              SPAN_ARG(name));
    return 0;
}

/* One series of the source through the kernel; col is zeroed. */
static int one_series(struct source *src, size_t i, struct column *col)
{
    struct range_call *c = src->call;
    struct range_series s = {.n_resets = 0};
    int r;
    if (src->node->kind == NODE_SUBQUERY) {
        s.labels = src->inner.columns[i].labels;
        col->drops_name = src->inner.columns[i].drops_name;
        r = split_column(&src->inner.columns[i], &src->inner_grid, &c->work, &s);
    } else {
        s.labels = src->selection.series[i].labels;
        r = selection_read(&src->selection, i);
        if (r == 0)
            r = split_samples(&src->selection.samples, &c->work, &s);
    }
    if (r == 0 && c->function->needs_resets)
        r = find_resets(&s, &c->work);
    if (r < 0)
        return r;
    col->labels = s.labels;
    col->drops_name |= !c->function->keeps_name;
    r = fill(src, &s, col);
    return r == 0 && c->function->is_for_counters ? say_no_counter(c, &s, col) : r;
}

static int open_subquery(struct source *src, struct arena *a)
{
    struct eval *e = src->call->e;
    const struct node *n = src->node;
    int r = moment_init(e, &n->subquery.when, &src->moment);
    if (r == 0)
        r = time_duration_ms(e, n->subquery.range, false, &src->range_ms);
    src->reach = (struct reach){.back_ms = src->range_ms,
                                .widest_ms = src->range_ms,
                                .is_closed = e->options->is_range_closed};
    if (r == 0)
        r = time_subquery_grid(e, n, src->call->grid, &src->moment, src->range_ms,
                               &src->inner_grid);
    e->n_looking++;
    if (r == 0)
        r = eval_node(e, n->subquery.inner, &src->inner_grid, a, &src->inner);
    e->n_looking--;
    return r;
}

static int open_selector(struct source *src, struct arena *a)
{
    struct range_call *c = src->call;
    int r = selection_init(&src->selection, c->e, src->node, c->grid, c->function->aspect, a);
    src->moment = src->selection.moment;
    src->reach = src->selection.reach;
    src->range_ms = src->selection.range_ms;
    c->is_summed = src->selection.aspect == SERIES_COUNT;
    return r;
}

/* Sorts the arguments of the call: scalars are evaluated, the matrix becomes the source. */
static int open_source(struct source *src, const struct node *n, struct arena *a)
{
    struct range_call *c = src->call;
    size_t k = 0;
    c->at = eval_unwrap(n->call.args[0])->from;
    for (size_t i = 0; i < n->call.n_args; i++) {
        const struct node *arg = eval_unwrap(n->call.args[i]);
        if (arg->type == PROMQL_MATRIX) {
            src->node = arg;
            continue;
        }
        double *v = NULL;
        int r = k < ARRAY_LEN(c->args) ? eval_scalar(c->e, arg, c->grid, a, &v) : -EINVAL;
        if (r < 0)
            return r;
        c->args[k++] = v;
    }
    if (!src->node)
        return eval_fail(c->e, -EINVAL, n, "function %s needs a range", n->call.function->name);
    return src->node->kind == NODE_SUBQUERY ? open_subquery(src, a) : open_selector(src, a);
}

/* All series of a call; to->put gets each. cells: of the columns, emptied for each series when
 * is_passing. */
static int run(struct range_call *c, const struct node *n, struct arena *keep, struct arena *cells,
               bool is_passing, const struct sink *to)
{
    struct source src = {.call = c};
    struct column col = {.v = NULL};
    arena_init(&c->work, c->e->budget);
    arena_init(&c->scratch, c->e->budget);
    c->out = cells;
    samples_init(&src.selection.samples, c->e->budget);
    int r = open_source(&src, n, keep);
    size_t n_series = r < 0                             ? 0
                      : src.node->kind == NODE_SUBQUERY ? src.inner.n_columns
                                                        : src.selection.n;
    for (size_t i = 0; i < n_series && r == 0; i++) {
        arena_reset(&c->work);
        c->n_room = 0;
        if (is_passing) {
            arena_reset(cells);
            col.v = NULL;
        }
        if (!col.v)
            r = column_new(cells, c->grid->n, &col);
        if (r == 0)
            r = one_series(&src, i, &col);
        if (r < 0)
            break;
        if (!column_is_empty(&col, c->grid->n)) {
            r = to->put(to->ctx, &col);
            col.v = NULL;
        }
        if (col.v)
            col.drops_name = false; /* nothing in it: room for the next one */
    }
    selection_done(&src.selection);
    arena_done(&c->scratch);
    arena_done(&c->work);
    return r;
}

static int push(void *ctx, const struct column *c)
{
    return columns_push(ctx, c);
}

int range_call_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                    struct value *ret)
{
    struct columns list = columns_of(e, a, g->n);
    const struct sink to = {push, &list};
    struct range_call c = {
        .e = e, .function = range_function_find(n->call.function->name), .grid = g};
    int r = run(&c, n, a, a, false, &to);
    columns_give(&list, g, ret);
    return r;
}

int range_call_each(struct eval *e, const struct node *n, const struct grid *g,
                    const struct sink *to)
{
    struct range_call c = {
        .e = e, .function = range_function_find(n->call.function->name), .grid = g};
    struct arena keep, cells;
    arena_init(&keep, e->budget);
    arena_init(&cells, e->budget);
    int r = run(&c, n, &keep, &cells, true, to);
    arena_done(&cells);
    arena_done(&keep);
    return r;
}

struct absence {
    uint8_t *has;
    size_t n;
};

static int put_presence(void *ctx, const struct column *c)
{
    struct absence *x = ctx;
    for (size_t i = 0; i < x->n; i++)
        x->has[i] |= c->has[i];
    return 0;
}

int range_absent_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                      struct value *ret)
{
    struct range_call c = {.e = e, .function = &absent_function, .grid = g};
    struct absence x = {.n = g->n, .has = arena_zalloc(a, g->n, 1)};
    const struct sink to = {put_presence, &x};
    struct columns list = columns_of(e, a, g->n);
    struct column *col = NULL;
    struct arena keep, cells;
    if (!x.has)
        return -ENOMEM;
    arena_init(&keep, e->budget);
    arena_init(&cells, e->budget);
    int r = run(&c, n, &keep, &cells, true, &to);
    if (r == 0)
        r = columns_add(&list, (struct labels){NULL, 0}, &col);
    for (size_t i = 0; i < g->n && r == 0; i++)
        if (!x.has[i])
            r = column_set(a, g->n, col, i, 1, NULL);
    columns_give(&list, g, ret);
    columns_prune(ret);
    arena_done(&cells);
    arena_done(&keep);
    return r;
}
