/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka against a broker of our own, for what librdkafka's mock cannot say: members,
 * refused credentials, single partitions refused, silence, garbage.
 */
#include "fake_broker.h"
#include "kafka_rig.h"

#include <errno.h>
#include <stdlib.h>

#define CANARY           "canary-5t7"
#define NONE             ((double)NAN)
#define PART(series, n)  series "{consumergroup=\"g\", partition=\"" n "\", topic=\"t\"}"
#define LAG(n)           PART("kafka_consumer_lag", n)
#define OF_GROUP(series) series "{consumergroup=\"g\"}"
#define STATE(s)         "kafka_consumergroup_state{consumergroup=\"g\", state=\"" s "\"}"
#define TROUBLE(reason)  "kafka_lag_trouble_total{consumergroup=\"g\", reason=\"" reason "\"}"

static const char *const group_g[] = {"g"};

static struct kafka_rig begun(struct fake_broker *b, const struct kafka_property *properties,
                              size_t n, int64_t deadline_ms)
{
    struct kafka_rig rig = {.config = {.brokers = b->address,
                                       .properties = properties,
                                       .n_properties = n,
                                       .groups = group_g,
                                       .n_groups = 1,
                                       .deadline_ms = deadline_ms}};

    return rig;
}

static void a_group_tells_its_members(void **state)
{
    static const struct {
        const char *word, *series;
        int n_members;
    } rows[] = {
        {"Stable", STATE("stable"), 3},
        {"Empty", STATE("empty"), 0},
        {"PreparingRebalance", STATE("preparing_rebalance"), 2},
        {"CompletingRebalance", STATE("completing_rebalance"), 2},
        {"AwaitingSync", STATE("completing_rebalance"), 1},
        {"Dead", STATE("dead"), 0},
    };
    struct fake_broker b = {.n_parts = 2, .parts = {{4, 0, 10, 0}, {7, 0, 7, 0}}};
    struct kafka_rig rig;
    int n_connects = 0;

    (void)state;
    fake_broker_start(&b);
    rig = begun(&b, NULL, 0, 3000);
    kafka_rig_begin(&rig);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        b.state = rows[i].word;
        b.n_members = rows[i].n_members;
        assert_row(rows[i].word, kafka_rig_read(&rig) == SOURCE_WORKING);
        kafka_rig_expect(&rig, OF_GROUP("kafka_consumergroup_members"), rows[i].n_members);
        kafka_rig_expect(&rig, rows[i].series, 1);
        assert_int_equal(kafka_rig_count(&rig, "kafka_consumergroup_state"), 5);
        kafka_rig_expect(&rig, LAG("0"), 6);
        kafka_rig_expect(&rig, LAG("1"), 0);
        if (i == 0)
            n_connects = b.n_connects;
    }
    assert_int_equal(b.n_connects, n_connects); /* the first reading's are kept */

    b.state = "Unheard"; /* of a later version */
    assert_int_equal(kafka_rig_read(&rig), SOURCE_WORKING);
    assert_int_equal(kafka_rig_count(&rig, "kafka_consumergroup_state"), 0);
    assert_int_equal(kafka_rig_count(&rig, "kafka_consumergroup_members"), 1);
    kafka_rig_end(&rig);
    fake_broker_stop(&b);
}

static void a_group_that_nobody_knows_is_told(void **state)
{
    struct fake_broker b = {.n_parts = 1, .parts = {{-1, 0, 10, 0}}};
    struct kafka_rig rig;

    (void)state;
    fake_broker_start(&b);
    rig = begun(&b, NULL, 0, 3000);
    kafka_rig_begin(&rig);
    assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
    kafka_rig_says(&rig, "there is no group \"g\"");
    assert_int_equal(rig.err.code, -ENOENT);
    b.state = "Stable"; /* it has members and nothing committed yet */
    assert_int_equal(kafka_rig_read(&rig), SOURCE_WORKING);
    assert_int_equal(kafka_rig_count(&rig, "kafka_consumer_lag"), 0);
    b.state = NULL; /* committed, and not shown to our user */
    b.parts[0].committed = 3;
    assert_int_equal(kafka_rig_read(&rig), SOURCE_WORKING);
    kafka_rig_expect(&rig, LAG("0"), 7);
    kafka_rig_end(&rig);
    fake_broker_stop(&b);
}

