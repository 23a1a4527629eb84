/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/matching.c - operators between two vectors: which series belong together.
 *
 * Both sides are sorted into groups of the same labels (on, ignoring) once. One side of a group is
 * the "one" side: at each step it may have one sample only. Each series of the "many" side meets
 * each of the "one" side; mostly there is one of each. Results that have the same labels become one
 * series as long as they do not meet at a step.
 *
 * Fills: where a side has nothing in a group at a step, a constant stands in for it.
 */
#include <errno.h>

#include "promql/binary.h"

struct group {
    uint32_t first_many, first_one; /* column + 1, then next[]; 0: none */
    uint32_t n_many, n_one;
    uint8_t *matched; /* steps at which something was matched; NULL: none yet */
};

struct result {
    size_t group; /* that gave it a value last */
    uint8_t *seen;
};

struct match {
    struct eval *e;
    const struct node *node;
    const struct vector_matching *m;
    const struct grid *grid;
    struct arena *out, *work;
    bool is_swapped; /* the "one" side is the left one */
    struct value many, one;
    size_t *group_of_many, *group_of_one;
    uint32_t *next_many, *next_one;
    struct group *groups;
    size_t n_groups;
    struct binary_cells cells;
    struct columns results;
    struct label_index by_labels;
    struct result *more; /* beside results */
    size_t more_cap;
    struct span *names; /* of ignoring and the metric's name */
    size_t n_names;
};

static int group_side(struct match *x, struct label_index *index, const struct value *v,
                      size_t *group_of)
{
    for (size_t i = 0; i < v->n_columns; i++) {
        int r = label_index_get(index, v->columns[i].labels, &group_of[i], NULL);
        if (r < 0)
            return r;
    }
    return eval_work(x->e, v->n_columns);
}

static int make_groups(struct match *x)
{
    struct label_index index;
    size_t n_many = x->many.n_columns, n_one = x->one.n_columns;
    label_index_init(&index, x->work, x->m->is_on ? LABELS_BY : LABELS_WITHOUT, x->m->names,
                     x->m->n_names);
    x->group_of_many = arena_array(x->work, n_many, sizeof(size_t));
    x->group_of_one = arena_array(x->work, n_one, sizeof(size_t));
    x->next_many = arena_zalloc(x->work, n_many, sizeof(uint32_t));
    x->next_one = arena_zalloc(x->work, n_one, sizeof(uint32_t));
    if (!x->group_of_many || !x->group_of_one || !x->next_many || !x->next_one)
        return -ENOMEM;
    int r = group_side(x, &index, &x->one, x->group_of_one);
    if (r == 0)
        r = group_side(x, &index, &x->many, x->group_of_many);
    if (r < 0)
        return r;
    x->n_groups = index.n;
    x->groups = arena_zalloc(x->work, index.n, sizeof(*x->groups));
    if (!x->groups)
        return -ENOMEM;
    for (size_t i = n_one; i-- > 0;) { /* backwards: lists in order */
        struct group *g = &x->groups[x->group_of_one[i]];
        x->next_one[i] = g->first_one;
        g->first_one = (uint32_t)i + 1;
        g->n_one++;
    }
    for (size_t i = n_many; i-- > 0;) {
        struct group *g = &x->groups[x->group_of_many[i]];
        x->next_many[i] = g->first_many;
        g->first_many = (uint32_t)i + 1;
        g->n_many++;
    }
    return 0;
}

static int fail_duplicate(struct match *x, struct labels a, struct labels b)
{
    struct labels group;
    struct buf text[3];
    int r = x->m->is_on ? labels_only(x->work, a, x->m->names, x->m->n_names, &group)
                        : labels_without(x->work, a, x->names, x->n_names, &group);
    for (int i = 0; i < 3; i++)
        buf_init(&text[i], 4096);
    if (r == 0)
        r = labels_print_pairs(group, &text[0]);
    if (r == 0)
        r = labels_print_pairs(a, &text[1]);
    if (r == 0)
        r = labels_print_pairs(b, &text[2]);
    struct span one = buf_span(&text[1]), two = buf_span(&text[2]);
    if (labels_cmp(a, b) > 0) {
        struct span swap = one;
        one = two;
        two = swap;
    }
    if (r == 0 || r == -EMSGSIZE)
        r = eval_fail(x->e, -EINVAL, x->node,
                      "found duplicate series for the match group %.*s on the %s hand-side of the "
                      "operation: [%.*s, %.*s];many-to-many matching not allowed: matching labels "
                      "must be unique on one side",
                      SPAN_ARG(buf_span(&text[0])), x->is_swapped ? "left" : "right", SPAN_ARG(one),
                      SPAN_ARG(two));
    for (int i = 0; i < 3; i++)
        buf_done(&text[i]);
    return r;
}

