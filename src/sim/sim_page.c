/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_page.c - goes through the table of names (sim_names.h) once.
 */
#include "sim/sim_page.h"

#include <string.h>

#include "base/check.h"
#include "base/num.h"

enum { LABELS_MAX = 8 }; /* of one series */

struct page {
    const struct sim_page *about;
    const struct batching_counts *counts;
    const struct sim_stats *stats;
    struct buf *out;
    const struct numbers *numbers;
    int error; /* the first one */
};

/* --- values --- */

static double ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* what: an enum sim_value. */
static double value_of(const struct page *p, int what)
{
    const struct batching_counts *c = p->counts;
    const struct sim_stats *s = p->stats;
    int64_t n_used = c->n_blocks - c->n_blocks_free;
    int64_t block = p->about->block_tokens;
    const double values[SIM_VALUE_COUNT_] = {
        [SIM_ONE] = 1,
        [SIM_AWAKE] = 1,
        [SIM_OFF] = -1,
        [SIM_RUNNING] = (double)c->n_running,
        [SIM_WAITING] = (double)c->n_waiting,
        [SIM_KV_USAGE] = ratio(n_used, c->n_blocks),
        [SIM_KV_USED_TOKENS] = (double)(n_used * block),
        [SIM_KV_TOTAL_TOKENS] = (double)(c->n_blocks * block),
        [SIM_HIT_RATIO] =
            p->about->has_prefix_cache ? ratio(c->n_cache_hits, c->n_cache_queries) : -1,
        [SIM_QUERY_TOKENS] = (double)c->n_cache_queries,
        [SIM_HIT_TOKENS] = (double)c->n_cache_hits,
        [SIM_QUERY_BLOCKS] = (double)(c->n_cache_queries / block),
        [SIM_HIT_BLOCKS] = (double)(c->n_cache_hits / block),
        [SIM_PREEMPTIONS] = (double)c->n_preemptions,
        [SIM_LAST_PREEMPTIONS] = (double)s->n_preemptions,
        [SIM_PROMPT_TOTAL] = (double)c->n_prompt,
        [SIM_OUTPUT_TOTAL] = (double)c->n_generated,
        [SIM_BOTH_TOTAL] = (double)(c->n_prompt + c->n_generated),
        [SIM_PROMPT_RATE] = s->prompt_rate,
        [SIM_OUTPUT_RATE] = s->output_rate,
        [SIM_LIVE_COMPUTED] = (double)(c->n_prompt - c->n_cached),
        [SIM_LIVE_CACHED] = (double)c->n_cached,
        [SIM_LIVE_OUTPUT] = (double)c->n_generated,
        [SIM_FINISHED_PROMPT] = (double)s->n_prompt,
        [SIM_FINISHED_OUTPUT] = (double)s->n_output,
        [SIM_FINISHED_CACHED] = (double)s->n_cached,
        [SIM_FINISHED_STOP] = (double)s->n_ended[SIM_STOP],
        [SIM_FINISHED_LENGTH] = (double)s->n_ended[SIM_LENGTH],
        [SIM_FINISHED_ABORT] = (double)s->n_ended[SIM_ABORT],
        [SIM_FINISHED_ALL] = (double)(s->n_ended[SIM_STOP] + s->n_ended[SIM_LENGTH]),
    };

    return values[what];
}

/* --- labels --- */

struct labels {
    size_t n;
    struct {
        const char *name, *value;
    } v[LABELS_MAX];
};

/* Keeps them in alphabetical order. */
static void add_label(struct labels *l, const char *name, const char *value)
{
    size_t i = l->n;

    if (NEVER(l->n == LABELS_MAX))
        return;
    for (; i > 0 && strcmp(l->v[i - 1].name, name) > 0; i--)
        l->v[i] = l->v[i - 1];
    l->v[i].name = name;
    l->v[i].value = value;
    l->n++;
}

static void add_ranks(struct labels *l)
{
    add_label(l, "engine_type", "unified");
    add_label(l, "tp_rank", "0");
    add_label(l, "pp_rank", "0");
    add_label(l, "moe_ep_rank", "0");
}

/* Numbers that are label values: they live as long as the page. */
struct numbers {
    char pid[24], block_tokens[24], n_blocks[24];
};

static struct labels labels_of(const struct page *p, enum sim_scope scope)
{
    struct sim_version v = p->about->version;
    struct labels l = {0};

    if (scope == SIM_SCOPE_CONFIG) {
        add_label(&l, "block_size", p->numbers->block_tokens);
        add_label(&l, "num_gpu_blocks", p->numbers->n_blocks);
        add_label(&l, "cache_dtype", "auto");
        add_label(&l, "enable_prefix_caching", p->about->has_prefix_cache ? "True" : "False");
        add_label(&l, "gpu_memory_utilization", "0.9");
        if (v.kind == SIM_VLLM && v.number >= 900)
            add_label(&l, "engine", "0");
        return l;
    }
    add_label(&l, "model_name", p->about->model);
    if (v.kind == SIM_VLLM && v.number >= 803)
        add_label(&l, "engine", "0");
    if (scope == SIM_SCOPE_RANKS || scope == SIM_SCOPE_PID)
        add_ranks(&l);
    if (scope == SIM_SCOPE_PID)
        add_label(&l, "pid", p->numbers->pid);
    return l;
}

/* --- text --- */

#define PUT(p, ...)                                                                                \
    do {                                                                                           \
        if ((p)->error == 0)                                                                       \
            (p)->error = buf_printf((p)->out, __VA_ARGS__);                                        \
    } while (0)