static void partitions_are_judged_one_by_one(void **state)
{
    enum { NOT_LEADER = 6, NOT_ALLOWED = 29 };
    struct fake_broker b = {.n_parts = 8,
                            .state = "Stable",
                            .parts = {
                                {4, 0, 10, 0},
                                {-1, 0, 10, 0},    /* nothing committed */
                                {-1001, 0, 10, 0}, /* the same, of odd brokers */
                                {4, NOT_ALLOWED, 10, 0},
                                {4, 0, -1, NOT_LEADER}, /* just elected */
                                {4, 0, -1, 0},          /* no end is told */
                                {11, 0, 10, 0},         /* reset */
                                {0, 0, 3, 0},
                            }};
    struct kafka_rig rig;

    (void)state;
    fake_broker_start(&b);
    rig = begun(&b, NULL, 0, 3000);
    kafka_rig_begin(&rig);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(kafka_rig_read(&rig), SOURCE_WORKING);
        kafka_rig_expect(&rig, LAG("0"), 6);
        kafka_rig_expect(&rig, LAG("7"), 3);
        assert_int_equal(kafka_rig_count(&rig, "kafka_consumer_lag"), 2);
        kafka_rig_expect(&rig, PART("kafka_consumergroup_current_offset", "6"), 11);
        kafka_rig_expect(&rig, PART("kafka_consumergroup_current_offset", "3"), NONE);
        assert_int_equal(kafka_rig_count(&rig, "kafka_consumergroup_current_offset"), 5);
        assert_int_equal(kafka_rig_count(&rig, "kafka_topic_partition_current_offset"), 3);
        kafka_rig_expect(&rig, TROUBLE("negative"), i);
        kafka_rig_expect(&rig, TROUBLE("end"), 2 * i);
        kafka_rig_expect(&rig, TROUBLE("offset"), i);
        kafka_rig_expect(&rig, TROUBLE("group"), 0);
        kafka_rig_expect(&rig, "kafka_up", 1);
    }
    kafka_rig_end(&rig);
    fake_broker_stop(&b);
}

static void write_secret(const char *path, const char *secret)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(secret, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void refused_credentials_are_told_and_read_again(void **state)
{
    static const char path[] = "build/kafka_broker_secret";
    static const struct kafka_property properties[] = {
        {.name = "security.protocol", .value = "sasl_plaintext"},
        {.name = "sasl.mechanism", .value = "PLAIN"},
        {.name = "sasl.username", .value = "u"},
        {.name = "sasl.password", .file = path},
    };
    struct fake_broker b = {.n_parts = 1,
                            .parts = {{4, 0, 10, 0}},
                            .state = "Stable",
                            .password = "right",
                            .refusal = "no user u with " CANARY "\n here"};
    struct kafka_rig rig;
    int n_refused;

    (void)state;
    fake_broker_start(&b);
    write_secret(path, CANARY "\n");
    rig = begun(&b, properties, ARRAY_LEN(properties), 1500);
    kafka_rig_begin(&rig);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
        kafka_rig_says(&rig, "refuses us: ");
        kafka_rig_says(&rig, "no user u with **********? here");
        assert_null(strstr(rig.err.text, CANARY));
        assert_non_null(strstr(rig.err.hint, "sasl.password"));
        assert_int_equal(rig.err.code, -EACCES);
        assert_true(rig.took_ms < 3000);
        assert_int_equal(kafka_rig_count(&rig, "kafka_consumer_lag"), 0);
        kafka_rig_expect(&rig, "kafka_up", 0);
    }
    n_refused = b.n_refused;
    assert_int_equal(unlink(path), 0); /* being replaced */
    assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
    assert_non_null(strstr(rig.err.text, path));
    assert_int_equal(b.n_refused, n_refused); /* nobody went on asking meanwhile */
    write_secret(path, "right\n");
    kafka_rig_read_until(&rig, SOURCE_WORKING);
    kafka_rig_expect(&rig, LAG("0"), 6);
    kafka_rig_end(&rig);
    assert_int_equal(unlink(path), 0);
    fake_broker_stop(&b);
}

