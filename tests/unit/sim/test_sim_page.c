/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "memfail.h"
#include "sim/workload.h"

#define NAMES "../shared/reference/engine-metrics.tsv"

enum { PAGE_MAX = 1 << 20 };

static const char *const versions[] = {"vllm-0.6", "vllm-0.8", "vllm-0.10", "vllm-0.13",
                                       "sglang-0.5.7"};

/* --- an engine that has worked for a while --- */

struct worked {
    struct workload_run run;
    struct sim_stats stats;
    int64_t n_seen;
};

static void watch(void *ctx, const struct batching_request *r, mono_t now)
{
    struct worked *w = ctx;
    struct batching_counts n = batching_counts(w->run.batching);
    sim_stats_token(&w->stats, r, w->n_seen++ % 2 ? SIM_STOP : SIM_LENGTH);
    sim_stats_step(&w->stats, &n, now); /* once a step is enough, and more does no harm */
}

static struct worked *work(void)
{
    static struct worked w;
    struct batching_config c;
    struct workload_config l;
    batching_config_init(&c);
    c.n_blocks = 900;
    assert_true(workload_config_of("azure-conv", &l));
    l.rate = 3;
    l.prefix_share = 0.5;
    l.n_prefixes = 3;
    l.prefix_tokens = 500;
    memset(&w, 0, sizeof(w));
    assert_int_equal(workload_run_init(&w.run, &c, &l, 1), 0);
    sim_stats_init(&w.stats);
    w.run.observe = watch;
    w.run.ctx = &w;
    assert_int_equal(workload_run(&w.run, (mono_t){INT64_MAX}, 300), 0);
    sim_stats_left(&w.stats);
    return &w;
}

static struct sim_page about(const char *version)
{
    struct sim_page p = {.model = "org/model-70b",
                         .max_model_len = 8192,
                         .block_tokens = 16,
                         .has_prefix_cache = true,
                         .started_at_s = 1753795326.5,
                         .pid = 4711};
    assert_true(sim_version_of(version, &p.version));
    return p;
}

static char *render(const char *version, const struct batching_counts *n, const struct sim_stats *s)
{
    static char text[PAGE_MAX];
    struct sim_page p = about(version);
    struct buf out;
    buf_init(&out, PAGE_MAX - 1);
    assert_int_equal(sim_page_render(&p, n, s, &out), 0);
    memcpy(text, buf_span(&out).p, buf_len(&out));
    text[buf_len(&out)] = '\0';
    buf_done(&out);
    return text;
}

static char *render_worked(const char *version, struct worked *w)
{
    struct batching_counts n = batching_counts(w->run.batching);
    return render(version, &n, &w->stats);
}

static char *render_fresh(const char *version)
{
    static struct sim_stats s;
    struct batching_counts n = {.n_blocks = 900, .n_blocks_free = 900};
    sim_stats_init(&s);
    return render(version, &n, &s);
}

/* The value of the sample with exactly this name and labels; NaN: there is none. */
static double sample(const char *text, const char *series)
{
    size_t n = strlen(series);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, series, n) == 0 && line[n] == ' ')
            return strtod(line + n, NULL);
        if (!*line)
            break;
    }
    return (double)NAN;
}

static bool has(const char *text, const char *what)
{
    return strstr(text, what) != NULL;
}

static bool has_family(const char *text, const char *name, const char *type)
{
    char line[256];
    (void)snprintf(line, sizeof(line), "# TYPE %s %s\n", name, type);
    return has(text, line);
}

/* --- versions --- */

