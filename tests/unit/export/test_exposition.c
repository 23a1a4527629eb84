/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "export/export.h"
#include "sample.h"

#define LABELS "model=\"a\\\"b\\\\c\\nd\",endpoint=\"chat\",upstream=\"u\""

static const char ttft_text[] =
    "# HELP llm_ttft_seconds Time to first token: from the last byte of the request to the first "
    "output event of the stream.\n"
    "# TYPE llm_ttft_seconds histogram\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"0.05\"} 1\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"1\"} 2\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"3\"} 3\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"+Inf\"} 3\n"
    "llm_ttft_seconds_sum{" LABELS "} 3.51\n"
    "llm_ttft_seconds_count{" LABELS "} 3\n";

static const char ttft_openmetrics[] =
    "# HELP llm_ttft_seconds Time to first token: from the last byte of the request to the first "
    "output event of the stream.\n"
    "# TYPE llm_ttft_seconds histogram\n"
    "# UNIT llm_ttft_seconds seconds\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"0.05\"} 1 # {request_id=\"req-1\"} 0.01 "
    "1700000000.250000\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"1.0\"} 2\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"3.0\"} 3 # {request_id=\"req-\\\"3\\\"\"} 2.5 "
    "1700000000.250000\n"
    "llm_ttft_seconds_bucket{" LABELS ",le=\"+Inf\"} 3\n"
    "llm_ttft_seconds_sum{" LABELS "} 3.51\n"
    "llm_ttft_seconds_count{" LABELS "} 3\n"
    "llm_ttft_seconds_created{" LABELS "} 1700000000.250000\n";

static const char tokens_text[] =
    "# HELP llm_tokens_total Tokens as engines reported them; cached and cache_write are parts of "
    "prompt, reasoning of completion.\n"
    "# TYPE llm_tokens_total counter\n"
    "llm_tokens_total{" LABELS ",stream=\"true\",type=\"prompt\"} 1000\n"
    "llm_tokens_total{" LABELS ",stream=\"true\",type=\"completion\"} 64\n";

static const char tokens_openmetrics[] =
    "# HELP llm_tokens Tokens as engines reported them; cached and cache_write are parts of "
    "prompt, reasoning of completion.\n"
    "# TYPE llm_tokens counter\n"
    "# UNIT llm_tokens tokens\n"
    "llm_tokens_total{" LABELS ",stream=\"true\",type=\"prompt\"} 1000\n"
    "llm_tokens_created{" LABELS ",stream=\"true\",type=\"prompt\"} 1700000000.250000\n"
    "llm_tokens_total{" LABELS ",stream=\"true\",type=\"completion\"} 64\n"
    "llm_tokens_created{" LABELS ",stream=\"true\",type=\"completion\"} 1700000000.250000\n";

static const char build_text[] =
    "# HELP inferometer_build_info Always 1; the version of the program is its label.\n"
    "# TYPE inferometer_build_info gauge\n"
    "inferometer_build_info{version=\"" PROJECT_VERSION "\"} 1\n";

static struct buf page_of(int (*write)(const struct metrics *m, struct buf *out))
{
    struct buf out;
    sample_clock();
    struct metrics *m = sample_metrics();
    buf_init(&out, 1 << 20);
    assert_int_equal(write(m, &out), 0);
    metrics_free(m);
    fakeclock_remove();
    return out;
}

static void test_text(void **state)
{
    (void)state;
    struct buf out = page_of(exposition_write);
    struct span page = buf_span(&out);
    assert_span_equal("ttft", sample_family(page, "llm_ttft_seconds"), span_cstr(ttft_text));
    assert_span_equal("tokens", sample_family(page, "llm_tokens_total"), span_cstr(tokens_text));
    assert_span_equal("build", sample_family(page, "inferometer_build_info"),
                      span_cstr(build_text));
    assert_true(span_find(page, SPAN("inferometer_drops_total{cause=\"log_queue\"} ")) < page.n);
    assert_true(span_find(page, SPAN("\ninferometer_exchanges_open ")) < page.n);
    buf_done(&out);
}

static void test_openmetrics(void **state)
{
    (void)state;
    struct buf out = page_of(exposition_write_openmetrics);
    struct span page = buf_span(&out);
    assert_span_equal("ttft", sample_family(page, "llm_ttft_seconds"), span_cstr(ttft_openmetrics));
    assert_span_equal("tokens", sample_family(page, "llm_tokens"), span_cstr(tokens_openmetrics));
    assert_true(span_eq(span_from(page, page.n - 7), SPAN("\n# EOF\n")));
    buf_done(&out);
}

/* --- syntax of a whole page --- */