/* Steps at which v has anything. */
static uint8_t *any_of(struct match *x, const struct value *v)
{
    uint8_t *any = arena_zalloc(x->work, x->grid->n, 1);
    for (size_t k = 0; any && k < v->n_columns; k++)
        for (size_t i = 0; i < x->grid->n; i++)
            any[i] |= v->columns[k].has[i];
    return any;
}

/* The "one" side has one sample per group and step, at least where the other side has any at all.
 */
static int check_one_side(struct match *x)
{
    bool has_fill = x->m->has_fill_left || x->m->has_fill_right;
    uint8_t *any_many = NULL;
    for (size_t k = 0; k < x->n_groups; k++) {
        const struct group *g = &x->groups[k];
        if (g->n_one < 2)
            continue;
        if (!any_many)
            any_many = any_of(x, &x->many);
        if (!any_many)
            return -ENOMEM;
        for (size_t i = 0; i < x->grid->n; i++) {
            const struct column *before = NULL;
            for (uint32_t c = g->first_one; c && (any_many[i] || has_fill);
                 c = x->next_one[c - 1]) {
                const struct column *one = &x->one.columns[c - 1];
                if (one->has[i] && before)
                    return fail_duplicate(x, one->labels, before->labels);
                if (one->has[i])
                    before = one;
            }
        }
    }
    return 0;
}

/* Labels of the result of two series. */
static int result_labels(struct match *x, struct labels many, struct labels one, struct labels *ret)
{
    const struct vector_matching *m = x->m;
    int r = 0;
    *ret = many;
    if (binary_changes_meaning(x->node->binary.op))
        r = label_nameless(x->work, *ret, ret);
    if (r == 0 && m->card == MATCH_ONE_TO_ONE)
        r = m->is_on ? labels_only(x->work, *ret, m->names, m->n_names, ret)
                     : labels_without(x->work, *ret, m->names, m->n_names, ret);
    for (size_t i = 0; i < m->n_include && r == 0; i++)
        r = labels_with(x->work, *ret, m->include[i], labels_get(one, m->include[i]), ret);
    return r;
}

static int more_new(struct match *x, size_t id)
{
    struct result *more = arena_grow(x->work, x->more, id, 1, &x->more_cap, sizeof(*more));
    if (!more)
        return -ENOMEM;
    x->more = more;
    x->more[id] = (struct result){0};
    return 0;
}

/* The column with those labels, an old or a new one. */
static int result_column(struct match *x, struct labels labels, bool drops_name, size_t *ret)
{
    bool is_new;
    int r = label_index_get(&x->by_labels, labels, ret, &is_new);
    if (r == 0 && is_new) {
        struct column *c;
        struct labels copy = {0};
        r = more_new(x, *ret);
        if (r == 0)
            r = labels_copy(x->out, labels, &copy);
        if (r == 0)
            r = columns_add(&x->results, copy, &c);
        if (r == 0)
            x->by_labels.labels[*ret] = copy;
    }
    if (r == 0)
        x->results.at[*ret].drops_name |= drops_name;
    return r;
}

static int fail_twice(struct match *x, const struct result *of, size_t group)
{
    if (x->m->card == MATCH_ONE_TO_ONE)
        return eval_fail(x->e, -EINVAL, x->node,
                         "multiple matches for labels: many-to-one matching must be explicit "
                         "(group_left/group_right)");
    if (of->group == group)
        return eval_fail(x->e, -EINVAL, x->node,
                         "multiple matches for labels: grouping labels must ensure unique matches");
    return eval_fail_same_labels(x->e);
}

static int need(struct match *x, uint8_t **flags)
{
    if (!*flags)
        *flags = arena_zalloc(x->work, x->grid->n, 1);
    return *flags ? 0 : -ENOMEM;
}

/* Moves what was computed into the column, unless there is something already. */
static int put_cells(struct match *x, size_t group, size_t id)
{
    struct binary_cells *b = &x->cells;
    struct column *c = &x->results.at[id];
    struct result *more = &x->more[id];
    struct group *g = &x->groups[group];
    bool is_one_to_one = x->m->card == MATCH_ONE_TO_ONE;
    int r = need(x, &g->matched);
    if (r == 0)
        r = need(x, &more->seen);
    uint8_t *taken = is_one_to_one ? g->matched : more->seen;
    for (size_t i = 0; i < b->n_steps && r == 0; i++) {
        if (!b->both[i])
            continue;
        if (taken[i])
            return fail_twice(x, more, group);
        g->matched[i] = 1;
        more->seen[i] = 1;
        if (b->keep[i] || x->node->binary.is_bool)
            r = column_set(x->out, b->n_steps, c, i, b->v[i], b->h ? b->h[i] : NULL);
    }
    more->group = group;
    return r;
}