static void test_versions(void **state)
{
    static const struct {
        const char *name;
        int number; /* 0: refused */
    } rows[] = {
        {"vllm-0.6", 606},     {"vllm-0.6.4", 604}, {"vllm-0.6.3", 0},   {"vllm-0.8", 805},
        {"vllm-0.8.2", 802},   {"vllm-0.10", 1002}, {"vllm-0.13", 1300}, {"vllm-0.13.0", 1300},
        {"vllm-0.13.1", 0},    {"vllm-0.14", 0},    {"vllm-0", 0},       {"vllm-", 0},
        {"vllm-0.10.2.1", 0},  {"vllm-0.10.x", 0},  {"vllm-0..2", 0},    {"vllm", 0},
        {"sglang-0.5.7", 507}, {"sglang-0.5", 507}, {"sglang-0.5.8", 0}, {"", 0},
        {"tgi-3.3", 0},        {"vllm-0.100.1", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sim_version v = {0};
        assert_row(rows[i].name, sim_version_of(rows[i].name, &v) == (rows[i].number > 0));
        assert_row(rows[i].name, v.number == rows[i].number);
    }
    for (size_t n = 0; n < strlen("vllm-0.10.2"); n++) { /* every prefix */
        struct sim_version v;
        char name[16];
        (void)snprintf(name, sizeof(name), "%.*s", (int)n, "vllm-0.10.2");
        assert_row(name, sim_version_of(name, &v) == (n == strlen("vllm-0.10")));
    }
}

/* --- form --- */

struct line {
    char name[160], labels[640], family[160];
    double v;
};

struct family {
    char name[160], type[16];
};

/* The family that a sample belongs to, by what is declared so far. */
static const char *family_of(const char *name, const struct family *last)
{
    static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
    size_t n = strlen(last->name);
    if (strcmp(name, last->name) == 0)
        return strcmp(last->type, "histogram") == 0 ? NULL : last->name;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (strncmp(name, last->name, n) == 0 && strcmp(name + n, suffixes[i]) == 0)
            return strcmp(last->type, "histogram") == 0 ? last->name : NULL;
    return NULL;
}

static void check_labels_sorted(const char *version, const char *labels)
{
    char before[64] = "";
    for (const char *at = labels; *at; at = strchr(at, '"') + 1) {
        char name[64];
        int n = 0;
        assert_row(version, sscanf(at, "%*[{,]%63[a-zA-Z_]=%n", name, &n) == 1 && n > 0);
        assert_row(name, strcmp(before, name) < 0);
        (void)snprintf(before, sizeof(before), "%s", name);
        at = strchr(at, '"') + 1;
        if (strcmp(strchr(at, '"') + 1, "}") == 0)
            return;
    }
}

struct histogram {
    double le, below, inf;
    bool has_inf;
};

static void check_bucket(const char *version, const struct line *l, struct histogram *h)
{
    const char *le = strstr(l->labels, "le=\"");
    assert_row(version, le != NULL);
    double bound = strtod(le + 4, NULL); /* "+Inf", too */
    if (h->has_inf)
        *h = (struct histogram){.le = -1};
    assert_row(l->name, bound > h->le && l->v >= h->below);
    h->le = bound;
    h->below = l->v;
    if (isinf(bound)) {
        h->has_inf = true;
        h->inf = l->v;
    }
}

/* A strict reader: each sample stands in its family, types are declared once, buckets add up. */
static void check_form(const char *version, const char *text)
{
    static char seen[200][160];
    size_t n_seen = 0;
    struct family last = {0};
    struct histogram h = {.le = -1};
    assert_row(version, text[strlen(text) - 1] == '\n');
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        struct line l = {0};
        if (strncmp(at, "# HELP ", 7) == 0)
            continue;
        if (sscanf(at, "# TYPE %159s %15s", last.name, last.type) == 2) {
            for (size_t i = 0; i < n_seen; i++)
                assert_row(last.name, strcmp(seen[i], last.name) != 0);
            memcpy(seen[n_seen++], last.name, sizeof(last.name));
            h = (struct histogram){.le = -1};
            continue;
        }
        if (sscanf(at, "%159[a-zA-Z0-9_:]%639[^ ] %lf\n", l.name, l.labels, &l.v) != 3) {
            l.labels[0] = '\0';
            assert_row(version, sscanf(at, "%159s %lf\n", l.name, &l.v) == 2);
        }
        assert_row(l.name, family_of(l.name, &last) != NULL);
        if (l.labels[0])
            check_labels_sorted(version, l.labels);
        if (strstr(l.name, "_bucket"))
            check_bucket(version, &l, &h);
        else if (strcmp(last.type, "histogram") == 0 && strstr(l.name, "_count"))
            assert_row(l.name, h.has_inf && h.inf == l.v);
    }
}

