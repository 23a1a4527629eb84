/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include "base/attr.h"
#include "doctor/doctor_vendor.h"

static void test_vendors(void **state)
{
    static const struct {
        const char *key;
        enum doctor_vendor vendor;
    } keys[] = {
        {"sk-ant-api03-x", VENDOR_ANTHROPIC},
        {"sk-or-v1-x", VENDOR_OPENROUTER},
        {"sk-proj-x", VENDOR_OPENAI},
        {"sk-x", VENDOR_UNKNOWN},
        {"gsk_x", VENDOR_GROQ},
        {"AIzaX", VENDOR_GOOGLE},
        {"github_pat_x", VENDOR_GITHUB},
        {"", VENDOR_UNKNOWN},
        {"EMPTY", VENDOR_UNKNOWN},
    };
    static const struct {
        const char *host;
        enum doctor_vendor vendor;
    } hosts[] = {
        {"api.openai.com", VENDOR_OPENAI},
        {"API.OpenAI.com", VENDOR_OPENAI},
        {"openai.com", VENDOR_OPENAI},
        {"notopenai.com", VENDOR_UNKNOWN},
        {"openai.com.evil.test", VENDOR_UNKNOWN},
        {"api.anthropic.com", VENDOR_ANTHROPIC},
        {"box.ai", VENDOR_UNKNOWN},
        {"api.x.ai", VENDOR_XAI},
        {"localhost", VENDOR_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_row(keys[i].key, doctor_vendor_of_key(span_cstr(keys[i].key)) == keys[i].vendor);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        assert_row(hosts[i].host,
                   doctor_vendor_of_host(span_cstr(hosts[i].host)) == hosts[i].vendor);
    for (int v = 0; v < VENDOR_COUNT_; v++)
        assert_true(doctor_vendor_name((enum doctor_vendor)v)[0] != '\0');
}

static void test_oddities(void **state)
{
    static const struct {
        const char *key;
        enum doctor_cause cause;
    } rows[] = {
        {"sk-1234567890", CAUSE_NO_CAUSE},
        {"sk-1234\n", CAUSE_KEY_NEWLINE},
        {"sk-\x01", CAUSE_KEY_NEWLINE},
        {"\"sk-1\"\n", CAUSE_KEY_NEWLINE}, /* what no client can send comes first */
        {"'sk-1234'", CAUSE_KEY_QUOTES},
        {"\xe2\x80\x9csk-1\xe2\x80\x9d", CAUSE_KEY_QUOTES},
        {" sk-1234", CAUSE_KEY_STRAY},
        {"sk-1234 ", CAUSE_KEY_STRAY},
        {"sk\t1234", CAUSE_KEY_STRAY},
        {"sk-1234\xe2\x80\x8b", CAUSE_KEY_STRAY}, /* without width */
        {"\xef\xbb\xbfsk-1234", CAUSE_KEY_STRAY},
        {"Bearer sk-1234", CAUSE_KEY_BEARER},
        {"bearer sk-1234", CAUSE_KEY_BEARER},
        {"http://h/v1", CAUSE_KEY_IS_URL},
        {"$KEY", CAUSE_KEY_UNEXPANDED},
        {"${KEY}", CAUSE_KEY_UNEXPANDED},
        {"%KEY%", CAUSE_KEY_UNEXPANDED},
        {"{env:KEY}", CAUSE_KEY_UNEXPANDED},
        {"EMPTY", CAUSE_KEY_PLACEHOLDER},
        {"your-api-key", CAUSE_KEY_PLACEHOLDER},
        {"<key>", CAUSE_KEY_PLACEHOLDER},
        {"sk-xxxxxxxx", CAUSE_KEY_PLACEHOLDER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].key, doctor_key_oddity(span_cstr(rows[i].key)) == rows[i].cause);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vendors),
        cmocka_unit_test(test_oddities),
    };
    return cmocka_run_group_tests_name("doctor/doctor_vendor", tests, NULL, NULL);
}
