/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka_ends.c - where the partitions end that groups have committed offsets for.
 *
 * librdkafka's question for offsets is one request per leader, waits for all of them, and says
 * nothing at all when one partition of many is refused. So it is put for each leader alone, with
 * its share of the time that is left; where partitions are refused, for halves of them, down to
 * those that are meant.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collect/kafka_private.h"

enum {
    SHARE_MIN_MS = 1000,
    AT_ONCE_MAX = 500, /* librdkafka looks up each answer by passing over the list */
};

static int end_cmp(const void *a, const void *b)
{
    const struct kafka_end *x = a, *y = b;
    int r = strcmp(x->topic, y->topic);

    return r != 0 ? r : (x->partition > y->partition) - (x->partition < y->partition);
}

static int leader_cmp(const void *a, const void *b)
{
    const struct kafka_end *const *x = a, *const *y = b;

    return ((*x)->leader > (*y)->leader) - ((*x)->leader < (*y)->leader);
}

const struct kafka_end *kafka_ends_find(const struct kafka_reading *r, const char *topic,
                                        int32_t partition)
{
    struct kafka_end key = {.topic = topic, .partition = partition};

    return r->n_ends > 0 ? bsearch(&key, r->ends, r->n_ends, sizeof(key), end_cmp) : NULL;
}

/* --- which ones --- */

static bool is_committed(const rd_kafka_topic_partition_t *p)
{
    return !p->err && p->offset >= 0;
}

static int gather(struct kafka_reading *r)
{
    size_t n = 0, n_unique = 0;

    for (size_t g = 0; g < r->k->config.n_groups; g++)
        n += r->groups[g].offsets ? (size_t)r->groups[g].offsets->cnt : 0;
    r->ends = arena_array(&r->arena, n, sizeof(*r->ends));
    if (!r->ends)
        return -ENOMEM;
    n = 0;
    for (size_t g = 0; g < r->k->config.n_groups; g++) {
        const rd_kafka_topic_partition_list_t *list = r->groups[g].offsets;

        for (int i = 0; list && i < list->cnt; i++) {
            if (is_committed(&list->elems[i]))
                r->ends[n++] = (struct kafka_end){.topic = list->elems[i].topic,
                                                  .partition = list->elems[i].partition,
                                                  .leader = -1,
                                                  .offset = -1};
        }
    }
    if (n > 0)
        qsort(r->ends, n, sizeof(*r->ends), end_cmp);
    for (size_t i = 0; i < n; i++) {
        if (n_unique == 0 || end_cmp(&r->ends[n_unique - 1], &r->ends[i]) != 0)
            r->ends[n_unique++] = r->ends[i];
    }
    r->n_ends = n_unique < KAFKA_PARTITIONS_MAX ? n_unique : KAFKA_PARTITIONS_MAX;
    if (n_unique > r->n_ends)
        kafka_ask_problem(r, RD_KAFKA_RESP_ERR__INVALID_ARG,
                          "kafka: the groups have committed offsets of %zu partitions, of which %d "
                          "are looked at; name topics",
                          n_unique, KAFKA_PARTITIONS_MAX);
    return 0;
}

static int32_t leader_of(const struct rd_kafka_metadata_topic *t, int32_t partition)
{
    for (int i = 0; i < t->partition_cnt; i++) {
        if (t->partitions[i].id == partition)
            return t->partitions[i].leader;
    }
    return -1;
}

/* By topic, so that each is looked up once. */
static void find_leaders(struct kafka_reading *r)
{
    const struct rd_kafka_metadata_topic *t = NULL;

    for (size_t i = 0; i < r->n_ends; i++) {
        if (i == 0 || strcmp(r->ends[i - 1].topic, r->ends[i].topic) != 0)
            t = kafka_ask_topic(r, r->ends[i].topic);
        r->ends[i].is_there = t != NULL;
        if (t && !t->err)
            r->ends[i].leader = leader_of(t, r->ends[i].partition);
    }
}

/* --- asked --- */

/* Nothing is gained by asking for some of them: the broker itself is not there. */
static bool is_of_broker(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__TIMED_OUT || err == RD_KAFKA_RESP_ERR__TRANSPORT ||
           err == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT || err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
}

static rd_kafka_resp_err_t ask_once(struct kafka_reading *r, struct kafka_end **at, size_t n,
                                    int64_t ms)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n);
    rd_kafka_resp_err_t err;

    for (size_t i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(list, at[i]->topic, at[i]->partition)->offset =
            RD_KAFKA_OFFSET_END;
    err = rd_kafka_offsets_for_times(r->k->link.rk, list, (int)ms);
    /* In the order in which they were added. */
    for (size_t i = 0; !err && i < n; i++) {
        if (!list->elems[i].err)
            at[i]->offset = list->elems[i].offset;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

/* The first error that is the broker's. */
static rd_kafka_resp_err_t ask(struct kafka_reading *r, struct kafka_end **at, size_t n,
                               mono_t until)
{
    int64_t ms = mono_diff(until, clock_mono()) / NS_PER_MS;
    rd_kafka_resp_err_t err;

    if (ms <= 0)
        return RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (n <= AT_ONCE_MAX) {
        err = ask_once(r, at, n, ms);
        if (is_of_broker(err))
            return err;
        if (!err || n == 1)
            return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    err = ask(r, at, n / 2, until);
    return err ? err : ask(r, at + n / 2, n - n / 2, until);
}

static void ask_leader(struct kafka_reading *r, struct kafka_end **at, size_t n, size_t n_left)
{
    int64_t left = kafka_ask_ms_left(r), share = n_left > 1 ? left / (int64_t)n_left : left;
    rd_kafka_resp_err_t err;

    if (share < SHARE_MIN_MS)
        share = left < SHARE_MIN_MS ? left : SHARE_MIN_MS;
    err = ask(r, at, n, mono_add(clock_mono(), share * NS_PER_MS));
    if (err)
        kafka_ask_problem(r, err,
                          "kafka: broker %d does not tell the ends of its %zu partitions: "
                          "%s",
                          at[0]->leader, n, rd_kafka_err2str(err));
}

int kafka_ends_ask(struct kafka_reading *r)
{
    struct kafka_end **order;
    size_t n_leaders = 0, n;
    int e = gather(r);

    if (e < 0)
        return e;
    find_leaders(r);
    order = arena_array(&r->arena, r->n_ends, sizeof(struct kafka_end *));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < r->n_ends; i++)
        order[i] = &r->ends[i];
    if (r->n_ends > 0)
        qsort(order, r->n_ends, sizeof(struct kafka_end *), leader_cmp);
    for (size_t i = 0; i < r->n_ends; i++)
        n_leaders += order[i]->leader >= 0 && (i == 0 || order[i]->leader != order[i - 1]->leader);
    for (size_t i = 0; i < r->n_ends; i += n) {
        for (n = 1; i + n < r->n_ends && order[i + n]->leader == order[i]->leader;)
            n++;
        if (order[i]->leader >= 0)
            ask_leader(r, order + i, n, n_leaders--);
    }
    return 0;
}
