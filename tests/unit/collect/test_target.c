/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/target.h"

#include <errno.h>

#include "base/attr.h"
#include "memfail.h"
#include "pagetest.h"
#include "tempdir.h"

/* "a=1 b=2" */
static struct labels labels_of(const char *text, struct label *pairs)
{
    struct span left = span_cstr(text);
    struct labels l;
    size_t n = 0;
    while (left.n > 0) {
        struct span value = span_split(&left, ' ');
        pairs[n].name = span_split(&value, '=');
        pairs[n++].value = value;
    }
    assert_int_equal(labels_normalise(pairs, n, &l, NULL), 0);
    return l;
}

static int target_of(const struct scrape_file *f, const char *address, const char *group,
                     const char *meta, struct target **ret, struct err *err)
{
    struct label a[8], b[8];
    return target_new(&f->jobs[0], span_cstr(address), labels_of(group, a), labels_of(meta, b), ret,
                      err);
}

static void test_labels_and_urls(void **state)
{
    static const struct {
        const char *keys, *address, *group, *url, *labels; /* url NULL: dropped */
    } rows[] = {
        {"", "h:9090", "", "http://h:9090/metrics", "instance=h:9090 job=j"},
        {"", "h", "zone=eu", "http://h:80/metrics", "instance=h:80 job=j zone=eu"},
        {"  scheme: https\n", "h", "", "https://h:443/metrics", "instance=h:443 job=j"},
        {"", "[::1]", "", "http://[::1]:80/metrics", "instance=[::1]:80 job=j"},
        {"", "[::1]:9", "instance=me", "http://[::1]:9/metrics", "instance=me job=j"},
        {"  metrics_path: a b?c%/d:e\n", "h:1", "", "http://h:1/a%20b%3Fc%25/d:e",
         "instance=h:1 job=j"},
        {"  params: {z: ['1 2', '&'], a: [x], none: []}\n", "h:1", "",
         "http://h:1/metrics?a=x&z=1+2&z=%26", "instance=h:1 job=j"},
        {"  params: {z: ['1', '2']}\n", "h:1", "__param_z=9 __param_b=3",
         "http://h:1/metrics?b=3&z=1&z=2", "instance=h:1 job=j"},
        {"  params: {z: ['1', '2']}\n"
         "  relabel_configs: [{target_label: __param_z, replacement: q}]\n",
         "h:1", "", "http://h:1/metrics?z=q&z=2", "instance=h:1 job=j"},
        {"", "h:1", "job=mine __scheme__=https __metrics_path__=/x __address__=other",
         "https://h:1/x", "instance=h:1 job=mine"},
        {"  relabel_configs:\n"
         "  - {source_labels: [__meta_x], target_label: x}\n"
         "  - {source_labels: [__address__], target_label: __param_target}\n"
         "  - {target_label: __address__, replacement: 'probe:9115'}\n"
         "  - {target_label: __tmp, replacement: 1}\n",
         "h:1", "", "http://probe:9115/metrics?target=h%3A1", "instance=probe:9115 job=j x=m"},
        {"  relabel_configs: [{action: drop, source_labels: [zone], regex: eu}]\n", "h:1",
         "zone=eu", NULL, NULL},
        {"  relabel_configs: [{target_label: __scrape_interval__, replacement: 1m}]\n", "h:1", "",
         "http://h:1/metrics", "instance=h:1 job=j"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scrape_file *f = pagetest_file(rows[i].keys);
        struct target *t = NULL;
        struct label pairs[8];
        struct err err = {.text = ""};
        int r = target_of(f, rows[i].address, rows[i].group, "__meta_x=m", &t, &err);
        if (r != (rows[i].url ? 0 : 1))
            fail_msg("%zu: %d %s", i, r, err.text);
        if (t) {
            assert_span_equal(rows[i].url, target_url(t), span_cstr(rows[i].url));
            assert_row(rows[i].url, labels_eq(target_labels(t), labels_of(rows[i].labels, pairs)));
            assert_true(target_offset_ms(t) >= 0 && target_offset_ms(t) < target_interval_ms(t));
        }
        target_free(t);
        scrape_file_unref(f);
    }
}

static void test_bad_targets(void **state)
{
    static const struct {
        const char *keys, *address, *group, *what;
    } rows[] = {
        {"  relabel_configs: [{target_label: __address__, replacement: ''}]\n", "h:1", "",
         "no address"},
        {"", "h:1", "__scheme__=ftp", "\"ftp\" is no scheme"},
        {"", "::1", "", "\"::1\" is no address"},
        {"", "a b:1", "", "no address"},
        {"", "u@h:1", "", "no address"},
        {"", "h:1", "__scrape_interval__=x", "no duration"},
        {"", "h:1", "__scrape_timeout__=0s", "no duration"},
        {"", "h:1", "__scrape_timeout__=11s", "longer than the interval"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scrape_file *f = pagetest_file(rows[i].keys);
        struct target *t = NULL;
        struct err err = {.text = ""};
        assert_row(rows[i].what,
                   target_of(f, rows[i].address, rows[i].group, "", &t, &err) == -EINVAL);
        if (!strstr(err.text, rows[i].what))
            fail_msg("%s: %s", rows[i].what, err.text);
        assert_null(t);
        scrape_file_unref(f);
    }
}

static void test_long_url(void **state)
{
    static char path[64 * 1024 + 1];
    const struct label group = {SPAN_INIT("__metrics_path__"), {path, sizeof(path) - 1}};
    struct scrape_file *f = pagetest_file("");
    struct target *t = NULL;
    struct err err = {.text = ""};
    (void)state;
    memset(path, 'x', sizeof(path) - 1);
    assert_int_equal(target_new(&f->jobs[0], SPAN("h:1"), (struct labels){&group, 1},
                                (struct labels){NULL, 0}, &t, &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "longer than 64 KiB"));
    scrape_file_unref(f);
}

static struct span header(const struct web_request *q, const char *name)
{
    for (size_t i = 0; i < q->n_headers; i++)
        if (span_eq(q->headers[i].name, span_cstr(name)))
            return q->headers[i].value;
    return SPAN("");
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_requests(void **state)
{
    struct web_request q;
    struct tempdir dir;
    struct target *t;
    struct err err;
    char keys[300];
    (void)state;
    struct scrape_file *f =
        pagetest_file("  basic_auth: {username: u, password: p}\n  body_size_limit: 1KB\n"
                      "  follow_redirects: false\n  scrape_timeout: 2500ms\n"
                      "  tls_config: {ca_file: /ca}\n");
    assert_int_equal(target_of(f, "h:1", "", "", &t, &err), 0);
    assert_int_equal(target_request(t, &q, &err), 0);
    assert_span_equal("url", q.url, SPAN("http://h:1/metrics"));
    assert_span_equal("user", q.user, SPAN("u"));
    assert_span_equal("password", q.password, SPAN("p"));
    assert_span_equal("ca", q.link.ca_file, SPAN("/ca"));
    assert_int_equal(q.answer_max, 1024);
    assert_int_equal(q.timeout_ms, 2500);
    assert_true(q.coding == WEB_CODING_ANY && !q.follows_redirects && !q.is_post);
    assert_span_equal("timeout", header(&q, "X-Prometheus-Scrape-Timeout-Seconds"), SPAN("2.5"));
    assert_true(span_starts_with(header(&q, "Accept"), SPAN("application/openmetrics-text")));
    assert_int_equal(header(&q, "Authorization").n, 0);
    target_free(t);
    scrape_file_unref(f);

    tempdir_make(&dir);
    write_text(tempdir_file(&dir, "token"), "  secret\n");
    (void)snprintf(keys, sizeof(keys), "  authorization: {credentials_file: %s}\n",
                   tempdir_file(&dir, "token"));
    f = pagetest_file(keys);
    assert_int_equal(target_of(f, "h:1", "", "", &t, &err), 0);
    assert_int_equal(target_request(t, &q, &err), 0);
    assert_span_equal("token", header(&q, "Authorization"), SPAN("Bearer secret"));
    assert_true(q.timeout_ms < 10000); /* is over when the next one is due */
    write_text(tempdir_file(&dir, "token"), "other");
    assert_int_equal(target_request(t, &q, &err), 0);
    assert_span_equal("token", header(&q, "Authorization"), SPAN("Bearer other"));
    tempdir_remove(&dir);
    assert_int_equal(target_request(t, &q, &err), -ENOENT);
    assert_non_null(strstr(err.text, "credentials could not be read"));
    target_free(t);
    scrape_file_unref(f);
}

/* Nobody packs for this machine, and no proxy of the environment is asked for its pages. */
static void test_here(void **state)
{
    static const struct {
        const char *address;
        enum web_coding coding;
    } rows[] = {
        {"127.0.0.1:8000", WEB_CODING_PLAIN},  {"localhost:1", WEB_CODING_PLAIN},
        {"LOCALHOST", WEB_CODING_PLAIN},       {"[::1]:8000", WEB_CODING_PLAIN},
        {"10.0.0.1:8000", WEB_CODING_ANY},     {"127.example:80", WEB_CODING_ANY},
        {"localhost.example", WEB_CODING_ANY}, {"[::2]:1", WEB_CODING_ANY},
    };
    (void)state;
    struct scrape_file *f = pagetest_file("");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct web_request q;
        struct target *t;
        struct err err;
        assert_int_equal(target_of(f, rows[i].address, "", "", &t, &err), 0);
        assert_int_equal(target_request(t, &q, &err), 0);
        assert_row(rows[i].address, q.coding == rows[i].coding);
        assert_row(rows[i].address,
                   span_eq(q.link.proxy_url, SPAN("none")) == (rows[i].coding == WEB_CODING_PLAIN));
        target_free(t);
    }
    scrape_file_unref(f);
}

/* --- answers --- */

#define L "instance=\"h:1\", job=\"j\""

struct answers {
    struct pagetest t; /* only file and batch */
    struct target *target;
};

static void answers_init(struct answers *a, const char *keys)
{
    struct err err;
    *a = (struct answers){.t = {.file = pagetest_file(keys), .t_ms = 1000}};
    assert_int_equal(target_of(a->t.file, "h:1", "", "", &a->target, &err), 0);
    assert_false(target_state(a->target).is_known);
}

static void answers_done(struct answers *a)
{
    target_free(a->target);
    pagetest_done(&a->t);
}

static void answer(struct answers *a, struct web_reply r)
{
    a->t.batch = batch_free(a->t.batch);
    assert_int_equal(batch_new(&a->t.batch), 0);
    a->t.t_ms += 1000;
    assert_int_equal(target_reply(a->target, &r, a->t.t_ms, a->t.batch), 0);
}

static struct web_reply page_of(const char *body)
{
    return (struct web_reply){.status = 200,
                              .body = span_cstr(body),
                              .content_type = SPAN("text/plain"),
                              .total_ns = 2500000};
}

static void test_up_and_down(void **state)
{
    static const struct {
        struct web_reply reply;
        const char *fault, *words;
    } rows[] = {
        {{.error = -ECONNREFUSED, .words = SPAN_INIT("no"), .total_ns = -1}, "refused", "no"},
        {{.error = -EHOSTUNREACH, .words = SPAN_INIT("no"), .total_ns = 1}, "name", "no"},
        {{.error = -ETIMEDOUT, .words = SPAN_INIT("no"), .total_ns = 1}, "timeout", "no"},
        {{.error = -EKEYREJECTED, .words = SPAN_INIT("no"), .total_ns = 1}, "tls", "no"},
        {{.error = -EIO, .words = SPAN_INIT("no"), .total_ns = 1}, "network", "no"},
        {{.status = 503, .body = SPAN_INIT("a 1\n"), .total_ns = 1}, "status", "status 503"},
        {{.status = 204, .total_ns = 1}, "status", "status 204"},
        {{.status = 200, .body = SPAN_INIT("a 1\n"), .is_cut = true}, "limit", "larger than"},
        {{.status = 200, .body = SPAN_INIT("<html>\n")}, "body", "HTML"},
        {{.status = 200, .body = SPAN_INIT("a 1\nb 1\nc 1\n")}, "limit", "2 samples"},
        {{.status = 200, .body = SPAN_INIT("drop_name 1\n")}, "relabel", "without a name"},
    };
    struct answers a;
    char series[100];
    (void)state;
    answers_init(&a, "  sample_limit: 2\n"
                     "  metric_relabel_configs:\n"
                     "  - {source_labels: [__name__], regex: drop_name, target_label: __name__,\n"
                     "     replacement: ''}\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        answer(&a, page_of("a 1\nb 2\n"));
        assert_value(&a.t, "up{" L "}", 1);
        assert_value(&a.t, "a{" L "}", 1);
        assert_value(&a.t, "scrape_duration_seconds{" L "}", 0.0025);
        assert_value(&a.t, "scrape_samples_scraped{" L "}", 2);
        assert_value(&a.t, "scrape_samples_post_metric_relabeling{" L "}", 2);
        assert_value(&a.t, "scrape_series_added{" L "}", i == 0 ? 2 : 0);
        assert_int_equal(a.t.batch->n, i == 0 ? 7 : 8);
        if (i > 0)
            assert_stale(&a.t, series);
        assert_true(target_state(a.target).is_up);
        assert_null(target_state(a.target).fault);
        answer(&a, rows[i].reply);
        (void)snprintf(series, sizeof(series), "scrape_fault{" L ", reason=\"%s\"}", rows[i].fault);
        assert_value(&a.t, "up{" L "}", 0);
        assert_value(&a.t, series, 1);
        assert_stale(&a.t, "a{" L "}");
        assert_stale(&a.t, "b{" L "}");
        assert_int_equal(a.t.batch->n, 8);
        assert_string_equal(target_state(a.target).fault, rows[i].fault);
        if (!strstr(target_state(a.target).words, rows[i].words))
            fail_msg("%s: %s", rows[i].fault, target_state(a.target).words);
        answer(&a, rows[i].reply); /* down still: the end was told */
        assert_int_equal(a.t.batch->n, 6);
    }
    answers_done(&a);
}

/* Of an optional job; one that had a page is down like any other. */
static void test_absent(void **state)
{
    static const struct web_reply without[] = {
        {.status = 404, .total_ns = 1},
        {.status = 405, .total_ns = 1},
        {.status = 501, .total_ns = 1},
        {.status = 200, .body = SPAN_INIT("<html>\n"), .total_ns = 1},
    };
    static const struct web_reply refused = {
        .error = -ECONNREFUSED, .words = SPAN_INIT("no"), .total_ns = -1};
    struct answers a;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(without); i++) {
        answers_init(&a, "");
        answer(&a, without[i]);
        assert_false(target_state(a.target).is_absent); /* a job like any other */
        answers_done(&a);
        answers_init(&a, "");
        scrape_file_make_optional(a.t.file, 0);
        answer(&a, refused); /* not there yet: that is down */
        assert_value(&a.t, "up{" L "}", 0);
        answer(&a, without[i]);
        assert_true(target_state(a.target).is_absent);
        assert_stale(&a.t, "up{" L "}");
        assert_true(target_wait_ms(a.target) > TARGET_ABSENT_MS / 2);
        answer(&a, without[i]);
        assert_int_equal(a.t.batch->n, 0);
        answer(&a, page_of("a 1\n"));
        assert_value(&a.t, "up{" L "}", 1);
        assert_int_equal(target_wait_ms(a.target), target_interval_ms(a.target));
        answer(&a, without[i]);
        assert_false(target_state(a.target).is_absent);
        assert_value(&a.t, "up{" L "}", 0);
        answers_done(&a);
    }
}

static void test_end(void **state)
{
    struct answers a;
    (void)state;
    answers_init(&a, "");
    answer(&a, page_of("a 1\n"));
    a.t.batch = batch_free(a.t.batch);
    assert_int_equal(batch_new(&a.t.batch), 0);
    assert_int_equal(target_end(a.target, 5000, a.t.batch), 0);
    assert_int_equal(a.t.batch->n, 6);
    for (size_t i = 0; i < a.t.batch->n; i++)
        assert_true(series_is_stale(a.t.batch->at[i].v) && a.t.batch->at[i].t_ms == 5000);
    assert_int_equal(target_end(a.target, 6000, a.t.batch), 0);
    assert_int_equal(a.t.batch->n, 6);
    assert_int_equal(target_fail(a.target, "credentials", "no file", 7000, a.t.batch), 0);
    assert_string_equal(target_state(a.target).words, "no file");
    assert_value(&a.t, "scrape_fault{" L ", reason=\"credentials\"}", 1);
    answers_done(&a);
}

/* The list of targets was made anew, and the job is the same: nothing was forgotten. */
static void test_take_of_the_same_job(void **state)
{
    static const char page[] = "a 1\nb 1\nc 1\nd 1\ne 1\nf 1\ng 1\nh 1\ni 1\nj x\n"
                               "vllm:num_requests_running 3\n";
    struct answers a;
    struct target *next;
    struct err err;
    (void)state;
    answers_init(&a, "");
    answer(&a, page_of(page));
    assert_value(&a.t, "scrape_series_added{" L "}", 10);
    assert_int_equal(target_of(a.t.file, "h:1", "", "__meta_x=1", &next, &err), 0);
    target_take(next, a.target);
    target_free(a.target);
    a.target = next;
    assert_int_equal(target_state(next).n_mistakes, 1);
    assert_int_equal(target_state(next).mistakes->items[0].line, 10);
    assert_non_null(target_state(next).engine);
    assert_string_equal(target_state(next).engine->engines[0].map->name, "vllm");
    answer(&a, page_of(page));
    assert_value(&a.t, "scrape_series_added{" L "}", 0);
    answers_done(&a);
}

/* A reload: what was there is there, under what the new job makes of it. */
static void test_take(void **state)
{
    struct scrape_file *f =
        pagetest_file("  metric_relabel_configs:\n"
                      "  - {action: drop, source_labels: [__name__], regex: b}\n");
    struct answers a;
    struct target *next;
    struct err err;
    (void)state;
    answers_init(&a, "");
    answer(&a, page_of("a 1\nb 2\n"));
    assert_int_equal(target_of(f, "h:1", "", "", &next, &err), 0);
    assert_true(target_is_same(a.target, next));
    assert_int_equal(target_offset_ms(a.target), target_offset_ms(next));
    target_take(next, a.target);
    assert_true(target_state(next).is_up && !target_state(a.target).is_known);
    target_free(a.target);
    a.target = next;
    answer(&a, page_of("a 1\nb 2\n"));
    assert_value(&a.t, "a{" L "}", 1);
    assert_stale(&a.t, "b{" L "}");
    assert_int_equal(a.t.batch->n, 7);
    target_free(a.target);
    a.target = NULL;
    scrape_file_unref(f);
    f = pagetest_file("");
    struct target *other;
    assert_int_equal(target_of(a.t.file, "h:1", "", "", &a.target, &err), 0);
    assert_int_equal(target_of(f, "h:1", "zone=eu", "", &other, &err), 0);
    assert_false(target_is_same(a.target, other));
    target_free(other);
    scrape_file_unref(f);
    answers_done(&a);
}

static int scrape_twice(void *ctx)
{
    const struct scrape_file *f = ctx;
    struct web_reply down = {.error = -ECONNREFUSED, .words = SPAN("no")};
    struct web_reply up = page_of("a{x=\"1\"} 1\nvllm:num_requests_running 3\n");
    struct web_reply another = page_of("b 1\nvllm:num_requests_waiting 3\n");
    const struct web_reply *replies[] = {&up, &down, &up, &another};
    struct web_request q;
    struct target *t = NULL;
    struct batch *b = NULL;
    struct err err;
    int r = target_of(f, "h", "zone=eu", "__meta_x=1", &t, &err);
    if (r == 0)
        r = batch_new(&b);
    if (r == 0)
        r = target_request(t, &q, &err);
    for (size_t i = 0; i < ARRAY_LEN(replies) && r == 0; i++) {
        size_t n = b->n;
        r = target_reply(t, replies[i], (int64_t)i, b);
        assert_true(r == 0 || b->n == n);
        const struct engine_page *engine = target_state(t).engine; /* if any, it is there */
        assert_true(!engine || engine->n_engines == 1);
    }
    if (r == 0)
        r = target_end(t, 9, b);
    target_free(t);
    batch_free(b);
    return r;
}

static void test_no_memory(void **state)
{
    struct scrape_file *f = pagetest_file("  params: {a: [b]}\n  bearer_token: x\n");
    (void)state;
    assert_true(memfail_each(scrape_twice, f) > 20);
    scrape_file_unref(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_and_urls),
        cmocka_unit_test(test_bad_targets),
        cmocka_unit_test(test_long_url),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_here),
        cmocka_unit_test(test_up_and_down),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_take_of_the_same_job),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
