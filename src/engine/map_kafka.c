/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_kafka.c - kafka_exporter. -1 means unknown; lag or lag_sum, never both.
 */
#include "engine/map_private.h"

static const struct engine_name names[] = {
    {"kafka_broker_info", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_brokers", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_consumergroup_current_offset", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_consumergroup_current_offset_sum", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_consumergroup_lag", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_consumergroup_lag_sum", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_consumergroup_members", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_consumergroupzookeeper_lag_zookeeper", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partition_current_offset", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partition_in_sync_replica", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partition_leader", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partition_leader_is_preferred", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partition_oldest_offset", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partition_replicas", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partition_under_replicated_partition", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"kafka_topic_partitions", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_CONSUMER_LAG,
     .part = {M("kafka_consumergroup_lag")},
     .flags = ENGINE_SOURCE_MINUS_ONE},
    {.signal = SIGNAL_CONSUMER_LAG,
     .part = {M("kafka_consumergroup_lag_sum")},
     .flags = ENGINE_SOURCE_MINUS_ONE,
     .note = "over all partitions of a topic"},
    {.signal = SIGNAL_CONSUMER_LAG,
     .part = {M("kafka_consumergroupzookeeper_lag_zookeeper")},
     .flags = ENGINE_SOURCE_MINUS_ONE,
     .note = "of consumers that keep their offsets in ZooKeeper"},
};

static const struct engine_prefix prefixes[] = {
    {.as = "kafka_", .in_table = "kafka_", .n_min = 1},
    {.as = NULL},
};

static const enum signal expected[] = {
    SIGNAL_CONSUMER_LAG,
};

const struct engine_map map_kafka = {
    .name = "kafka_exporter",
    .title = "kafka_exporter",
    .rank = ENGINE_RANK_ENGINE,
    .prefixes = prefixes,
    .names = names,
    .n_names = ARRAY_LEN(names),
    .sources = sources,
    .n_sources = ARRAY_LEN(sources),
    .expected = expected,
    .n_expected = ARRAY_LEN(expected),
    .print_version = map_print_release,
    .when_absent = "no consumer group has committed an offset",
};
