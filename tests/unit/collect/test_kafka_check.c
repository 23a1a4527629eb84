/* SPDX-License-Identifier: Apache-2.0 */
/* collect/kafka: configurations with mistakes, and secrets that nobody gets to see. */
#include "kafka_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CANARY "canary-5t7"

static const char *const one_group[] = {"g"};
static const char *const twice[] = {"g", "h", "g"};
static const char *const nameless[] = {"g", ""};

#define BASE .brokers = "localhost:1", .groups = one_group, .n_groups = 1
static void mistakes_are_told(void **state)
{
    static const struct {
        const char *name;
        struct kafka_config config;
        struct kafka_property property;
        const char *words, *hint;
    } rows[] = {
        {"no brokers",
         {.groups = one_group, .n_groups = 1},
         {.name = NULL},
         "no brokers",
         "HOST:PORT"},
        {"blank brokers",
         {.brokers = " ", .groups = one_group, .n_groups = 1},
         {.name = NULL},
         "no brokers",
         "HOST:PORT"},
        {"no groups", {.brokers = "localhost:1"}, {.name = NULL}, "no consumer groups", "--list"},
        {"a group twice",
         {.brokers = "localhost:1", .groups = twice, .n_groups = 3},
         {.name = NULL},
         "group \"g\" is there twice",
         ""},
        {"a group without a name",
         {.brokers = "localhost:1", .groups = nameless, .n_groups = 2},
         {.name = NULL},
         "group 2 has no name",
         ""},
        {"too many groups",
         {.brokers = "localhost:1", .groups = twice, .n_groups = KAFKA_GROUPS_MAX + 1},
         {.name = NULL},
         "more than 50 groups",
         ""},
        {"a topic twice",
         {BASE, .topics = twice, .n_topics = 3},
         {.name = NULL},
         "topic \"g\" is there twice",
         ""},
        {"too short a deadline", {BASE, .deadline_ms = 99}, {.name = NULL}, "100 to 300000 ms", ""},
        {"too long a deadline",
         {BASE, .deadline_ms = 300001},
         {.name = NULL},
         "100 to 300000 ms",
         ""},
        {"a name that is none",
         {BASE},
         {.name = "security.protokol", .value = "ssl"},
         "no property \"security.protokol\"",
         "did you mean \"security.protocol\"?"},
        {"a name like no other",
         {BASE},
         {.name = "xyzzy", .value = "ssl"},
         "no property \"xyzzy\"",
         "CONFIGURATION.md"},
        {"a secret behind a name that is none",
         {BASE},
         {.name = "sasl.pasword", .value = CANARY},
         "no property \"sasl.pasword\"",
         "did you mean \"sasl.password\"?"},
        {"a value that is none",
         {BASE},
         {.name = "security.protocol", .value = "tls"},
         "\"security.protocol\" cannot be \"tls\"",
         "CONFIGURATION.md"},
        {"a number out of bounds",
         {BASE},
         {.name = "socket.timeout.ms", .value = "1"},
         "\"socket.timeout.ms\" cannot be \"1\"",
         "CONFIGURATION.md"},
        {"a value that is none, of a variable",
         {BASE},
         {.name = "security.protocol", .env = "KAFKA_TEST_SECRET"},
         "what KAFKA_TEST_SECRET has is no value of \"security.protocol\"",
         "CONFIGURATION.md"},
        {"a secret in the configuration",
         {BASE},
         {.name = "sasl.password", .value = CANARY},
         "\"sasl.password\" is a secret",
         "a file or a variable"},
        {"a secret that librdkafka has from 2.11 on",
         {BASE},
         {.name = "sasl.oauthbearer.assertion.private.key.passphrase", .value = CANARY},
         "private.key.passphrase\" is a secret",
         "a file or a variable"},
        {"a secret of a name that nobody has yet",
         {BASE},
         {.name = "ssl.other.key.pem", .value = CANARY},
         "\"ssl.other.key.pem\" is a secret",
         "a file or a variable"},
        {"two sources",
         {BASE},
         {.name = "sasl.password", .file = "/f", .env = "E"},
         "more than one of value, file and env",
         ""},
        {"no source", {BASE}, {.name = "sasl.password"}, "none of value, file and env", ""},
        {"a file that is not there",
         {BASE},
         {.name = "sasl.password", .file = "/nowhere/secret"},
         "the file of \"sasl.password\", /nowhere/secret: ",
         ""},
        {"an empty file",
         {BASE},
         {.name = "sasl.password", .file = "/dev/null"},
         "/dev/null, is empty",
         ""},
        {"a variable that is not set",
         {BASE},
         {.name = "sasl.password", .env = "KAFKA_TEST_NONE"},
         "KAFKA_TEST_NONE, the variable of \"sasl.password\", is not set",
         ""},
        {"an empty variable",
         {BASE},
         {.name = "sasl.password", .env = "KAFKA_TEST_EMPTY"},
         "is empty",
         ""},
        {"brokers among the properties",
         {BASE},
         {.name = "bootstrap.servers", .value = "x:1"},
         "\"bootstrap.servers\" cannot be set",
         ""},
        {"a group to be a member of",
         {BASE},
         {.name = "group.id", .value = "g"},
         "\"group.id\" cannot be set",
         ""},
        {"code to be loaded",
         {BASE},
         {.name = "plugin.library.paths", .value = "/tmp/x.so"},
         "\"plugin.library.paths\" cannot be set",
         ""},
    };

    (void)state;
    assert_int_equal(setenv("KAFKA_TEST_SECRET", CANARY, 1), 0);
    assert_int_equal(setenv("KAFKA_TEST_EMPTY", "", 1), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0}, again = {0};
        struct kafka_config c = rows[i].config;
        void *source = NULL;

        c.properties = &rows[i].property;
        c.n_properties = rows[i].property.name != NULL;
        assert_row(rows[i].name, kafka_check(&c, &err) == err.code && err.code < 0);
        assert_row(rows[i].name, strstr(err.text, rows[i].words) != NULL);
        assert_row(rows[i].name, strstr(err.hint, rows[i].hint) != NULL);
        assert_row(rows[i].name, !strstr(err.text, CANARY) && !strstr(err.hint, CANARY));
        assert_row(rows[i].name, source_kafka.begin(&c, &source, &again) == err.code);
        assert_row(rows[i].name, !source && strcmp(err.text, again.text) == 0);
    }
}

