/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/kafka.h"

const struct source_series kafka_series[] = {
    {"kafka_up", METRIC_GAUGE, "", "cluster",
     "1: all that was to be asked was answered; 0: it was not."},
    {"kafka_brokers", METRIC_GAUGE, "", "cluster", "Brokers of the cluster."},
    {"kafka_consumergroup_current_offset", METRIC_GAUGE, "messages",
     "cluster, consumergroup, topic, partition",
     "Offset that the group has committed: where it goes on after a restart."},
    {"kafka_topic_partition_current_offset", METRIC_GAUGE, "messages", "cluster, topic, partition",
     "End of the partition: the offset that its next message will have."},
    {"kafka_consumergroup_members", METRIC_GAUGE, "", "cluster, consumergroup",
     "Consumers that are in the group."},
    {"kafka_consumergroup_state", METRIC_GAUGE, "", "cluster, consumergroup, state",
     "1 for the state that the group is in, 0 for the others: stable, empty (no consumer), "
     "preparing_rebalance, completing_rebalance, dead."},
    {"kafka_lag_trouble_total", METRIC_COUNTER, "", "cluster, consumergroup, reason",
     "Lags that could not be told since the start: negative (committed beyond the end: offsets or "
     "the topic were reset, a leader lost messages), end (nobody tells the partition's end), "
     "offset (the offset is refused), group (nothing is told of the group)."},
};
const size_t kafka_series_n = ARRAY_LEN(kafka_series);
