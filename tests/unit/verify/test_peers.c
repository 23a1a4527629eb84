/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files of what a run starts: they are YAML, and say what they should. */
#include "verify/peers.h"

#include <string.h>

#include "harness.h"
#include "memfail.h"
#include "yaml/tree.h"

static const char *const rules[] = {"/run/a \"b\".yml", "/run/c.yml"};
static const struct verify_addresses addresses = {
    .engine = "http://127.0.0.1:1000",
    .metrics = "https://127.0.0.1:1001/some/metrics",
    .admin = "http://127.0.0.1:1002",
    .alertmanager = "http://127.0.0.1:1003",
    .data_dir = "/run/data",
    .rules = rules,
    .n_rules = 2,
};

static int write_gateway(const struct verify_addresses *a, struct buf *out)
{
    return verify_peers_gateway(a, out);
}
static int write_alertmanager(const struct verify_addresses *a, struct buf *out)
{
    (void)a;
    return verify_peers_alertmanager(out);
}

static void check(int (*write)(const struct verify_addresses *a, struct buf *out),
                  const struct verify_addresses *a, const char *has, const char *has_not)
{
    struct yaml_node *root = NULL;
    struct err_list errs;
    struct buf out;

    buf_init(&out, 65536);
    err_list_init(&errs);
    assert_int_equal(write(a, &out), 0);
    assert_int_equal(yaml_read(buf_span(&out), "test", &root, &errs), 0);
    assert_int_equal(buf_append(&out, span_of("", 1)), 0);
    if (has && !strstr(buf_span(&out).p, has))
        fail_msg("no %s in %s", has, buf_span(&out).p);
    if (has_not && strstr(buf_span(&out).p, has_not))
        fail_msg("%s in %s", has_not, buf_span(&out).p);
    yaml_free(root);
    buf_done(&out);
}

static void test_files(void **state)
{
    struct verify_addresses bare = addresses;

    (void)state;
    bare.metrics = bare.alertmanager = NULL;
    check(write_gateway, &addresses, "\"files\":[\"/run/a \\\"b\\\".yml\",\"/run/c.yml\"]", NULL);
    check(write_gateway, &addresses, "\"metrics\":\"https://127.0.0.1:1001/some/metrics\"", NULL);
    check(write_gateway, &addresses, "\"alertmanagers\":[\"http://127.0.0.1:1003\"]", NULL);
    check(write_gateway, &bare, "\"metrics\":\"none\"", "1003");
    check(verify_peers_prometheus, &addresses, "\"targets\":[\"127.0.0.1:1003\"]", NULL);
    check(verify_peers_prometheus, &addresses,
          "\"job_name\":\"engine\",\"scheme\":\"https\",\"metrics_path\":\"/some/metrics\"", NULL);
    check(verify_peers_prometheus, &addresses,
          "\"job_name\":\"gateway\",\"scheme\":\"http\",\"metrics_path\":\"/metrics\"", NULL);
    check(verify_peers_prometheus, &bare, NULL, "\"engine\"");
    check(verify_peers_prometheus, &bare, NULL, "alerting");
    check(write_alertmanager, &addresses, "\"receiver\":\"nobody\"", NULL);
}

static int write_all(void *ctx)
{
    struct buf out;
    int r;

    (void)ctx;
    buf_init(&out, 65536);
    r = verify_peers_gateway(&addresses, &out);
    if (r == 0)
        r = verify_peers_prometheus(&addresses, &out);
    if (r == 0)
        r = verify_peers_alertmanager(&out);
    buf_done(&out);
    return r;
}

static void test_without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(write_all, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