static void good_ones_are_taken(void **state)
{
    static const struct kafka_property properties[] = {
        {.name = "security.protocol", .value = "sasl_plaintext"},
        {.name = "sasl.mechanism", .value = "SCRAM-SHA-256"},
        {.name = "sasl.username", .env = "KAFKA_TEST_SECRET"},
        {.name = "sasl.password", .file = "build/kafka_test_secret"},
        {.name = "isolation.level", .value = "read_committed"},
    };
    struct kafka_config c = {BASE, .properties = properties, .n_properties = ARRAY_LEN(properties),
                             .deadline_ms = 100};
    struct err err = {0};
    struct kafka_rig rig = {.config = c};
    FILE *f = fopen("build/kafka_test_secret", "w");

    (void)state;
    assert_non_null(f);
    assert_true(fputs(CANARY "\r\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    if (kafka_check(&c, &err) < 0)
        fail_msg("%s", err.text);
    kafka_rig_begin(&rig);
    kafka_rig_end(&rig);
    assert_int_equal(unlink("build/kafka_test_secret"), 0);
}

/* What only librdkafka as a whole tells: it takes each property, and not all of them. */
static void properties_that_do_not_go_together_are_told(void **state)
{
    static const struct kafka_property properties[] = {
        {.name = "security.protocol", .value = "ssl"},
        {.name = "ssl.ca.location", .value = "/nowhere/ca.pem"},
    };
    struct kafka_config c = {BASE, .properties = properties, .n_properties = ARRAY_LEN(properties)};
    struct err err = {0};
    void *source = NULL;

    (void)state;
    assert_int_equal(kafka_check(&c, &err), 0);
    assert_int_equal(source_kafka.begin(&c, &source, &err), -EINVAL);
    if (!strstr(err.text, "ssl.ca.location"))
        fail_msg("%s", err.text);
    assert_null(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(good_ones_are_taken),
        cmocka_unit_test(properties_that_do_not_go_together_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