static void test_form(void **state)
{
    struct worked *w = work();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        check_form(versions[i], render_fresh(versions[i]));
        check_form(versions[i], render_worked(versions[i], w));
    }
    workload_run_done(&w->run);
}

/* --- the same state under all names --- */

static void test_same_values_under_all_names(void **state)
{
    enum { N_NAMES = 14 };
    /* Per version, in the order of the table above; NULL: that version has no such thing. */
#define V0(name) name "{model_name=\"org/model-70b\"}"
#define V1(name) name "{engine=\"0\",model_name=\"org/model-70b\"}"
#define RANKS(name, more)                                                                          \
    name "{engine_type=\"unified\"" more ",model_name=\"org/model-70b\",moe_ep_rank=\"0\","        \
         "pp_rank=\"0\",tp_rank=\"0\"}"
    static const char *const names[N_NAMES][ARRAY_LEN(versions)] = {
        {V0("vllm:num_requests_running"), V1("vllm:num_requests_running"),
         V1("vllm:num_requests_running"), V1("vllm:num_requests_running"),
         RANKS("sglang:num_running_reqs", "")},
        {V0("vllm:num_requests_waiting"), V1("vllm:num_requests_waiting"),
         V1("vllm:num_requests_waiting"), V1("vllm:num_requests_waiting"),
         RANKS("sglang:num_queue_reqs", "")},
        {V0("vllm:gpu_cache_usage_perc"), V1("vllm:gpu_cache_usage_perc"),
         V1("vllm:kv_cache_usage_perc"), V1("vllm:kv_cache_usage_perc"),
         RANKS("sglang:token_usage", "")},
        {NULL, NULL, V1("vllm:gpu_cache_usage_perc"), V1("vllm:kv_cache_usage_perc"), NULL},
        {V0("vllm:num_preemptions_total"), V1("vllm:num_preemptions_total"),
         V1("vllm:num_preemptions_total"), V1("vllm:num_preemptions_total"),
         RANKS("sglang:num_retracted_requests_total", "")},
        {NULL, NULL, V1("vllm:gpu_prefix_cache_hits_total"), V1("vllm:prefix_cache_hits_total"),
         NULL},
        {V0("vllm:generation_tokens_total"), V1("vllm:generation_tokens_total"),
         V1("vllm:generation_tokens_total"), V1("vllm:generation_tokens_total"), NULL},
        {V0("vllm:prompt_tokens_total"), V1("vllm:prompt_tokens_total"),
         V1("vllm:prompt_tokens_total"), V1("vllm:prompt_tokens_total"), NULL},
        {V0("vllm:time_to_first_token_seconds_sum"), V1("vllm:time_to_first_token_seconds_sum"),
         V1("vllm:time_to_first_token_seconds_sum"), V1("vllm:time_to_first_token_seconds_sum"),
         V0("sglang:time_to_first_token_seconds_sum")},
        {V0("vllm:time_per_output_token_seconds_count"),
         V1("vllm:time_per_output_token_seconds_count"),
         V1("vllm:inter_token_latency_seconds_count"), V1("vllm:inter_token_latency_seconds_count"),
         V0("sglang:inter_token_latency_seconds_count")},
        {NULL, NULL, V1("vllm:time_per_output_token_seconds_sum"),
         V1("vllm:inter_token_latency_seconds_sum"), V0("sglang:inter_token_latency_seconds_sum")},
        {V0("vllm:request_queue_time_seconds_sum"), V1("vllm:request_queue_time_seconds_sum"),
         V1("vllm:request_queue_time_seconds_sum"), V1("vllm:request_queue_time_seconds_sum"),
         RANKS("sglang:queue_time_seconds_sum", "")},
        {V0("vllm:e2e_request_latency_seconds_count"), V1("vllm:e2e_request_latency_seconds_count"),
         V1("vllm:e2e_request_latency_seconds_count"), V1("vllm:e2e_request_latency_seconds_count"),
         V0("sglang:num_requests_total")},
        {V0("vllm:request_decode_time_seconds_sum"), V1("vllm:request_decode_time_seconds_sum"),
         V1("vllm:request_decode_time_seconds_sum"), V1("vllm:request_decode_time_seconds_sum"),
         NULL},
    };
    struct worked *w = work();
    (void)state;
    for (size_t i = 0; i < N_NAMES; i++) {
        double expect = (double)NAN;
        for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
            if (!names[i][v])
                continue;
            double got = sample(render_worked(versions[v], w), names[i][v]);
            assert_row(names[i][v], got > 0);
            assert_row(names[i][v], isnan(expect) || got == expect);
            expect = got;
        }
    }
    /* Which is what the engine says. */
    struct batching_counts n = batching_counts(w->run.batching);
    const char *text = render_worked("vllm-0.13", w);
    assert_true(sample(text, V1("vllm:num_preemptions_total")) == (double)n.n_preemptions);
    assert_true(fabs(sample(text, V1("vllm:kv_cache_usage_perc")) -
                     (1 - (double)n.n_blocks_free / 900)) < 1e-12);
    assert_true(sample(text, V1("vllm:e2e_request_latency_seconds_count")) == (double)n.n_finished);
    assert_true(sample(text, V1("vllm:inter_token_latency_seconds_count")) +
                    sample(text, V1("vllm:time_to_first_token_seconds_count")) ==
                (double)n.n_generated);
    assert_true(sample(text, V1("vllm:iteration_tokens_total_sum")) ==
                (double)(n.n_prompt + n.n_generated));
    workload_run_done(&w->run);
}

