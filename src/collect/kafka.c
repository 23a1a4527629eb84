/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka.c - a reading: committed offsets first, then the ends, and what lies between.
 *
 * In that order a message that comes meanwhile makes a lag larger by itself, never negative; so a
 * negative one is a reset, or a leader that lost messages.
 */
#include "collect/kafka.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "collect/kafka_private.h"
#include "engine/signal.h"

enum { NUMBER_MAX = 16, LABELS_MAX = 5 };

static const char *const trouble_names[KAFKA_TROUBLE_COUNT_] = {
    [KAFKA_NEGATIVE] = "negative",
    [KAFKA_END] = "end",
    [KAFKA_OFFSET] = "offset",
    [KAFKA_GROUP] = "group",
};
static const char *const states[] = {"stable", "empty", "preparing_rebalance",
                                     "completing_rebalance", "dead"};

static void end(void *source)
{
    struct kafka *k = source;

    kafka_link_close(k);
    mem_free(k->of_groups);
    mem_free(k->n_trouble);
    mem_free(k);
}

static int begin(const void *config, void **ret, struct err *reterr)
{
    const struct kafka_config *c = config;
    struct kafka *k = mem_zalloc(1, sizeof(*k));
    int r;

    if (!k)
        return err_set(reterr, -ENOMEM, "out of memory");
    k->config = *c;
    k->deadline_ms = c->deadline_ms ? c->deadline_ms : KAFKA_DEADLINE_MS;
    r = kafka_link_open(k, reterr);
    if (r == 0) { /* n_groups is known to be sane */
        k->of_groups = mem_zalloc(c->n_groups, sizeof(*k->of_groups));
        k->n_trouble = mem_zalloc(c->n_groups, sizeof(*k->n_trouble));
        if (!k->of_groups || !k->n_trouble)
            r = err_set(reterr, -ENOMEM, "out of memory");
    }
    if (r < 0) {
        end(k);
        return r;
    }
    *ret = k;
    return 0;
}

/* --- samples --- */

/* Labels of a sample; those with an empty value are left out. */
struct tags {
    struct label at[LABELS_MAX];
    size_t n;
};

static struct tags tags_of(const struct kafka_reading *r)
{
    return (struct tags){{{SPAN_INIT("cluster"), span_cstr(r->k->config.cluster)}}, 1};
}

static struct tags tagged(struct tags t, const char *name, const char *value)
{
    t.at[t.n++] = (struct label){span_cstr(name), span_cstr(value)};
    return t;
}

static void add(struct source_out *o, const char *series, const struct tags *t, double v)
{
    source_out_add(o, series, t->at, t->n, v);
}

static void add_lags(struct kafka_reading *r, size_t i_group, struct tags of_group,
                     struct source_out *o)
{
    const rd_kafka_topic_partition_list_t *list = r->groups[i_group].offsets;
    uint64_t *n_trouble = r->k->n_trouble[i_group];

    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        const struct kafka_end *e = kafka_ends_find(r, p->topic, p->partition);
        char partition[NUMBER_MAX];
        struct tags t = tagged(of_group, "topic", p->topic);

        n_trouble[KAFKA_OFFSET] += p->err != RD_KAFKA_RESP_ERR_NO_ERROR;
        if (!e) /* nothing committed, refused, or beyond what is looked at */
            continue;
        (void)snprintf(partition, sizeof(partition), "%d", p->partition);
        t = tagged(t, "partition", partition);
        add(o, "kafka_consumergroup_current_offset", &t, (double)p->offset);
        if (e->offset < 0)
            n_trouble[KAFKA_END] += e->is_there;
        else if (e->offset < p->offset)
            n_trouble[KAFKA_NEGATIVE]++;
        else
            add(o, signal_table[SIGNAL_CONSUMER_LAG].series, &t, (double)(e->offset - p->offset));
    }
}

static void add_ends(const struct kafka_reading *r, struct source_out *o)
{
    for (size_t i = 0; i < r->n_ends; i++) {
        const struct kafka_end *e = &r->ends[i];
        char partition[NUMBER_MAX];
        struct tags t = tagged(tags_of(r), "topic", e->topic);

        (void)snprintf(partition, sizeof(partition), "%d", e->partition);
        t = tagged(t, "partition", partition);
        if (e->offset >= 0)
            add(o, "kafka_topic_partition_current_offset", &t, (double)e->offset);
    }
}

static void add_group(struct kafka_reading *r, size_t i, struct source_out *o)
{
    const struct kafka_group *g = &r->groups[i];
    struct tags t = tagged(tags_of(r), "consumergroup", r->k->config.groups[i]);

    if (g->is_described) {
        add(o, "kafka_consumergroup_members", &t, g->n_members);
        for (size_t s = 0; s < ARRAY_LEN(states) && g->state; s++) {
            struct tags with_state = tagged(t, "state", states[s]);

            add(o, "kafka_consumergroup_state", &with_state, strcmp(g->state, states[s]) == 0);
        }
    }
    if (g->offsets)
        add_lags(r, i, t, o);
    else
        r->k->n_trouble[i][KAFKA_GROUP]++;
    for (size_t n = 0; n < KAFKA_TROUBLE_COUNT_; n++) {
        struct tags with_reason = tagged(t, "reason", trouble_names[n]);

        add(o, "kafka_lag_trouble_total", &with_reason, (double)r->k->n_trouble[i][n]);
    }
}

