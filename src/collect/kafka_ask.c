/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka_ask.c - questions about topics and groups, all with the reading's deadline.
 *
 * All topics are asked for, never some by name: a question by name makes a broker create the topic
 * that it does not have (auto.create.topics.enable).
 *
 * Not by librdkafka's admin requests to coordinators (ListConsumerGroupOffsets,
 * DescribeConsumerGroups): those that time out abort the process when the coordinator comes back
 * (its issue 4605). rd_kafka_committed needs a handle for each group, and names of partitions.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collect/kafka_private.h"

enum { ASK_MIN_MS = 10, AT_ONCE_MAX = 1000, TOPICS_TRIES_MAX = 3, SHARE_MIN_NS = 100 * NS_PER_MS };

int64_t kafka_ask_ms_left(const struct kafka_reading *r)
{
    int64_t ms = mono_diff(r->until, clock_mono()) / NS_PER_MS;

    return ms > ASK_MIN_MS ? ms : ASK_MIN_MS;
}

void kafka_ask_problem(struct kafka_reading *r, rd_kafka_resp_err_t err, const char *fmt, ...)
{
    char words[sizeof(r->problem.text)];
    va_list args;

    if (r->n_problems++ > 0)
        return;
    va_start(args, fmt);
    (void)vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    (void)err_set(&r->problem, kafka_link_errno(err), "%s", words);
    err_hint(&r->problem, "%s", kafka_link_hint(err));
}

/* --- topics --- */

/* Again where the broker that was chosen went away meanwhile: another one is chosen then. */
rd_kafka_resp_err_t kafka_ask_topics(struct kafka_reading *r)
{
    int64_t share_ms = kafka_ask_ms_left(r) / TOPICS_TRIES_MAX + 1;
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;

    for (int i = 0; i < TOPICS_TRIES_MAX && err; i++)
        err = rd_kafka_metadata(r->k->link.rk, 1, NULL, &r->md, (int)share_ms);
    return err;
}

typedef const struct rd_kafka_metadata_topic *topic_ref;

static int compare_topics(const void *a, const void *b)
{
    return strcmp((*(const topic_ref *)a)->topic, (*(const topic_ref *)b)->topic);
}

static int compare_name(const void *name, const void *at)
{
    return strcmp(name, (*(const topic_ref *)at)->topic);
}

int kafka_ask_sort_topics(struct kafka_reading *r)
{
    size_t n = (size_t)r->md->topic_cnt;

    r->topics = arena_array(&r->arena, n + 1, sizeof(topic_ref));
    if (!r->topics)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        r->topics[i] = &r->md->topics[i];
    qsort(r->topics, n, sizeof(topic_ref), compare_topics);
    return 0;
}

const struct rd_kafka_metadata_topic *kafka_ask_topic(const struct kafka_reading *r,
                                                      const char *name)
{
    const topic_ref *at =
        bsearch(name, r->topics, (size_t)r->md->topic_cnt, sizeof(topic_ref), compare_name);

    return at ? *at : NULL;
}

/* Topics of Kafka's own are not asked about unless named. */
static bool is_asked(const struct kafka_config *c, const struct rd_kafka_metadata_topic *t)
{
    if (t->err)
        return false;
    for (size_t i = 0; i < c->n_topics; i++) {
        if (strcmp(c->topics[i], t->topic) == 0)
            return true;
    }
    return c->n_topics == 0 && strncmp(t->topic, "__", 2) != 0;
}

/* --- offsets --- */

/* Those of list, once more; what was not committed is left out. */
static void take_offsets(struct kafka_group *g, const rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        rd_kafka_topic_partition_t *kept;

        if (!p->err && p->offset < 0)
            continue;
        kept = rd_kafka_topic_partition_list_add(g->offsets, p->topic, p->partition);
        kept->offset = p->offset;
        kept->err = p->err;
    }
}