/* --- what a version has --- */

static void test_presence(void **state)
{
    static const struct {
        const char *version, *name, *type; /* NULL: has it not */
    } rows[] = {
        {"vllm-0.6", "vllm:gpu_cache_usage_perc", "gauge"},
        {"vllm-0.6", "vllm:kv_cache_usage_perc", NULL},
        {"vllm-0.6", "vllm:num_requests_swapped", "gauge"},
        {"vllm-0.6", "vllm:avg_prompt_throughput_toks_per_s", "gauge"},
        {"vllm-0.7", "vllm:avg_prompt_throughput_toks_per_s", NULL},
        {"vllm-0.6", "vllm:num_preemptions_created", NULL},
        {"vllm-0.6", "vllm:time_in_queue_requests", "histogram"},
        {"vllm-0.8", "vllm:num_requests_swapped", NULL},
        {"vllm-0.8", "vllm:num_preemptions_created", "gauge"},
        {"vllm-0.8", "vllm:iteration_tokens_total", "histogram"},
        {"vllm-0.8", "vllm:iteration_tokens_total_created", "gauge"},
        {"vllm-0.8", "vllm:prefix_cache_hits_total", NULL},
        {"vllm-0.8", "vllm:inter_token_latency_seconds", NULL},
        {"vllm-0.9.1", "vllm:kv_cache_usage_perc", NULL},
        {"vllm-0.9.2", "vllm:kv_cache_usage_perc", "gauge"},
        {"vllm-0.9.2", "vllm:gpu_cache_usage_perc", "gauge"},
        {"vllm-0.10.1", "vllm:inter_token_latency_seconds", NULL},
        {"vllm-0.10", "vllm:inter_token_latency_seconds", "histogram"},
        {"vllm-0.10", "vllm:time_per_output_token_seconds", "histogram"},
        {"vllm-0.10", "vllm:kv_cache_usage_perc", "gauge"},
        {"vllm-0.10", "vllm:gpu_cache_usage_perc", "gauge"},
        {"vllm-0.11", "vllm:gpu_cache_usage_perc", NULL},
        {"vllm-0.11", "vllm:request_time_per_output_token_seconds", "histogram"},
        {"vllm-0.12", "vllm:time_per_output_token_seconds", NULL},
        {"vllm-0.13", "vllm:request_prefill_kv_computed_tokens", "histogram"},
        {"vllm-0.13", "vllm:engine_sleep_state", "gauge"},
        {"vllm-0.13", "process_start_time_seconds", "gauge"},
        {"sglang-0.5.7", "process_start_time_seconds", NULL},
        {"sglang-0.5.7", "sglang:num_running_reqs", "gauge"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = render_fresh(rows[i].version), *type = rows[i].type;
        char line[200];
        (void)snprintf(line, sizeof(line), "# TYPE %s ", rows[i].name);
        assert_row(rows[i].name, has(text, line) == (type != NULL));
        assert_row(rows[i].name, !type || has_family(text, rows[i].name, type));
    }
}

static void test_series_of_a_fresh_engine(void **state)
{
    const char *text = render_fresh("vllm-0.13");
    (void)state;
    assert_true(sample(text, V1("vllm:num_preemptions_total")) == 0);
    assert_true(sample(text, "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\","
                             "model_name=\"org/model-70b\"}") == 0);
    assert_true(sample(text, V1("vllm:e2e_request_latency_seconds_count")) == 0);
    assert_true(sample(text, V1("vllm:num_preemptions_created")) == 1753795326.5);
    assert_true(sample(text, "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\","
                             "enable_prefix_caching=\"True\",engine=\"0\","
                             "gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"900\"}") == 1);
    assert_true(sample(text, "vllm:engine_sleep_state{engine=\"0\",model_name=\"org/model-70b\","
                             "sleep_state=\"discard_all\"}") == 0);

    text = render_fresh("vllm-0.6"); /* declared, without samples */
    assert_true(has_family(text, "vllm:e2e_request_latency_seconds", "histogram"));
    assert_true(isnan(sample(text, V0("vllm:e2e_request_latency_seconds_count"))));
    assert_true(has_family(text, "vllm:request_success_total", "counter"));
    assert_false(has(text, "vllm:request_success_total{"));
    assert_true(sample(text, V0("vllm:generation_tokens_total")) == 0);
    assert_true(sample(text, V0("vllm:cpu_prefix_cache_hit_rate")) == -1);
    assert_false(has(text, "engine="));

    text = render_fresh("sglang-0.5.7"); /* not even declared */
    assert_false(has(text, "sglang:e2e_request_latency_seconds"));
    assert_false(has(text, "sglang:prompt_tokens_total"));
    assert_false(has(text, "_created"));
    assert_true(sample(text, RANKS("sglang:max_total_num_tokens", "")) == 14400);
    assert_true(has(text, "sglang:num_retracted_reqs{engine_type=\"unified\",model_name="
                          "\"org/model-70b\",moe_ep_rank=\"0\",pid=\"4711\","));
}

static void test_units_and_reasons(void **state)
{
    struct worked *w = work();
    struct batching_counts n = batching_counts(w->run.batching);
    const char *text = render_worked("vllm-0.8", w);
    (void)state;
    /* Blocks to 0.8.5, tokens since. */
    assert_true(sample(text, V1("vllm:gpu_prefix_cache_hits_total")) ==
                (double)(n.n_cache_hits / 16));
    text = render_worked("vllm-0.10", w);
    assert_true(sample(text, V1("vllm:gpu_prefix_cache_hits_total")) == (double)n.n_cache_hits);
    assert_true(sample(text, V1("vllm:prefix_cache_queries_total")) == (double)n.n_cache_queries);
    /* Given up is a success, too. */
    assert_true(sample(text, "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\","
                             "model_name=\"org/model-70b\"}") == 1);
    text = render_worked("vllm-0.6", w);
    assert_true(fabs(sample(text, V0("vllm:gpu_prefix_cache_hit_rate")) -
                     (double)n.n_cache_hits / (double)n.n_cache_queries) < 1e-12);
    assert_true(sample(text, V0("vllm:avg_generation_throughput_toks_per_s")) > 100);
    /* SGLang: tokens of requests that have finished, and those of now. */
    text = render_worked("sglang-0.5.7", w);
    double finished = sample(text, V0("sglang:generation_tokens_total"));
    double live = sample(text, RANKS("sglang:realtime_tokens_total", ",mode=\"decode\""));
    assert_true(finished > 0 && live > finished && live == (double)n.n_generated);
    assert_true(sample(text, V0("sglang:num_aborted_requests_total")) == 1);
    workload_run_done(&w->run);
}

static void test_buckets(void **state)
{
    static struct sim_stats s;
    struct batching_counts n = {.n_blocks = 900, .n_blocks_free = 900};
    struct batching_request r = {.n_prompt = 700, .n_output = 2, .n_done = 1};
    (void)state;
    sim_stats_init(&s);
    r.t_arrived = r.t_scheduled = (mono_t){NS_PER_S};
    r.t_first = r.t_last = mono_add(r.t_arrived, 100 * NS_PER_MS); /* on a bound: within it */
    sim_stats_token(&s, &r, SIM_STOP);
    r.n_done = 2;
    r.t_before = r.t_last;
    r.t_last = mono_add(r.t_last, 26 * NS_PER_MS);
    r.state = BATCHING_FINISHED;
    sim_stats_token(&s, &r, SIM_LENGTH);
    const char *text = render("vllm-0.13", &n, &s);
#define BUCKET(name, le) name "_bucket{engine=\"0\",le=\"" le "\",model_name=\"org/model-70b\"}"
    assert_true(sample(text, BUCKET("vllm:time_to_first_token_seconds", "0.08")) == 0);
    assert_true(sample(text, BUCKET("vllm:time_to_first_token_seconds", "0.1")) == 1);
    assert_true(sample(text, BUCKET("vllm:time_to_first_token_seconds", "2560.0")) == 1);
    assert_true(sample(text, BUCKET("vllm:inter_token_latency_seconds", "0.025")) == 0);
    assert_true(sample(text, BUCKET("vllm:inter_token_latency_seconds", "0.05")) == 1);
    assert_true(sample(text, BUCKET("vllm:request_prompt_tokens", "500.0")) == 0);
    assert_true(sample(text, BUCKET("vllm:request_prompt_tokens", "1000.0")) == 1);
    /* As long as the model allows, no longer. */
    assert_true(sample(text, BUCKET("vllm:request_prompt_tokens", "5000.0")) == 1);
    assert_true(isnan(sample(text, BUCKET("vllm:request_prompt_tokens", "10000.0"))));
    assert_true(sample(text, BUCKET("vllm:request_prompt_tokens", "+Inf")) == 1);
    text = render("sglang-0.5.7", &n, &s);
    assert_true(sample(text, "sglang:inter_token_latency_seconds_bucket{le=\"0.025\","
                             "model_name=\"org/model-70b\"}") == 0);
    assert_true(sample(text, "sglang:inter_token_latency_seconds_bucket{le=\"0.03\","
                             "model_name=\"org/model-70b\"}") == 1);
}

static void test_model_name_is_escaped(void **state)
{
    static struct sim_stats s;
    struct batching_counts n = {0};
    struct sim_page p = about("vllm-0.6");
    struct buf out;
    (void)state;
    sim_stats_init(&s);
    p.model = "a\"b\\c\nd";
    buf_init(&out, PAGE_MAX);
    assert_int_equal(sim_page_render(&p, &n, &s, &out), 0);
    assert_int_equal(buf_append(&out, SPAN("\0")), 0);
    assert_true(has(buf_span(&out).p, "running{model_name=\"a\\\"b\\\\c\\nd\"} 0.0\n"));
    buf_done(&out);
}

static void test_no_room(void **state)
{
    static struct sim_stats s;
    struct batching_counts n = {0};
    struct sim_page p = about("vllm-0.13");
    (void)state;
    sim_stats_init(&s);
    for (size_t room = 1; room < 3000; room += 7) {
        struct buf out;
        buf_init(&out, room);
        assert_int_equal(sim_page_render(&p, &n, &s, &out), -EMSGSIZE);
        buf_done(&out);
    }
}

static int attempt(void *ctx)
{
    static struct sim_stats s;
    struct batching_counts n = {0};
    struct sim_page p = about("vllm-0.10");
    struct buf out;
    int r;
    (void)ctx;
    sim_stats_init(&s);
    buf_init(&out, PAGE_MAX);
    r = sim_page_render(&p, &n, &s, &out);
    buf_done(&out);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 3);
}

