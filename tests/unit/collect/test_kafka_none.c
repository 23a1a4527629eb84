/* SPDX-License-Identifier: Apache-2.0 */
/* collect/kafka in a build without librdkafka (-DKAFKA=OFF): it says so. */
#include "kafka_rig.h"

#include <errno.h>

static void it_says_so(void **state)
{
    static const char *const groups[] = {"g"};
    struct kafka_rig rig = {
        .config = {.brokers = "localhost:9092", .groups = groups, .n_groups = 1}};

    (void)state;
    assert_int_equal(source_kafka.begin(&rig.config, &rig.source, &rig.err), -ENOTSUP);
    kafka_rig_says(&rig, "built without Kafka");
    rig.err = (struct err){0};
    assert_int_equal(kafka_check(&rig.config, &rig.err), -ENOTSUP);
    kafka_rig_says(&rig, "built without Kafka");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