/* One pair of series, at the steps that cells.both has. */
static int pair(struct match *x, size_t group, const struct column *many, const struct column *one)
{
    struct labels labels;
    size_t id = 0;
    bool is_bool = x->node->binary.is_bool;
    bool drops = is_bool || (!binary_changes_meaning(x->node->binary.op) && many->drops_name);
    int r = x->is_swapped ? binary_cells_compute(&x->cells, one, many)
                          : binary_cells_compute(&x->cells, many, one);
    if (r < 0 || !memchr(x->cells.both, 1, x->grid->n))
        return r;
    r = result_labels(x, many->labels, one->labels, &labels);
    if (r == 0)
        r = result_column(x, labels, drops, &id);
    return r < 0 ? r : put_cells(x, group, id);
}

static int match_all(struct match *x)
{
    for (size_t k = 0; k < x->many.n_columns; k++) {
        const struct column *many = &x->many.columns[k];
        size_t group = x->group_of_many[k];
        for (uint32_t o = x->groups[group].first_one; o; o = x->next_one[o - 1]) {
            const struct column *one = &x->one.columns[o - 1];
            for (size_t i = 0; i < x->grid->n; i++)
                x->cells.both[i] = many->has[i] & one->has[i];
            int r = pair(x, group, many, one);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* A series of v at the steps where its group has nothing on the other side. */
static int fill_side(struct match *x, bool is_many, double with)
{
    const struct value *v = is_many ? &x->many : &x->one;
    struct column constant;
    int r = column_new(x->work, x->grid->n, &constant);
    for (size_t i = 0; r == 0 && i < x->grid->n; i++)
        constant.v[i] = with;
    for (size_t k = 0; r == 0 && k < v->n_columns; k++) {
        const struct column *c = &v->columns[k];
        size_t group = is_many ? x->group_of_many[k] : x->group_of_one[k];
        const struct group *g = &x->groups[group];
        memcpy(x->cells.both, c->has, x->grid->n);
        for (uint32_t o = is_many ? g->first_one : 0; o; o = x->next_one[o - 1])
            for (size_t i = 0; i < x->grid->n; i++)
                x->cells.both[i] &= !x->one.columns[o - 1].has[i];
        for (size_t i = 0; !is_many && g->matched && i < x->grid->n; i++)
            x->cells.both[i] &= !g->matched[i];
        r = x->m->is_on
                ? labels_only(x->work, c->labels, x->m->names, x->m->n_names, &constant.labels)
                : labels_without(x->work, c->labels, x->names, x->n_names, &constant.labels);
        if (r == 0)
            r = is_many ? pair(x, group, c, &constant) : pair(x, group, &constant, c);
    }
    return r;
}

/* As in Prometheus 3.14 fill_left is for the "many" side, whichever side that is. */
static int fill_all(struct match *x)
{
    int r = 0;
    if (x->m->has_fill_right)
        r = fill_side(x, true, x->m->fill_right);
    if (r == 0 && x->m->has_fill_left)
        r = fill_side(x, false, x->m->fill_left);
    return r;
}

static int run(struct match *x)
{
    const struct node *n = x->node;
    int r = eval_node(x->e, n->binary.left, x->grid, x->work, x->is_swapped ? &x->one : &x->many);
    if (r == 0)
        r = eval_node(x->e, n->binary.right, x->grid, x->work, x->is_swapped ? &x->many : &x->one);
    if (r == 0)
        r = label_names_with_metric(x->work, x->m->names, x->m->n_names, &x->names, &x->n_names);
    if (r == 0)
        r = make_groups(x);
    if (r == 0)
        r = check_one_side(x);
    if (r == 0)
        r = binary_cells_init(&x->cells, x->e, n, x->grid->n, x->work, x->work);
    if (r == 0)
        r = match_all(x);
    return r == 0 ? fill_all(x) : r;
}

/* Histograms of the results are in work, and may share pieces with those of both sides. */
static int keep_histograms(struct match *x)
{
    for (size_t k = 0; k < x->results.n; k++) {
        struct column *c = &x->results.at[k];
        for (size_t i = 0; c->h && i < x->grid->n; i++) {
            struct fhist *h;
            if (!c->h[i])
                continue;
            int r = fhist_copy(x->out, c->h[i], &h);
            if (r < 0)
                return r;
            c->h[i] = h;
        }
    }
    return 0;
}

int matching_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                  struct value *ret)
{
    struct arena work;
    struct match x = {.e = e,
                      .node = n,
                      .m = n->binary.matching,
                      .grid = g,
                      .out = a,
                      .work = &work,
                      .is_swapped = n->binary.matching->card == MATCH_ONE_TO_MANY,
                      .results = columns_of(e, a, g->n)};
    arena_init(&work, e->budget);
    label_index_init(&x.by_labels, &work, LABELS_ALL, NULL, 0);
    int r = run(&x);
    if (r == 0)
        r = keep_histograms(&x);
    columns_give(&x.results, g, ret);
    arena_done(&work);
    return r;
}