static void a_broker_without_sasl_is_told(void **state)
{
    static const struct kafka_property properties[] = {
        {.name = "security.protocol", .value = "sasl_plaintext"},
        {.name = "sasl.mechanism", .value = "PLAIN"},
        {.name = "sasl.username", .value = "u"},
        {.name = "sasl.password", .env = "KAFKA_TEST_PASSWORD"},
    };
    struct fake_broker b = {.n_parts = 1, .parts = {{4, 0, 10, 0}}};
    struct kafka_rig rig;

    (void)state;
    assert_int_equal(setenv("KAFKA_TEST_PASSWORD", CANARY, 1), 0);
    fake_broker_start(&b);
    rig = begun(&b, properties, ARRAY_LEN(properties), 1000);
    kafka_rig_begin(&rig);
    assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
    assert_null(strstr(rig.err.text, CANARY));
    kafka_rig_says(&rig, "PLAIN");
    kafka_rig_end(&rig);
    fake_broker_stop(&b);
}

static void a_broker_without_tls_is_told(void **state)
{
    static const struct kafka_property properties[] = {
        {.name = "security.protocol", .value = "ssl"},
    };
    struct fake_broker b = {.n_parts = 1, .parts = {{4, 0, 10, 0}}};
    struct kafka_rig rig;

    (void)state;
    fake_broker_start(&b);
    rig = begun(&b, properties, ARRAY_LEN(properties), 500);
    kafka_rig_begin(&rig);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
        kafka_rig_says(&rig, "in state SSL_HANDSHAKE");
    }
    kafka_rig_end(&rig);
    fake_broker_stop(&b);
}

/* First from the start, then in the middle of its life. */
static void silence_and_garbage_end_with_the_deadline(void **state)
{
    (void)state;
    for (int is_garbage = 0; is_garbage <= 1; is_garbage++) {
        struct fake_broker b = {.n_parts = 1, .parts = {{4, 0, 10, 0}}, .state = "Stable"};
        struct kafka_rig rig;

        b.is_silent = !is_garbage;
        b.is_garbage = is_garbage;
        fake_broker_start(&b);
        rig = begun(&b, NULL, 0, 500);
        kafka_rig_begin(&rig);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
            kafka_rig_says(&rig, "within 500 ms");
            assert_true(rig.took_ms < 2000);
            kafka_rig_expect(&rig, TROUBLE("group"), i + 1);
        }
        b.is_silent = b.is_garbage = false;
        kafka_rig_read_until(&rig, SOURCE_WORKING);
        kafka_rig_expect(&rig, LAG("0"), 6);
        b.is_silent = !is_garbage;
        b.is_garbage = is_garbage;
        assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
        assert_true(rig.took_ms < 2000);
        b.is_silent = b.is_garbage = false;
        kafka_rig_read_until(&rig, SOURCE_WORKING);
        kafka_rig_end(&rig);
        fake_broker_stop(&b);
    }
}

static void nobody_there_is_told_with_the_reason(void **state)
{
    struct fake_broker b = {.n_parts = 0};
    struct kafka_rig rig;

    (void)state;
    fake_broker_start(&b);
    fake_broker_stop(&b); /* its port is free now */
    rig = begun(&b, NULL, 0, 500);
    kafka_rig_begin(&rig);
    assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
    kafka_rig_says(&rig, "Connection refused");
    assert_int_equal(rig.err.code, -ECONNREFUSED);
    kafka_rig_end(&rig);
    rig.config.brokers = "no.such.host.invalid:9092";
    kafka_rig_begin(&rig);
    assert_int_equal(kafka_rig_read(&rig), SOURCE_BROKEN);
    kafka_rig_says(&rig, "no answer from no.such.host.invalid:9092 within 500 ms");
    kafka_rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_tells_its_members),
        cmocka_unit_test(a_group_that_nobody_knows_is_told),
        cmocka_unit_test(partitions_are_judged_one_by_one),
        cmocka_unit_test(refused_credentials_are_told_and_read_again),
        cmocka_unit_test(a_broker_without_sasl_is_told),
        cmocka_unit_test(a_broker_without_tls_is_told),
        cmocka_unit_test(silence_and_garbage_end_with_the_deadline),
        cmocka_unit_test(nobody_there_is_told_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
