/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules against Prometheus: made-up rules over made-up series. What ours records, ALERTS among it,
 * and which alerts fire with which annotations at each moment becomes a rule unit test, and
 * promtool says whether Prometheus gives the same.
 *
 * Samples keep off the edges of ranges and of the lookback, which 2.x counts and 3.x does not.
 *
 *   RULES_CASES=2000 RULES_SEED=7 unit_rules_test_promtool
 */
#include "rig.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/rng.h"
#include "tempdir.h"

enum { N_CASES = 50, N_STEPS = 30, N_ALERTS_MAX = 4, FILES_MAX = 64 };

struct world {
    struct rng rng;
    struct rig g;
    struct buf rules, test, alerts;
    int n_records, n_alerts;
    int64_t interval_ms, now_ms;
};

static void put(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void put(struct buf *out, const char *fmt, ...)
{
    char text[2000];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof(text));
    assert_int_equal(buf_append(out, span_of(text, (size_t)n)), 0);
}

static int below(struct world *w, int n)
{
    return (int)rng_below(&w->rng, (uint64_t)n);
}

/* --- series --- */

/* Values stay a while; gaps are shorter than the lookback, or are marked. */
static void make_series(struct world *w, const char *name)
{
    int value = below(w, 4), n_gap = 0;
    bool is_gone = below(w, 4) == 0;
    put(&w->test, "  - series: '%s'\n    values: '", name);
    for (int i = 0; i <= N_STEPS; i++) {
        int64_t t_ms = i * w->interval_ms;
        bool was_gone = is_gone;
        if (below(w, is_gone ? 3 : 8) == 0)
            is_gone = !is_gone;
        if (below(w, 3) == 0)
            value = below(w, 4);
        if (is_gone && !was_gone && i > 0) {
            put(&w->test, "stale ");
            rig_put(&w->g, name, t_ms, series_stale());
        } else if (is_gone || (n_gap < 2 && below(w, 10) == 0)) {
            put(&w->test, "_ ");
            n_gap++;
            continue;
        } else {
            put(&w->test, "%d ", value);
            rig_put(&w->g, name, t_ms, value);
        }
        n_gap = 0;
    }
    put(&w->test, "'\n");
}

/* --- rules --- */

static void put_operand(struct world *w)
{
    static const char *const operands[] = {"a",
                                           "a",
                                           "b",
                                           "sum(a)",
                                           "max(a)",
                                           "a{i=\"1\"}",
                                           "sum_over_time(a[100s])",
                                           "count(a) by (j)",
                                           "a + on () group_left () b"};
    int i = below(w, (int)ARRAY_LEN(operands) + w->n_records);
    if (i < (int)ARRAY_LEN(operands))
        put(&w->rules, "%s", operands[i]);
    else
        put(&w->rules, "r%d", i - (int)ARRAY_LEN(operands));
}

static void put_condition(struct world *w)
{
    static const char *const comparisons[] = {">", ">=", "==", "<"};
    int kind = below(w, 12);
    if (kind == 0) {
        put(&w->rules, "absent(a{i=\"%d\"})", below(w, 3));
    } else if (kind == 1 && w->n_alerts > 0) {
        put(&w->rules, "ALERTS{alertname=\"A%d\",alertstate=\"firing\"}", below(w, w->n_alerts));
    } else if (kind == 2 && w->n_alerts > 0) {
        put(&w->rules, "count(ALERTS_FOR_STATE{alertname=\"A%d\"}) > 1", below(w, w->n_alerts));
    } else {
        put_operand(w);
        put(&w->rules, " %s %d", comparisons[below(w, 4)], below(w, 4));
    }
}

static void make_record(struct world *w)
{
    put(&w->rules, "  - record: r%d\n    expr: '", w->n_records);
    if (below(w, 2))
        put_condition(w);
    else
        put_operand(w);
    put(&w->rules, "'\n");
    if (below(w, 3) == 0)
        put(&w->rules, "    labels: {j: '', k: x}\n");
    w->n_records++;
}

