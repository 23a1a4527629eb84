/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka_private.h - what the files of source_kafka share.
 *
 * Role:      kafka_check.c the configuration; kafka_link.c the handle, why brokers refuse;
 *            kafka_ask.c questions with a deadline; kafka_ends.c where partitions end; kafka.c a
 *            reading.
 * Ownership: librdkafka's lists and events belong to a reading and are given back by it.
 */
#ifndef COLLECT_KAFKA_PRIVATE_H
#define COLLECT_KAFKA_PRIVATE_H

#include <librdkafka/rdkafka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "collect/kafka.h"

enum { KAFKA_NAME_SHOWN_MAX = 80, KAFKA_WORDS_MAX = 240, KAFKA_SECRETS_MAX = 200 };

enum kafka_trouble { KAFKA_NEGATIVE, KAFKA_END, KAFKA_OFFSET, KAFKA_GROUP, KAFKA_TROUBLE_COUNT_ };

/* What librdkafka said went wrong on its connections: the most telling of it. */
struct kafka_reason {
    rd_kafka_resp_err_t err; /* 0: nothing */
    char words[KAFKA_WORDS_MAX];
};

struct kafka_secrets {
    char *at[KAFKA_SECRETS_MAX];
    size_t n;
};
/* A handle of librdkafka, with threads and connections of its own. */
struct kafka_link {
    struct kafka *k;
    const char *group; /* whose offsets it asks for; NULL: it asks for topics and ends */
    rd_kafka_t *rk;    /* NULL: to be opened */
    struct kafka_reason reason;
};
struct kafka {
    struct kafka_config config;
    int64_t deadline_ms;
    rd_kafka_conf_t *conf; /* of all links */
    struct kafka_secrets secrets;
    struct kafka_link link, *of_groups;
    uint64_t (*n_trouble)[KAFKA_TROUBLE_COUNT_]; /* of each group */
};

/* kafka_check.c */
int kafka_check_make(const struct kafka_config *c, struct kafka_secrets *secrets,
                     rd_kafka_conf_t **ret, struct err *reterr) WARN_UNUSED;
void kafka_check_forget(struct kafka_secrets *secrets);

/* kafka_link.c */
int kafka_link_open(struct kafka *k, struct err *reterr) WARN_UNUSED;
/* That of a group, where it is not open yet. */
int kafka_link_open_group(struct kafka *k, size_t i_group, struct err *reterr) WARN_UNUSED;
void kafka_link_close(struct kafka *k);       /* all of them */
void kafka_link_listen(struct kafka_link *l); /* takes in what went wrong by now */
bool kafka_link_is_refused(rd_kafka_resp_err_t err);
/* A text of librdkafka or a broker for people: one line, without secrets. Returns dst. */
const char *kafka_link_words(const struct kafka *k, const char *text, char dst[KAFKA_WORDS_MAX]);
/* What it is for err_set and err_hint. */
int kafka_link_errno(rd_kafka_resp_err_t err);
const char *kafka_link_hint(rd_kafka_resp_err_t err);

/* One reading. */
struct kafka_group {
    rd_kafka_topic_partition_list_t *offsets; /* NULL: not told */
    bool is_unknown;                          /* brokers list it not */
    bool is_described;
    const char *state; /* its name in kafka_series; NULL: one that we do not know */
    int n_members;
};
struct kafka_end {
    const char *topic; /* of a group's list */
    int32_t partition;
    int32_t leader; /* -1: there is none */
    bool is_there;  /* its topic is; offsets outlive a topic */
    int64_t offset; /* < 0: not told */
};
struct kafka_reading {
    struct kafka *k;
    mono_t until;
    struct arena arena;
    struct kafka_group *groups; /* as in the configuration */
    const struct rd_kafka_metadata *md;
    const struct rd_kafka_metadata_topic **topics; /* of md, by name */
    struct kafka_end *ends;                        /* by topic and partition */
    size_t n_ends;
    size_t n_problems;
    struct err problem; /* the first */
};

/* kafka_ask.c */
int64_t kafka_ask_ms_left(const struct kafka_reading *r);
rd_kafka_resp_err_t kafka_ask_topics(struct kafka_reading *r);
/* Behind it, for kafka_ask_topic. -ENOMEM. */
int kafka_ask_sort_topics(struct kafka_reading *r) WARN_UNUSED;
/* Offsets of all groups; a group that is refused is a problem and has none. */
void kafka_ask_groups(struct kafka_reading *r);
/* What brokers tell of the members of those that have offsets, as long as there is time. */
void kafka_ask_members(struct kafka_reading *r);
/* Adds a problem; hint as err has it. */
void kafka_ask_problem(struct kafka_reading *r, rd_kafka_resp_err_t err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
const struct rd_kafka_metadata_topic *kafka_ask_topic(const struct kafka_reading *r,
                                                      const char *name);

/* kafka_ends.c */
int kafka_ends_ask(struct kafka_reading *r) WARN_UNUSED;
const struct kafka_end *kafka_ends_find(const struct kafka_reading *r, const char *topic,
                                        int32_t partition);

#endif