/* --- beside the reference --- */

struct known {
    int since, until; /* 0.10.2: 1002 */
    char engine[16], name[96], type[16], labels[128];
    double le[64];
    size_t n_le;
};

static int version_number(const char *s)
{
    int a = 0, b = 0, c = 0;
    (void)sscanf(s, "%d.%d.%d", &a, &b, &c);
    return a * 10000 + b * 100 + c;
}

static bool read_known(char *line, struct known *k)
{
    char *fields[8] = {0}, *at = line;
    for (int i = 0; i < 8; i++)
        fields[i] = strsep(&at, "\t");
    *k = (struct known){.until = 999999};
    if (!fields[7] || (strncmp(fields[0], "vllm-v", 6) != 0 && strcmp(fields[0], "sglang") != 0))
        return false;
    if (strncmp(fields[7], "HIDDEN", 6) == 0)
        return false;
    (void)snprintf(k->engine, sizeof(k->engine), "%s", fields[0]);
    (void)snprintf(k->name, sizeof(k->name), "%s", fields[2]);
    (void)snprintf(k->type, sizeof(k->type), "%s", fields[3]);
    (void)snprintf(k->labels, sizeof(k->labels), "%s", fields[5]);
    k->since = version_number(strncmp(fields[1], ">=", 2) == 0 ? fields[1] + 2 : fields[1]);
    if (strstr(fields[1], ".."))
        k->until = version_number(strstr(fields[1], "..") + 2);
    char *le = strstr(fields[7], "le=");
    for (le = le ? le + 3 : NULL; le && k->n_le < 64;) {
        char *end;
        double v = strtod(le, &end);
        if (end == le)
            break;
        k->le[k->n_le++] = v;
        le = *end == ',' ? end + 1 : NULL;
    }
    return true;
}

