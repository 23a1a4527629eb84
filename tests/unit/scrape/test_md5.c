/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/md5.h"

#include <stdio.h>

#include "base/attr.h"
#include "harness.h"

static void test_known_digests(void **state)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t digest[MD5_BYTES];
        char text[2 * MD5_BYTES + 1];
        md5(span_cstr(cases[i].text), digest);
        for (int j = 0; j < MD5_BYTES; j++)
            (void)snprintf(text + 2 * j, 3, "%02x", digest[j]);
        assert_string_equal(text, cases[i].digest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_digests)};
    return cmocka_run_group_tests_name("scrape/md5", tests, NULL, NULL);
}
