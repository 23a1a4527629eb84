/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/attr.h"
#include "harness.h"

static void test_pick(void **state)
{
    static const char *const names[] = {"A", "NOT_THERE", "EMPTY", "AB", NULL};
    char ab[] = "AB=2", abc[] = "ABC=3", a[] = "A=1=1", empty[] = "EMPTY=", secret[] = "SECRET=A";
    char *pairs[] = {ab, abc, a, empty, secret, NULL};
    char *got[8], **before = environ;
    (void)state;
    environ = pairs;
    assert_int_equal(environment_pick(names, got, ARRAY_LEN(got)), 3);
    assert_string_equal(got[0], "AB=2");
    assert_string_equal(got[1], "A=1=1");
    assert_string_equal(got[2], "EMPTY=");
    assert_null(got[3]);
    assert_int_equal(environment_pick(names, got, 2), 1); /* room for one, and the end */
    assert_null(got[1]);
    environ = NULL;
    assert_int_equal(environment_pick(names, got, ARRAY_LEN(got)), 0);
    assert_null(got[0]);
    environ = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pick)};
    return cmocka_run_group_tests_name("base/environment", tests, NULL, NULL);
}