static void add_all(struct kafka_reading *r, struct source_out *o)
{
    struct tags t = tags_of(r);

    if (r->md)
        add(o, "kafka_brokers", &t, r->md->broker_cnt);
    for (size_t i = 0; i < r->k->config.n_groups; i++)
        add_group(r, i, o);
    add_ends(r, o);
    add(o, "kafka_up", &t, r->n_problems == 0);
}

/* --- a reading --- */

static void nobody_answers(struct kafka_reading *r, rd_kafka_resp_err_t err)
{
    const struct kafka_reason *why = &r->k->link.reason;

    if (kafka_link_is_refused(why->err))
        kafka_ask_problem(r, why->err, "kafka: %.*s refuses us: %s", KAFKA_NAME_SHOWN_MAX,
                          r->k->config.brokers, why->words);
    else
        kafka_ask_problem(r, why->err ? why->err : err,
                          "kafka: no answer from %.*s within %lld ms: %s", KAFKA_NAME_SHOWN_MAX,
                          r->k->config.brokers, (long long)r->k->deadline_ms,
                          why->err ? why->words : rd_kafka_err2str(err));
}

/* A group is listed for as long as it has members or offsets. */
static bool is_unknown(const struct kafka_group *g)
{
    return g->is_unknown && g->offsets->cnt == 0;
}

static void judge_groups(struct kafka_reading *r)
{
    for (size_t i = 0; i < r->k->config.n_groups; i++) {
        if (r->groups[i].offsets && is_unknown(&r->groups[i]))
            kafka_ask_problem(r, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND,
                              "kafka: there is no group \"%.*s\"", KAFKA_NAME_SHOWN_MAX,
                              r->k->config.groups[i]);
    }
}

static void judge_topics(struct kafka_reading *r)
{
    const struct kafka_config *c = &r->k->config;

    for (size_t i = 0; i < c->n_topics; i++) {
        const struct rd_kafka_metadata_topic *t = kafka_ask_topic(r, c->topics[i]);

        if (!t)
            kafka_ask_problem(r, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
                              "kafka: there is no topic \"%.*s\"", KAFKA_NAME_SHOWN_MAX,
                              c->topics[i]);
        else if (t->err)
            kafka_ask_problem(r, t->err, "kafka: topic \"%.*s\": %s", KAFKA_NAME_SHOWN_MAX,
                              c->topics[i], rd_kafka_err2str(t->err));
    }
}

static int ask_all(struct kafka_reading *r)
{
    rd_kafka_resp_err_t err = kafka_ask_topics(r);
    int e;

    kafka_link_listen(&r->k->link);
    if (err) {
        nobody_answers(r, err);
        return 0;
    }
    e = kafka_ask_sort_topics(r);
    if (e < 0)
        return e;
    kafka_ask_groups(r);
    judge_topics(r);
    e = kafka_ends_ask(r);
    kafka_ask_members(r);
    judge_groups(r);
    kafka_link_listen(&r->k->link);
    return e;
}

static void done(struct kafka_reading *r)
{
    for (size_t i = 0; r->groups && i < r->k->config.n_groups; i++) {
        if (r->groups[i].offsets)
            rd_kafka_topic_partition_list_destroy(r->groups[i].offsets);
    }
    if (r->md)
        rd_kafka_metadata_destroy(r->md);
    arena_done(&r->arena);
}

static int ask_if_open(struct kafka_reading *r)
{
    struct kafka *k = r->k;

    r->groups = arena_zalloc(&r->arena, k->config.n_groups, sizeof(*r->groups));
    if (!r->groups)
        return -ENOMEM;
    if (!k->link.rk && kafka_link_open(k, &r->problem) < 0) {
        r->n_problems++;
        return 0;
    }
    r->until = mono_add(clock_mono(), k->deadline_ms * NS_PER_MS);
    return ask_all(r);
}

/* Nobody asks with what was refused until the next reading, which reads files again. */
static void judge_link(const struct kafka_reading *r)
{
    struct kafka *k = r->k;

    if (r->md)
        k->link.reason.err = RD_KAFKA_RESP_ERR_NO_ERROR;
    else if (kafka_link_is_refused(k->link.reason.err))
        kafka_link_close(k);
}

static enum source_state read_lags(void *source, int64_t t_ms, struct batch *out,
                                   struct err *reterr)
{
    struct kafka_reading r = {.k = source};
    struct source_out o;
    int e;

    source_out_begin(&o, out, t_ms);
    arena_init(&r.arena, NULL);
    o.r = ask_if_open(&r);
    if (o.r == 0)
        add_all(&r, &o);
    e = source_out_end(&o, reterr);
    if (e == 0 && r.n_problems > 0 && reterr)
        *reterr = r.problem;
    judge_link(&r);
    done(&r);
    return e < 0 || r.n_problems > 0 ? SOURCE_BROKEN : SOURCE_WORKING;
}

const struct source_kind source_kafka = {"kafka", begin, read_lags, end};
