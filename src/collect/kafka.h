/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka.h - how far consumer groups of a Kafka cluster are behind (source_kafka).
 *
 * Role:      one cluster, asked through librdkafka: offsets that its groups have committed, then
 *            the ends of those partitions, so that no message in between makes a lag negative. The
 *            lag of a partition is what lies between: kafka_consumer_lag, the signal
 *            (engine/signal.h) under which a kafka_exporter's lag is kept, too. The series beside
 *            it have kafka_exporter's names. Several clusters are several sources.
 * Lag:       in offsets. Markers of transactions and compacted messages count; messages of a
 *            transaction that is still open count as well, unless isolation.level says otherwise.
 * Missing:   a partition for which nothing was committed, whose end nobody tells, or that is behind
 *            its end by less than nothing has no lag; the latter two are trouble, which
 *            kafka_lag_trouble_total counts. Members and state where the broker tells them.
 * States:    working; broken: no answer within the deadline, credentials or rights refused, a topic
 *            or group that does not exist, a broker that does not answer for its partitions. What
 *            could be learnt of the other groups and partitions is there even then.
 * Bounds:    a reading takes deadline_ms at most (and what closing a link takes after refused
 *            credentials); connections stay open between readings.
 * Secrets:   from files or environment; blotted out of what brokers say. Files are read again after
 *            credentials were refused. librdkafka's own log goes nowhere.
 * Cost:      a list of all topics, a question per leader of partitions, per group one for each 1000
 *            partitions of topics that are named, or of all; who is in a group is asked of each
 *            broker. Name topics in clusters of many thousand partitions.
 * Limits:    KAFKA_GROUPS_MAX, KAFKA_PARTITIONS_MAX of all groups together.
 * Memory:    librdkafka allocates by itself, which base/mem.h neither counts nor bounds: some
 *            MiB for each link, of which there is one for each group and one for all. A link has
 *            connections and threads of its own, one for each broker.
 * Threading: the source's.
 * Build:     without librdkafka (cmake -DKAFKA=OFF) begin says so, -ENOTSUP.
 * Source:    librdkafka's rdkafka.h, Kafka's protocol guide.
 */
#ifndef COLLECT_KAFKA_H
#define COLLECT_KAFKA_H

#include "collect/source_out.h"

enum {
    KAFKA_DEADLINE_MS = 8 * 1000,
    KAFKA_DEADLINE_MIN_MS = 100,
    KAFKA_DEADLINE_MAX_MS = 300 * 1000,
    KAFKA_GROUPS_MAX = 50,
    KAFKA_PARTITIONS_MAX = 20000,
    KAFKA_SECRET_BYTES_MAX = 64 * 1024,
};

/* A property of librdkafka, as its CONFIGURATION.md has them; one of value, file, env. */
struct kafka_property {
    const char *name;  /* "security.protocol" */
    const char *value; /* not of passwords and keys */
    const char *file;  /* its first KAFKA_SECRET_BYTES_MAX bytes, without the line's end */
    const char *env;   /* name of a variable */
};

struct kafka_config {
    const char *cluster; /* label of all series; NULL: none */
    const char *brokers; /* "host:port, host:port" */
    const struct kafka_property *properties;
    size_t n_properties;
    const char *const *groups;
    size_t n_groups;
    const char *const *topics; /* none: all that a group has committed */
    size_t n_topics;
    int64_t deadline_ms; /* of a reading; 0: KAFKA_DEADLINE_MS */
};

/* Whether a property's value is a password or key, by its name: also those of a newer librdkafka.
 */
bool kafka_is_secret(const char *name);
/* What source_kafka's begin refuses, but for what only connecting tells. -EINVAL, -ENOTSUP. */
int kafka_check(const struct kafka_config *c, struct err *reterr) WARN_UNUSED;

extern const struct source_series kafka_series[];
extern const size_t kafka_series_n;

#endif