static void make_alert(struct world *w)
{
    static const char *const fors[] = {"0s", "0s", "30s", "1m", "2m", "3m", "5m", "90s"};
    static const char *const labels[] = {
        "",
        "    labels: {tier: P1}\n",
        "    labels: {tier: '{{ if eq $labels.i \"1\" }}P1{{ else }}P2{{ end }}'}\n",
        "    labels: {value: '{{ $value }}', j: same}\n",
        "    labels: {empty: '{{ $labels.nothing }}', j: ''}\n",
    };
    put(&w->rules, "  - alert: A%d\n    expr: '", w->n_alerts);
    put_condition(w);
    put(&w->rules, "'\n    for: %s\n    keep_firing_for: %s\n%s", fors[below(w, 8)],
        fors[below(w, 8)], labels[below(w, 5)]);
    if (below(w, 2))
        put(&w->rules, "    annotations: {summary: '{{ $labels.i }} is {{ $value | humanize }}', "
                       "n: '{{ with query \"count(a)\" }}{{ . | first | value }}{{ end }}'}\n");
    w->n_alerts++;
}

static void make_rules(struct world *w)
{
    int n = 1 + below(w, N_ALERTS_MAX);
    put(&w->rules, "groups:\n- name: g\n%s  rules:\n", below(w, 4) ? "" : "  interval: 45s\n");
    while (w->n_alerts < n)
        if (below(w, 2))
            make_alert(w);
        else
            make_record(w);
}

/* --- what ours says --- */

struct firing {
    struct world *w;
    struct span name;
    bool is_first;
};

static int put_firing(void *ctx, const struct rules_alert *a)
{
    struct firing *f = ctx;
    struct buf *out = &f->w->alerts;
    if (!a->is_firing || !span_eq(a->rule->name, f->name))
        return 0;
    if (f->is_first)
        put(out, "    exp_alerts:\n");
    f->is_first = false;
    put(out, "    - exp_annotations: {");
    for (size_t i = 0; i < a->annotations.n; i++)
        put(out, "%.*s: '%.*s', ", SPAN_ARG(a->annotations.at[i].name),
            SPAN_ARG(a->annotations.at[i].value));
    put(out, "}\n      exp_labels: {");
    for (size_t i = 0; i < a->labels.n; i++)
        if (!span_eq(a->labels.at[i].name, SPAN("alertname")))
            put(out, "%.*s: '%.*s', ", SPAN_ARG(a->labels.at[i].name),
                SPAN_ARG(a->labels.at[i].value));
    put(out, "}\n");
    return 0;
}

static void put_alert_tests(struct world *w)
{
    for (int i = 0; i < w->n_alerts; i++) {
        char name[16];
        int n = snprintf(name, sizeof(name), "A%d", i);
        struct firing f = {w, span_of(name, (size_t)n), true};
        put(&w->alerts, "  - eval_time: %ds\n    alertname: A%d\n", (int)(w->now_ms / S), i);
        assert_int_equal(rules_each_alert(w->g.rules, put_firing, &f), 0);
    }
}

static int no_error(void *ctx, const struct rule_group *g, const struct rule *rule,
                    struct span error)
{
    struct world *w = ctx;
    (void)g;
    if (error.n > 0 && !span_eq(error, SPAN("out of order sample")))
        w->n_alerts = -1; /* what fails ends promtool's test: not a case */
    (void)rule;
    return 0;
}

/* One line of a query at one time. */
static void put_query_test(struct world *w, const char *expr, int64_t t_ms)
{
    struct buf out;
    buf_init(&out, 1024 * 1024);
    rig_query(&w->g, expr, t_ms, &out);
    put(&w->test, "  - expr: '%s'\n    eval_time: %ds\n", expr, (int)(t_ms / S));
    if (buf_len(&out) > 0)
        put(&w->test, "    exp_samples:\n");
    for (struct span rest = buf_span(&out); rest.n > 0;) {
        struct span line = span_split(&rest, '\n');
        size_t at = line.n;
        while (line.p[at - 1] != ' ')
            at--;
        put(&w->test, "    - labels: '%.*s'\n      value: %.*s\n", (int)at - 1, line.p,
            (int)(line.n - at), line.p + at);
    }
    buf_done(&out);
}

/* --- a case --- */

