/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_load.c - load: series into memory.
 */
#include <errno.h>

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

int script_append(struct script *s, struct labels labels, int64_t t_ms, double v,
                  const struct fhist *h, const struct fhist **last)
{
    struct fhist stored;
    int r;

    if (h) {
        stored = *h;
        stored.hint = stored_hint(h, *last);
    }
    r = memory_append(s->memory, labels, t_ms, v, h ? &stored : NULL);
    *last = h;
    if (r != -EINVAL)
        return r;
    return script_wrong(s, "a sample of the series at %lld ms or later is loaded already",
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

static int load_lines(struct script *s, int64_t step_ms, struct script_series **ret)
{
    struct script_series **end = ret;
    struct span line;
    int r = 0;

    *end = NULL;
    while (r == 0 && script_take_block_line(s, &line)) {
        if (is_start_times(line))
            continue;
        r = script_read_series(s, line, end);
        if (r != 0)
            break;
        r = load_series(s, *end, step_ms);
        end = &(*end)->next;
    }
    return r;
}

int script_load(struct script *s, struct span line)
{
    struct script_series *series = NULL;
    struct span word = script_take_word(&line);
    bool is_nhcb = span_eq_nocase(word, SPAN("load_with_nhcb"));
    int64_t step_ms;
    int r;

    if (!is_nhcb && !span_eq_nocase(word, SPAN("load")))
        return script_wrong(s, "there is no command \"%.*s\" (load, load_with_nhcb)",
                            word.n > 60 ? 60 : (int)word.n, word.p);
    if (promql_parse_duration(line, &step_ms) != 0 || step_ms <= 0)
        return script_wrong(s, "load wants a duration, not \"%.*s\"",
                            line.n > 60 ? 60 : (int)line.n, line.p);
    r = load_lines(s, step_ms, &series);
    return r == 0 && is_nhcb ? script_load_nhcb(s, series, step_ms) : r;
}