static void put_label_value(struct page *p, const char *s)
{
    for (; *s; s++)
        if (*s == '\n')
            PUT(p, "\\n");
        else
            PUT(p, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void put_sample(struct page *p, struct span name, const char *suffix,
                       const struct labels *labels, double v)
{
    char text[32];
    size_t n = num_format_fraction(v, text);

    PUT(p, "%.*s%s", SPAN_ARG(name), suffix);
    for (size_t i = 0; i < labels->n; i++) {
        PUT(p, "%c%s=\"", i == 0 ? '{' : ',', labels->v[i].name);
        put_label_value(p, labels->v[i].value);
        PUT(p, "\"");
    }
    PUT(p, "%s %.*s\n", labels->n > 0 ? "}" : "", (int)n, text);
}

static void put_head(struct page *p, struct span name, const char *suffix, const char *help,
                     const char *type)
{
    PUT(p, "# HELP %.*s%s %s\n# TYPE %.*s%s %s\n", SPAN_ARG(name), suffix, help, SPAN_ARG(name),
        suffix, type);
}

/* --- families --- */

static bool is_created_early(const struct page *p)
{
    return sim_version_is_v1(p->about->version);
}

static struct labels with_own(struct labels l, const struct sim_name *n, size_t i)
{
    if (n->label)
        add_label(&l, n->label, n->values[i]);
    return l;
}

static size_t n_series(const struct sim_name *n)
{
    size_t i = 0;

    while (n->label && n->values[i])
        i++;
    return n->label ? i : 1;
}

/* A counter of V0 that has no label of its own is written from the start. */
static bool has_sample(const struct page *p, const struct sim_name *n, size_t i)
{
    if (n->type == SIM_GAUGE || is_created_early(p))
        return true;
    if (n->type == SIM_HISTOGRAM)
        return p->stats->hists[n->what].n > 0;
    return (sim_version_is_v0(p->about->version) && !n->label) || value_of(p, n->what + (int)i) > 0;
}

static void put_created(struct page *p, const struct sim_name *n)
{
    struct span base = span_of(n->name, strlen(n->name));

    if (n->type == SIM_COUNTER)
        base.n -= strlen("_total");
    put_head(p, base, "_created", n->help, "gauge");
    for (size_t i = 0; i < n_series(n); i++) {
        struct labels l = with_own(labels_of(p, n->scope), n, i);

        put_sample(p, base, "_created", &l, p->about->started_at_s);
    }
}

static void put_buckets(struct page *p, struct span name, const struct sim_name *n)
{
    const struct sim_hist *h = &p->stats->hists[n->what];

    for (size_t i = 0; i <= n->bounds->n; i++) {
        struct labels l = labels_of(p, n->scope);
        char le[33] = "+Inf";

        if (i < n->bounds->n && n->bounds->is_cut &&
            n->bounds->v[i] > (double)p->about->max_model_len)
            continue;
        if (i < n->bounds->n)
            le[num_format_fraction(n->bounds->v[i], le)] = '\0';
        add_label(&l, "le", le);
        put_sample(p, name, "_bucket", &l,
                   (double)(i < n->bounds->n ? sim_hist_below(h, n->bounds->v[i]) : h->n));
    }
}

static void put_histogram(struct page *p, struct span name, const struct sim_name *n)
{
    const struct sim_hist *h = &p->stats->hists[n->what];
    struct labels l = labels_of(p, n->scope);

    if (p->about->version.kind == SIM_SGLANG)
        put_sample(p, name, "_sum", &l, h->sum);
    put_buckets(p, name, n);
    put_sample(p, name, "_count", &l, (double)h->n);
    if (p->about->version.kind != SIM_SGLANG)
        put_sample(p, name, "_sum", &l, h->sum);
}

static bool is_declared(const struct page *p, const struct sim_name *n)
{
    if (p->about->version.kind != SIM_SGLANG)
        return true;
    for (size_t i = 0; i < n_series(n); i++)
        if (has_sample(p, n, i))
            return true;
    return false;
}

static void put_family(struct page *p, const struct sim_name *n)
{
    static const char *const types[] = {"gauge", "counter", "histogram"};
    struct span name = span_of(n->name, strlen(n->name));

    if (!is_declared(p, n))
        return;
    put_head(p, name, "", n->help, types[n->type]);
    for (size_t i = 0; i < n_series(n); i++) {
        struct labels l = with_own(labels_of(p, n->scope), n, i);

        if (!has_sample(p, n, i))
            continue;
        if (n->type == SIM_HISTOGRAM)
            put_histogram(p, name, n);
        else
            put_sample(p, name, "", &l, value_of(p, n->what + (int)i));
    }
    if (n->type != SIM_GAUGE && is_created_early(p))
        put_created(p, n);
}

static void put_process(struct page *p)
{
    struct span name = SPAN("process_start_time_seconds");
    struct labels none = {0};

    put_head(p, name, "", "Start of the process, Unix time", "gauge");
    put_sample(p, name, "", &none, p->about->started_at_s);
}

int sim_page_render(const struct sim_page *about, const struct batching_counts *counts,
                    const struct sim_stats *stats, struct buf *out)
{
    struct numbers numbers = {0};
    struct page p = {
        .about = about, .counts = counts, .stats = stats, .out = out, .numbers = &numbers};

    (void)num_format_i64(about->pid, numbers.pid);
    (void)num_format_i64(about->block_tokens, numbers.block_tokens);
    (void)num_format_i64(counts->n_blocks, numbers.n_blocks);
    if (about->version.kind == SIM_VLLM)
        put_process(&p); /* not where several processes answer */
    for (size_t i = 0; i < sim_names_n; i++)
        if (sim_name_is_in(&sim_names[i], about->version))
            put_family(&p, &sim_names[i]);
    return p.error;
}