static bool agrees(const struct sim_name *n, const struct known *k, int number)
{
    static const char *const types[] = {"gauge", "counter", "histogram"};
    const char *engine = n->kind == SIM_SGLANG ? "sglang" : number < 800 ? "vllm-v0" : "vllm-v1";
    if (strcmp(k->engine, engine) != 0 || strcmp(k->name, n->name) != 0 || number < k->since ||
        number > k->until || strcmp(k->type, types[n->type]) != 0)
        return false;
    if (n->label && !strstr(k->labels, n->label))
        return false;
    if (n->scope != SIM_SCOPE_CONFIG &&
        (strstr(k->labels, "tp_rank") != NULL) != (n->scope >= SIM_SCOPE_RANKS))
        return false;
    if (k->n_le == 0 || n->bounds->is_cut)
        return true;
    return k->n_le == n->bounds->n && memcmp(k->le, n->bounds->v, k->n_le * sizeof(double)) == 0;
}

/* Each name of ours, in each version that has it, is one of the reference's with the same type and
 * bounds. */
static void test_names_beside_the_reference(void **state)
{
    static const int numbers[] = {604, 605, 606,  700,  703,  800,  803,  804,  805, 900,
                                  901, 902, 1000, 1001, 1002, 1100, 1101, 1200, 1300};
    static struct known known[1000];
    size_t n_known = 0;
    char line[4096];
    FILE *f = fopen(NAMES, "r");
    (void)state;
    if (!f) {
        print_message("no %s beside the project\n", NAMES);
        skip();
    }
    while (fgets(line, sizeof(line), f) && n_known < ARRAY_LEN(known))
        n_known += read_known(line, &known[n_known]);
    (void)fclose(f);
    assert_true(n_known > 300);
    for (size_t i = 0; i < sim_names_n; i++) {
        const struct sim_name *n = &sim_names[i];
        for (size_t v = 0; v < ARRAY_LEN(numbers); v++) {
            int number = n->kind == SIM_SGLANG ? 507 : numbers[v];
            char row[160];
            bool is_known = false;
            if (!sim_name_is_in(n, (struct sim_version){n->kind, number}))
                continue;
            for (size_t k = 0; k < n_known && !is_known; k++)
                is_known = agrees(n, &known[k], number);
            (void)snprintf(row, sizeof(row), "%s in %d", n->name, number);
            assert_row(row, is_known);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_same_values_under_all_names),
        cmocka_unit_test(test_presence),
        cmocka_unit_test(test_series_of_a_fresh_engine),
        cmocka_unit_test(test_units_and_reasons),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_model_name_is_escaped),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_names_beside_the_reference),
    };
    return cmocka_run_group_tests_name("sim/sim_page", tests, NULL, NULL);
}