/* list is given away. */
static rd_kafka_resp_err_t ask_part(rd_kafka_t *rk, struct kafka_group *g,
                                    rd_kafka_topic_partition_list_t *list, mono_t until)
{
    int64_t ms = mono_diff(until, clock_mono()) / NS_PER_MS;
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

    if (list->cnt > 0)
        err = ms <= 0 ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_committed(rk, list, (int)ms);
    if (!err)
        take_offsets(g, list);
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

/* In parts, since librdkafka looks up each answer by passing over the list. */
static rd_kafka_resp_err_t ask_offsets(struct kafka_reading *r, size_t i_group, mono_t until)
{
    rd_kafka_t *rk = r->k->of_groups[i_group].rk;
    struct kafka_group *g = &r->groups[i_group];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(0);
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    int n = 0;

    for (int i = 0; i < r->md->topic_cnt && !err; i++) {
        const struct rd_kafka_metadata_topic *t = &r->md->topics[i];

        if (!is_asked(&r->k->config, t))
            continue;
        for (int p = 0; p < t->partition_cnt && n < KAFKA_PARTITIONS_MAX && !err; p++, n++) {
            if (list->cnt == AT_ONCE_MAX) {
                err = ask_part(rk, g, list, until);
                list = rd_kafka_topic_partition_list_new(0);
            }
            (void)rd_kafka_topic_partition_list_add(list, t->topic, t->partitions[p].id);
        }
    }
    if (err) {
        rd_kafka_topic_partition_list_destroy(list);
        return err;
    }
    return ask_part(rk, g, list, until);
}

static void ask_group(struct kafka_reading *r, size_t i, mono_t until)
{
    struct kafka_link *l = &r->k->of_groups[i];
    struct kafka_group *g = &r->groups[i];
    rd_kafka_resp_err_t err;

    g->offsets = rd_kafka_topic_partition_list_new(0);
    err = ask_offsets(r, i, until);
    kafka_link_listen(l);
    if (!err) {
        l->reason.err = RD_KAFKA_RESP_ERR_NO_ERROR;
        return;
    }
    rd_kafka_topic_partition_list_destroy(g->offsets);
    g->offsets = NULL;
    kafka_ask_problem(r, l->reason.err ? l->reason.err : err,
                      "kafka: group \"%.*s\" cannot be asked: %s", KAFKA_NAME_SHOWN_MAX, l->group,
                      l->reason.err ? l->reason.words : rd_kafka_err2str(err));
}

/* Half of the time is theirs, each with its share: a coordinator that hangs leaves the rest. */
void kafka_ask_groups(struct kafka_reading *r)
{
    size_t n = r->k->config.n_groups;
    mono_t half = mono_add(clock_mono(), kafka_ask_ms_left(r) * NS_PER_MS / 2);

    for (size_t i = 0; i < n; i++) {
        int64_t share_ns = mono_diff(half, clock_mono()) / (int64_t)(n - i);
        struct err why;

        if (share_ns < SHARE_MIN_NS)
            share_ns = SHARE_MIN_NS;
        if (share_ns > mono_diff(r->until, clock_mono()))
            share_ns = mono_diff(r->until, clock_mono());
        if (kafka_link_open_group(r->k, i, &why) == 0)
            ask_group(r, i, mono_add(clock_mono(), share_ns));
        else
            kafka_ask_problem(r, RD_KAFKA_RESP_ERR__FAIL, "%s", why.text);
    }
}

/* --- members --- */

static const struct {
    const char *word; /* the broker's */
    const char *name;
} states[] = {
    {"Stable", "stable"},
    {"Empty", "empty"},
    {"PreparingRebalance", "preparing_rebalance"},
    {"CompletingRebalance", "completing_rebalance"},
    {"AwaitingSync", "completing_rebalance"}, /* before 1.1 */
    {"Dead", "dead"},
};

static const char *state_name(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (strcmp(states[i].word, word) == 0)
            return states[i].name;
    }
    return NULL;
}

static rd_kafka_resp_err_t ask_members(struct kafka_reading *r, size_t i_group, int64_t ms)
{
    struct kafka_group *g = &r->groups[i_group];
    const struct rd_kafka_group_list *list = NULL;
    rd_kafka_resp_err_t err =
        rd_kafka_list_groups(r->k->link.rk, r->k->config.groups[i_group], &list, (int)ms);

    if (!list)
        return err;
    if (list->group_cnt == 1 && !list->groups[0].err) {
        g->is_described = true;
        g->state = state_name(list->groups[0].state);
        g->n_members = list->groups[0].member_cnt;
    }
    g->is_unknown = !err && list->group_cnt == 0;
    rd_kafka_group_list_destroy(list);
    return err;
}

void kafka_ask_members(struct kafka_reading *r)
{
    for (size_t i = 0; i < r->k->config.n_groups; i++) {
        int64_t left = mono_diff(r->until, clock_mono()) / NS_PER_MS;

        if (left <= ASK_MIN_MS)
            return;
        /* What brokers do not tell of one group they tell of none. */
        if (r->groups[i].offsets &&
            ask_members(r, i, left) == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE)
            return;
    }
}