static bool make_case(struct world *w, const char *rules_name)
{
    static const char *const series[] = {"a{i=\"1\",j=\"x\"}", "a{i=\"2\",j=\"y\"}", "a{i=\"3\"}",
                                         "b"};
    const struct rules_config config = {.interval_ms = w->interval_ms};
    rig_init(&w->g, &config);
    make_rules(w);
    put(&w->test,
        "rule_files: ['%s']\nevaluation_interval: %ds\ntests:\n- interval: %ds\n  input_series:\n",
        rules_name, (int)(w->interval_ms / S), (int)(w->interval_ms / S));
    for (size_t i = 0; i < ARRAY_LEN(series); i++)
        make_series(w, series[i]);
    assert_int_equal(buf_append(&w->rules, span_of("", 1)), 0);
    rig_load(&w->g, buf_span(&w->rules).p, 0);
    buf_truncate(&w->rules, buf_len(&w->rules) - 1);
    put(&w->alerts, "  alert_rule_test:\n");
    for (int i = 0; i <= N_STEPS && w->n_alerts > 0; i++) {
        w->now_ms = i * w->interval_ms;
        rules_evaluate(w->g.rules, w->now_ms);
        put_alert_tests(w);
        assert_int_equal(rules_each_rule(w->g.rules, no_error, w), 0);
    }
    put(&w->test, "  promql_expr_test:\n");
    for (int i = 0; i <= N_STEPS && w->n_alerts > 0; i++) {
        put_query_test(w, "ALERTS", i * w->interval_ms);
        put_query_test(w, "ALERTS_FOR_STATE", i * w->interval_ms);
        put_query_test(w, "{__name__=~\"r.*\"}", i * w->interval_ms);
    }
    rig_done(&w->g);
    return w->n_alerts > 0;
}

static void save(const char *path, struct span text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.p, text.n), text.n);
    assert_int_equal(close(fd), 0);
}

/* Runs promtool, its output into a file. Returns its exit status. */
static int run_promtool(char **argv, const char *output)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            _exit(126);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void show(const char *path)
{
    char text[6000];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
    (void)fprintf(stderr, "%.*s\n", n > 0 ? (int)n : 0, text);
    if (fd >= 0)
        (void)close(fd);
}

static int number_of(const char *name, int otherwise)
{
    uint64_t v;
    const char *text = getenv(name);
    return text && num_parse_u64(span_cstr(text), &v) == 0 ? (int)v : otherwise;
}

static char names[FILES_MAX][300];
static int n_failing;

static void check(char **argv, const char *dir)
{
    char output[300];
    (void)snprintf(output, sizeof(output), "%s/output", dir);
    int status = run_promtool(argv, output);
    if (status == 127)
        exit(HARNESS_SKIPPED);
    if (status == 0)
        return;
    show(output);
    n_failing++;
}

static void test_cases(void **state)
{
    struct tempdir dir;
    static char words[][16] = {"promtool", "test", "rules"};
    char *argv[FILES_MAX + 4] = {words[0], words[1], words[2]};
    int n_cases = number_of("RULES_CASES", N_CASES), n_files = 0;
    struct rng rng;
    (void)state;
    tempdir_make(&dir);
    rng_seed(&rng, (uint64_t)number_of("RULES_SEED", 1));
    for (int i = 0; i < n_cases;) {
        struct world w = {.interval_ms = rng_below(&rng, 2) ? MINUTE : 30 * S};
        char rules_name[32], path[300];
        rng_seed(&w.rng, rng_u64(&rng));
        buf_init(&w.rules, 1024 * 1024);
        buf_init(&w.test, 16 * 1024 * 1024);
        buf_init(&w.alerts, 16 * 1024 * 1024);
        (void)snprintf(rules_name, sizeof(rules_name), "rules%d.yml", n_files);
        if (make_case(&w, rules_name)) {
            (void)snprintf(path, sizeof(path), "%s/%s", dir.path, rules_name);
            save(path, buf_span(&w.rules));
            (void)snprintf(names[n_files], sizeof(names[0]), "%s/test%d.yml", dir.path, n_files);
            assert_int_equal(buf_append(&w.test, buf_span(&w.alerts)), 0);
            save(names[n_files], buf_span(&w.test));
            argv[3 + n_files] = names[n_files];
            n_files++;
            i++;
        }
        if (n_files == FILES_MAX || i == n_cases) {
            argv[3 + n_files] = NULL;
            check(argv, dir.path);
            n_files = 0;
        }
        buf_done(&w.rules);
        buf_done(&w.test);
        buf_done(&w.alerts);
    }
    if (!getenv("RULES_KEEP"))
        tempdir_remove(&dir);
    assert_int_equal(n_failing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
