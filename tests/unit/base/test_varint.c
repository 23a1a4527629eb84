/* SPDX-License-Identifier: Apache-2.0 */
#include "base/varint.h"

#include "harness.h"

static const uint64_t numbers[] = {
    0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};

static void test_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        uint8_t bytes[VARINT_MAX_BYTES];
        size_t n = (size_t)(varint_put(bytes, numbers[i]) - bytes);
        assert_in_range(n, 1, VARINT_MAX_BYTES);
        for (size_t cut = 0; cut <= n; cut++) {
            struct varint_in in = varint_in(span_of(bytes, cut));
            uint64_t u = 0;
            assert_int_equal(varint_get(&in, &u), cut == n);
            assert_true(cut < n || (u == numbers[i] && in.p == in.end));
        }
    }
}

static void test_bytes_are_these(void **state)
{
    (void)state;
    uint8_t bytes[VARINT_MAX_BYTES];
    assert_int_equal(varint_put(bytes, 300) - bytes, 2);
    assert_true(bytes[0] == 0xac && bytes[1] == 0x02); /* the lowest seven bits first */
    assert_int_equal(varint_put_signed(bytes, -1) - bytes, 1);
    assert_int_equal(bytes[0], 1);
}

static void test_signed(void **state)
{
    (void)state;
    static const int64_t signed_numbers[] = {0, -1, 1, -64, 64, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(signed_numbers); i++) {
        uint8_t bytes[VARINT_MAX_BYTES];
        const uint8_t *end = varint_put_signed(bytes, signed_numbers[i]);
        struct varint_in in = varint_in(span_of(bytes, (size_t)(end - bytes)));
        int64_t n = 7;
        assert_true(varint_get_signed(&in, &n));
        assert_true(n == signed_numbers[i]);
    }
}

static void test_more_than_64_bits(void **state)
{
    (void)state;
    static const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t long_one[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0x00};
    uint64_t u;
    struct varint_in in = varint_in(span_of(wide, sizeof(wide)));
    assert_false(varint_get(&in, &u));
    in = varint_in(span_of(long_one, sizeof(long_one)));
    assert_false(varint_get(&in, &u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_bytes_are_these),
        cmocka_unit_test(test_signed),
        cmocka_unit_test(test_more_than_64_bits),
    };
    return cmocka_run_group_tests_name("base/varint", tests, NULL, NULL);
}