struct checker {
    bool is_openmetrics;
    char family[128], type[16];
    char seen[256][128];
    size_t n_seen;
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* `{a="b",...}`: moves *s behind it. */
static void check_labels(struct span *s)
{
    (void)span_take(s, 1);
    while (s->n > 0 && s->p[0] != '}') {
        while (s->n > 0 && is_name_char(s->p[0]))
            (void)span_take(s, 1);
        assert_true(span_starts_with(*s, SPAN("=\"")));
        (void)span_take(s, 2);
        while (s->n > 0 && s->p[0] != '"') {
            if (s->p[0] == '\\') {
                assert_true(s->p[1] == '\\' || s->p[1] == '"' || s->p[1] == 'n');
                (void)span_take(s, 1);
            }
            (void)span_take(s, 1);
        }
        assert_true(s->n > 1);
        (void)span_take(s, s->p[1] == ',' ? 2 : 1);
    }
    assert_true(s->n > 0);
    (void)span_take(s, 1);
}

static void check_number(struct span text)
{
    char copy[64], *end;
    assert_true(text.n > 0 && text.n < sizeof(copy));
    span_copy(text, copy, sizeof(copy));
    strtod(copy, &end);
    assert_int_equal(*end, '\0');
}

static void check_suffix(const struct checker *c, struct span suffix)
{
    static const char *const histogram[] = {"_bucket", "_sum", "_count"};
    bool is_ok = suffix.n == 0 && strcmp(c->type, "histogram") != 0;
    if (strcmp(c->type, "histogram") == 0) {
        for (size_t i = 0; i < ARRAY_LEN(histogram); i++)
            is_ok |= span_eq(suffix, span_cstr(histogram[i]));
    }
    if (c->is_openmetrics && strcmp(c->type, "counter") == 0)
        is_ok = span_eq(suffix, SPAN("_total"));
    if (c->is_openmetrics && strcmp(c->type, "gauge") != 0)
        is_ok |= span_eq(suffix, SPAN("_created"));
    assert_true(is_ok);
}

static void check_sample(const struct checker *c, struct span line)
{
    struct span name = line;
    name.n = 0;
    while (name.n < line.n && is_name_char(line.p[name.n]))
        name.n++;
    assert_true(span_starts_with(name, span_cstr(c->family)));
    check_suffix(c, span_from(name, strlen(c->family)));
    struct span rest = span_from(line, name.n);
    if (rest.p[0] == '{')
        check_labels(&rest);
    assert_true(rest.n > 1 && rest.p[0] == ' ');
    (void)span_take(&rest, 1);
    check_number(span_split(&rest, ' '));
    if (rest.n == 0)
        return;
    assert_true(c->is_openmetrics && span_starts_with(rest, SPAN("# {")));
    (void)span_take(&rest, 2);
    check_labels(&rest);
    (void)span_take(&rest, 1);
    check_number(span_split(&rest, ' '));
    check_number(rest);
}

static void check_comment(struct checker *c, struct span line)
{
    (void)span_take(&line, 2);
    struct span kind = span_split(&line, ' ');
    struct span name = span_split(&line, ' ');
    if (span_eq(kind, SPAN("HELP"))) {
        span_copy(name, c->family, sizeof(c->family));
        for (size_t i = 0; i < c->n_seen; i++)
            assert_row(c->family, strcmp(c->seen[i], c->family) != 0); /* one block per family */
        assert_true(c->n_seen < ARRAY_LEN(c->seen));
        span_copy(name, c->seen[c->n_seen++], sizeof(c->seen[0]));
    } else if (span_eq(kind, SPAN("TYPE"))) {
        assert_true(span_eq(name, span_cstr(c->family)));
        span_copy(line, c->type, sizeof(c->type));
    } else {
        assert_true(c->is_openmetrics);
        assert_true(span_eq(kind, SPAN("UNIT")) || span_eq(kind, SPAN("EOF")));
    }
}

static void check_page(struct span page, bool is_openmetrics)
{
    static struct checker c;
    memset(&c, 0, sizeof(c));
    c.is_openmetrics = is_openmetrics;
    assert_true(page.n > 0 && page.p[page.n - 1] == '\n');
    while (page.n > 0) {
        struct span line = span_split(&page, '\n');
        assert_true(line.n > 0);
        if (line.p[0] == '#')
            check_comment(&c, line);
        else
            check_sample(&c, line);
    }
    assert_true(c.n_seen > 30);
}

static void test_syntax(void **state)
{
    (void)state;
    struct buf out = page_of(exposition_write);
    check_page(buf_span(&out), false);
    buf_done(&out);
    out = page_of(exposition_write_openmetrics);
    check_page(buf_span(&out), true);
    buf_done(&out);
}

/* Prometheus' own linter, where it is installed: 0, or 3 for remarks on style. */
static void test_promtool(void **state)
{
    (void)state;
    struct buf out = page_of(exposition_write);
    char path[] = "/tmp/inferometer-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, buf_span(&out).p, buf_len(&out)), (ssize_t)buf_len(&out));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(fd, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
        _exit(errno == ENOENT ? HARNESS_SKIPPED : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fd);
    unlink(path);
    buf_done(&out);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == HARNESS_SKIPPED)
        skip();
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
}

static void test_errors(void **state)
{
    (void)state;
    sample_clock();
    struct metrics *m = sample_metrics();
    struct buf out;
    for (size_t max = 0; max < 20000; max += 333) {
        buf_init(&out, max + 1);
        int r = exposition_write_openmetrics(m, &out);
        assert_true(r == 0 || r == -EMSGSIZE);
        buf_done(&out);
    }
    buf_init(&out, 1 << 20);
    mem_fail_from(1);
    assert_int_equal(exposition_write(m, &out), -ENOMEM);
    mem_fail_off();
    buf_done(&out);
    metrics_free(m);
    fakeclock_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),   cmocka_unit_test(test_openmetrics),
        cmocka_unit_test(test_syntax), cmocka_unit_test(test_promtool),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
