/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_load.c - load: series into memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "promql/script_private.h"

/* Whether two histograms can stand in one run of samples of a Prometheus' storage. */
static bool is_same_layout(const struct fhist *a, const struct fhist *b)
{
    if (a->schema != b->schema || a->zero_threshold != b->zero_threshold ||
        a->n_custom != b->n_custom)
        return false;
    for (size_t i = 0; i < a->n_custom; i++)
        if (a->custom[i] != b->custom[i])
            return false;
    return true;
}

/*
 * The hint that comes back from storage: gauges stay; of counters it knows "not reset" within a run
 * of samples that only grow, and nothing at the start of one.
 */
static enum fhist_hint stored_hint(const struct fhist *h, const struct fhist *last)
{
    struct fhist unknown = *h;

    unknown.hint = FHIST_UNKNOWN;
    if (h->hint == FHIST_GAUGE)
        return FHIST_GAUGE;
    if (!last || last->hint == FHIST_GAUGE || h->hint == FHIST_RESET || !is_same_layout(h, last) ||
        fhist_is_reset(&unknown, last))
        return FHIST_UNKNOWN;
    return FHIST_NOT_RESET;
}

/* For messages; cut where it is long. */
static void name_series(struct labels l, char *dst, size_t cap)
{
    struct buf b;

    buf_init(&b, cap);
    (void)!labels_print(l, &b); /* as much of it as there is */
    (void)span_copy(buf_span(&b), dst, cap);
    buf_done(&b);
}

int script_append(struct script *s, struct labels labels, int64_t t_ms, double v,
                  const struct fhist *h, const struct fhist **last)
{
    struct fhist stored;
    int r;

    if (++s->n_loaded > SCRIPT_SAMPLES_MAX)
        return err_set(s->reterr, -E2BIG, "%d: more than %d samples in memory", s->line,
                       SCRIPT_SAMPLES_MAX);
    if (h) {
        stored = *h;
        stored.hint = stored_hint(h, *last);
    }
    r = memory_append(s->memory, labels, t_ms, v, h ? &stored : NULL);
    *last = h;
    if (r != -EINVAL)
        return r;
    char name[200];
    name_series(labels, name, sizeof(name));
    return script_wrong(s, "%s: a sample at %lld ms or later is loaded already", name,
                        (long long)t_ms);
}

static int load_series(struct script *s, const struct script_series *series, int64_t step_ms)
{
    const struct fhist *last = NULL;
    int r = 0;

    for (size_t i = 0; i < series->n && r == 0; i++) {
        const struct script_value *value = &series->values[i];
        if (!value->is_omitted)
            r = script_append(s, series->labels, (int64_t)i * step_ms, value->v, value->h, &last);
    }
    return r;
}

/* name@st offsets: when a series' samples began to count. */
static bool is_start_times(struct span line)
{
    return span_ends_with(script_take_word(&line), SPAN("@st"));
}

static int read_lines(struct script *s, struct script_series **ret, size_t *ret_n)
{
    struct script_series **end = ret;
    struct span line;
    size_t n = 0;
    int r = 0;

    *end = NULL;
    while (r == 0 && script_take_block_line(s, &line)) {
        if (is_start_times(line))
            continue;
        r = script_read_series(s, line, end);
        if (r != 0)
            break;
        (*end)->position = ++n;
        end = &(*end)->next;
    }
    *ret_n = n;
    return r;
}

static int series_cmp(const void *a, const void *b)
{
    const struct script_series *x = *(const struct script_series *const *)a;
    const struct script_series *y = *(const struct script_series *const *)b;
    int c = labels_cmp(x->labels, y->labels);
    return c != 0 ? c : (x->position > y->position) - (x->position < y->position);
}

/* Leaves those out that a later line of the same load tells anew. */
static int keep_last_of_each(struct script *s, struct script_series **series, size_t n)
{
    const struct script_series **sorted =
        arena_array(&s->arena, n, sizeof(const struct script_series *));
    struct script_series *kept = NULL;
    size_t n_all = 0;

    if (!sorted)
        return -ENOMEM;
    for (struct script_series *i = *series; i; i = i->next)
        sorted[n_all++] = i;
    if (n_all > 1)
        qsort(sorted, n_all, sizeof(const struct script_series *), series_cmp);
    for (size_t i = n_all; i > 0; i--) {
        struct script_series *copy;
        if (i < n_all && labels_eq(sorted[i - 1]->labels, sorted[i]->labels))
            continue;
        copy = arena_alloc(&s->arena, sizeof(*copy));
        if (!copy)
            return -ENOMEM;
        *copy = *sorted[i - 1];
        copy->next = kept;
        kept = copy;
    }
    *series = kept;
    return 0;
}

int script_load(struct script *s, struct span line)
{
    struct script_series *series = NULL;
    struct span word = script_take_word(&line);
    bool is_nhcb = span_eq_nocase(word, SPAN("load_with_nhcb"));
    int64_t step_ms;
    size_t n = 0;
    int r;

    if (!is_nhcb && !span_eq_nocase(word, SPAN("load")))
        return script_wrong(s, "there is no command \"%.*s\" (load, load_with_nhcb)",
                            word.n > 60 ? 60 : (int)word.n, word.p);
    if (promql_parse_duration(line, &step_ms) != 0 || step_ms <= 0)
        return script_wrong(s, "load wants a duration, not \"%.*s\"",
                            line.n > 60 ? 60 : (int)line.n, line.p);
    r = read_lines(s, &series, &n);
    if (r == 0)
        r = keep_last_of_each(s, &series, n);
    for (const struct script_series *i = series; i && r == 0; i = i->next)
        r = load_series(s, i, step_ms);
    return r == 0 && is_nhcb ? script_load_nhcb(s, series, step_ms) : r;
}
