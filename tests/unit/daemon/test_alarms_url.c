/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/alarms_url: what links in alerts begin with. */
#include "harness.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/alarms_private.h"
#include "memfail.h"

static void test_where_links_begin(void **state)
{
    char host[HOST_NAME_MAX + 1] = "", own[HOST_NAME_MAX + 32], six[HOST_NAME_MAX + 32];
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    (void)snprintf(own, sizeof(own), "http://%s:8401", host);
    (void)snprintf(six, sizeof(six), "http://%s:9", host);
    const struct {
        const char *configured, *admin, *want;
    } rows[] = {
        {"", "127.0.0.1:8401", own},
        {"", "0.0.0.0:8401", own},
        {"", "[::1]:9", six},
        {"", "unix:/run/inferometer.sock", ""}, /* no browser gets there */
        {"https://gw.example", "127.0.0.1:8401", "https://gw.example"},
        {"https://gw.example/", "127.0.0.1:8401", "https://gw.example"},
        {"https://gw.example/gateway//", "unix:/run/x", "https://gw.example/gateway"},
        {"/", "127.0.0.1:8401", ""}, /* links without a host, as it is wished */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *url = NULL;
        assert_int_equal(alarms_url(rows[i].configured, rows[i].admin, &url), 0);
        assert_string_equal(url, rows[i].want);
        mem_free(url);
    }
}

static void test_no_memory(void **state)
{
    char *url = NULL;
    (void)state;
    mem_fail_from(1);
    int r = alarms_url("", "127.0.0.1:1", &url);
    mem_fail_off();
    assert_int_equal(r, -ENOMEM);
    assert_null(url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_links_begin),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
