/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/collecting_own: which pages a configuration has itself, and what becomes of them as jobs.
 */
#include "config_text.h"
#include "daemon/collecting.h"
#include "harness.h"
#include "memfail.h"

static struct config *load(const char *text)
{
    struct config *c = NULL;
    int r = load_span(span_cstr(text), true, &c);
    return must_be_loaded(text, r, c);
}

/* "upstreams http://a:1/metrics a" for each target of each job, a line each. */
static void list(const struct config *c, struct buf *out)
{
    struct collecting_files files;
    struct file_mistakes mistakes;
    struct err err = {0};
    assert_int_equal(collecting_read(c, &files, &mistakes, &err), 0);
    assert_int_equal(files.n, 1);
    const struct scrape_file *f = files.at[0];
    for (size_t i = 0; i < f->n; i++) {
        const struct scrape_job *j = &f->jobs[i];
        assert_true(j->timeout_ms <= j->interval_ms);
        assert_int_equal(j->is_optional, i == 0);
        for (size_t k = 0; k < j->n_groups; k++) {
            struct labels l = j->groups[k].labels;
            struct span scheme = labels_get(l, SPAN("__scheme__"));
            struct span path = labels_get(l, SPAN("__metrics_path__"));
            struct span name = labels_get(l, SPAN("upstream"));
            assert_int_equal(j->groups[k].n, 1);
            struct span at = j->groups[k].addresses[0];
            assert_int_equal(buf_printf(out, "%.*s %.*s://%.*s%.*s %.*s\n", SPAN_ARG(j->name),
                                        SPAN_ARG(scheme), SPAN_ARG(at), SPAN_ARG(path),
                                        SPAN_ARG(name)),
                             0);
        }
    }
    collecting_files_done(&files);
}

static void assert_lists(const char *config, const char *wanted)
{
    struct config *c = load(config);
    struct buf out;
    buf_init(&out, 64 * KIB);
    list(c, &out);
    assert_int_equal(buf_append(&out, span_of("", 1)), 0);
    assert_string_equal(buf_span(&out).p, wanted);
    buf_done(&out);
    config_unref(c);
}

static void pages_of_upstreams(void **state)
{
    (void)state;
    assert_lists("upstreams:\n"
                 "- {name: plain, url: 'http://a:8000/base'}\n"
                 "- {name: tls, url: 'https://b'}\n"
                 "- {name: socket, url: 'unix:/run/c'}\n"
                 "- {name: none, url: 'http://d:1', metrics: none}\n"
                 "- {name: path, url: 'https://e:2/v1', metrics: /x/metrics}\n"
                 "- {name: other, url: 'https://f', metrics: 'http://g:3/m'}\n"
                 "- {name: six, url: 'http://[::1]:4', metrics: auto}\n",
                 "upstreams http://a:8000/metrics plain\n"
                 "upstreams https://e:2/x/metrics path\n"
                 "upstreams http://g:3/m other\n"
                 "upstreams http://[::1]:4/metrics six\n");
}

static void a_page_of_several_is_one_target(void **state)
{
    (void)state;
    assert_lists("upstreams:\n"
                 "- {name: chat, url: 'http://a:1/chat'}\n"
                 "- {name: batch, url: 'http://a:1/batch'}\n"
                 "- {name: away, url: 'https://b', metrics: 'http://a:1/metrics'}\n"
                 "- {name: next, url: 'http://a:2'}\n",
                 "upstreams http://a:1/metrics chat\n"
                 "upstreams http://a:2/metrics next\n");
}

static void pages_beside_them(void **state)
{
    (void)state;
    assert_lists("upstreams: 'https://a'\n"
                 "scrape: {interval: 1s, timeout: 5s, targets: ['https://g:9400', 'http://h/m']}\n",
                 "targets https://g:9400/metrics \n"
                 "targets http://h/m \n");
}

static int write_it(void *ctx)
{
    struct buf out;
    buf_init(&out, 64 * KIB);
    int r = collecting_own_write(ctx, &out);
    buf_done(&out);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    struct config *c =
        load("upstreams: [{name: a, url: 'http://a'}, {name: b, url: 'http://a'}]\n");
    assert_true(memfail_each(write_it, c) > 0);
    config_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_upstreams),
        cmocka_unit_test(a_page_of_several_is_one_target),
        cmocka_unit_test(pages_beside_them),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
