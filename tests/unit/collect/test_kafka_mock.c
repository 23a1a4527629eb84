/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka against librdkafka's mock cluster: lags, and every failure that it can play.
 *
 * The mock lists no offsets without partitions and describes no groups, as old brokers; what newer
 * ones say is in test_kafka_broker.c.
 */
#include "collect/kafka_private.h"
#include "kafka_rig.h"
#include "memfail.h"

#include <errno.h>
#include <stdio.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#define NONE ((double)NAN)

enum { API_LIST_OFFSETS = 2, API_OFFSET_FETCH = 9, API_FIND_COORDINATOR = 10 };

static const char *const group_g[] = {"g"};
static const char *const group_g_h[] = {"g", "h"};

struct mock {
    rd_kafka_t *rk; /* a producer, which has the cluster */
    rd_kafka_mock_cluster_t *cluster;
    struct kafka_rig rig;
};

static void quiet(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    (void)level;
    (void)facility;
    (void)text;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    assert_int_equal(rd_kafka_conf_set(conf, name, value, NULL, 0), RD_KAFKA_CONF_OK);
}

static struct mock mock_open(const char *n_brokers)
{
    struct mock m = {.rk = NULL};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();

    set(conf, "test.mock.num.brokers", n_brokers);
    rd_kafka_conf_set_log_cb(conf, quiet);
    m.rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
    assert_non_null(m.rk);
    m.cluster = rd_kafka_handle_mock_cluster(m.rk);
    m.rig.config = (struct kafka_config){.brokers = rd_kafka_mock_cluster_bootstraps(m.cluster),
                                         .groups = group_g,
                                         .n_groups = 1,
                                         .deadline_ms = 4000};
    return m;
}

static void mock_close(struct mock *m)
{
    if (m->rig.source)
        kafka_rig_end(&m->rig);
    rd_kafka_destroy(m->rk);
}

static void topic(struct mock *m, const char *name, int n_partitions)
{
    assert_int_equal(rd_kafka_mock_topic_create(m->cluster, name, n_partitions, 1), 0);
}

static void produce(struct mock *m, const char *name, int partition, int n)
{
    rd_kafka_topic_t *t = rd_kafka_topic_new(m->rk, name, NULL);
    char text[] = "x";

    assert_non_null(t);
    for (int i = 0; i < n; i++)
        assert_int_equal(
            rd_kafka_produce(t, partition, RD_KAFKA_MSG_F_COPY, text, 1, NULL, 0, NULL), 0);
    assert_int_equal(rd_kafka_flush(m->rk, 10000), 0);
    rd_kafka_topic_destroy(t);
}

static void commit(struct mock *m, const char *group, const char *name, int partition,
                   int64_t offset)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_t *consumer;

    set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(m->cluster));
    set(conf, "group.id", group);
    rd_kafka_conf_set_log_cb(conf, quiet);
    consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
    assert_non_null(consumer);
    rd_kafka_topic_partition_list_add(list, name, partition)->offset = offset;
    assert_int_equal(rd_kafka_commit(consumer, list, 0), 0);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(consumer);
}

/* One topic with one partition, ten messages of which four are read, and the source begun. */
static struct mock mock_with_lag(const char *n_brokers)
{
    struct mock m = mock_open(n_brokers);

    topic(&m, "a", 1);
    produce(&m, "a", 0, 10);
    commit(&m, "g", "a", 0, 4);
    return m;
}

#define LAG_A0          "kafka_consumer_lag{consumergroup=\"g\", partition=\"0\", topic=\"a\"}"
#define TROUBLE(reason) "kafka_lag_trouble_total{consumergroup=\"g\", reason=\"" reason "\"}"

static void lags_are_ends_minus_committed(void **state)
{
    struct mock m = mock_open("3");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    topic(&m, "a", 3);
    topic(&m, "b", 2);
    topic(&m, "c", 1);
    produce(&m, "a", 0, 10);
    produce(&m, "a", 1, 5);
    produce(&m, "b", 1, 7);
    produce(&m, "c", 0, 3);
    commit(&m, "g", "a", 0, 4);
    commit(&m, "g", "a", 1, 5);
    commit(&m, "g", "b", 1, 0);
    commit(&m, "h", "b", 1, 6);
    rig->config.groups = group_g_h;
    rig->config.n_groups = 2;
    kafka_rig_begin(rig);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    kafka_rig_expect(rig, LAG_A0, 6);
    kafka_rig_expect(rig, "kafka_consumer_lag{consumergroup=\"g\", partition=\"1\", topic=\"a\"}",
                     0);
    kafka_rig_expect(rig, "kafka_consumer_lag{consumergroup=\"g\", partition=\"1\", topic=\"b\"}",
                     7);
    kafka_rig_expect(rig, "kafka_consumer_lag{consumergroup=\"h\", partition=\"1\", topic=\"b\"}",
                     1);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 4); /* the rest is missing */
    kafka_rig_expect(
        rig,
        "kafka_consumergroup_current_offset{consumergroup=\"h\", partition=\"1\", topic=\"b\"}", 6);
    kafka_rig_expect(rig, "kafka_topic_partition_current_offset{partition=\"1\", topic=\"b\"}", 7);
    assert_int_equal(kafka_rig_count(rig, "kafka_topic_partition_current_offset"), 3);
    kafka_rig_expect(rig, "kafka_brokers", 3);
    kafka_rig_expect(rig, "kafka_up", 1);
    kafka_rig_expect(rig, TROUBLE("negative"), 0);
    kafka_rig_expect(rig, TROUBLE("end"), 0);
    kafka_rig_expect(rig, TROUBLE("offset"), 0);
    kafka_rig_expect(rig, TROUBLE("group"), 0);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumergroup_members"), 0); /* not told */
    assert_int_equal(kafka_rig_count(rig, "kafka_consumergroup_state"), 0);

    produce(&m, "a", 0, 2);
    commit(&m, "g", "b", 1, 3);
    commit(&m, "g", "c", 0, 1);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    kafka_rig_expect(rig, LAG_A0, 8);
    kafka_rig_expect(rig, "kafka_consumer_lag{consumergroup=\"g\", partition=\"1\", topic=\"b\"}",
                     4);
    kafka_rig_expect(rig, "kafka_consumer_lag{consumergroup=\"g\", partition=\"0\", topic=\"c\"}",
                     2);
    mock_close(&m);
}

static void topics_may_be_named(void **state)
{
    static const char *const names[] = {"a", "nowhere"};
    struct mock m = mock_with_lag("1");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    topic(&m, "b", 1);
    commit(&m, "g", "b", 0, 0);
    rig->config.topics = names;
    rig->config.n_topics = 1;
    rig->config.cluster = "east";
    kafka_rig_begin(rig);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    kafka_rig_expect(rig,
                     "kafka_consumer_lag{cluster=\"east\", consumergroup=\"g\", partition=\"0\", "
                     "topic=\"a\"}",
                     6);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 1);
    kafka_rig_expect(rig, "kafka_up{cluster=\"east\"}", 1);
    kafka_rig_end(rig);

    rig->config.n_topics = 2;
    kafka_rig_begin(rig);
    for (int i = 0; i < 2; i++) { /* asking did not make it */
        assert_int_equal(kafka_rig_read(rig), SOURCE_BROKEN);
        kafka_rig_says(rig, "there is no topic \"nowhere\"");
        assert_int_equal(rig->err.code, -ENOENT);
        assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 1);
        kafka_rig_expect(rig, "kafka_up{cluster=\"east\"}", 0);
    }
    mock_close(&m);
}

static void negative_lags_are_trouble(void **state)
{
    struct mock m = mock_with_lag("1");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    commit(&m, "g", "a", 0, 11); /* the topic has 10 */
    kafka_rig_begin(rig);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
        assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 0);
        kafka_rig_expect(rig, TROUBLE("negative"), i);
    }
    produce(&m, "a", 0, 1);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    kafka_rig_expect(rig, LAG_A0, 0);
    kafka_rig_expect(rig, TROUBLE("negative"), 2);
    mock_close(&m);
}

static void what_was_not_committed_is_missing(void **state)
{
    struct mock m = mock_open("1");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    topic(&m, "a", 2);
    produce(&m, "a", 0, 10);
    kafka_rig_begin(rig);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 0);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumergroup_current_offset"), 0);
    kafka_rig_expect(rig, TROUBLE("offset"), 0);
    mock_close(&m);
}

static void a_partition_without_leader_has_no_lag(void **state)
{
    struct mock m = mock_open("3");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    topic(&m, "a", 3);
    for (int i = 0; i < 3; i++) {
        produce(&m, "a", i, 10);
        commit(&m, "g", "a", i, 4);
    }
    kafka_rig_begin(rig);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 3);
    assert_int_equal(rd_kafka_mock_partition_set_leader(m.cluster, "a", 1, -1), 0);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 2);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumergroup_current_offset"), 3);
    kafka_rig_expect(rig, TROUBLE("end"), 1);
    assert_true(rig->took_ms < 2000); /* nobody waits for an election */
    assert_int_equal(rd_kafka_mock_partition_set_leader(m.cluster, "a", 1, 2), 0);
    assert_int_equal(kafka_rig_read(rig), SOURCE_WORKING);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 3);
    mock_close(&m);
}

static void refusals_are_told(void **state)
{
    static const struct {
        const char *name;
        int16_t api;
        rd_kafka_resp_err_t err;
        int n; /* of requests that are refused */
        enum source_state state;
        const char *words;
        int code;
        double lag, trouble_end, trouble_group;
    } rows[] = {
        {"offsets are not for us", API_OFFSET_FETCH, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
         1, SOURCE_BROKEN, "group \"g\" cannot be asked: Broker: Group authorization failed",
         -EACCES, NONE, 0, 1},
        {"the group is not for us", API_FIND_COORDINATOR,
         RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 2, SOURCE_BROKEN, "group \"g\"", -EACCES,
         NONE, 0, 1},
        {"the coordinator moves", API_FIND_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
         1, SOURCE_WORKING, NULL, 0, 6, 0, 0},
        {"the leader moves", API_LIST_OFFSETS, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, 1,
         SOURCE_WORKING, NULL, 0, NONE, 1, 0},
        {"ends are not for us", API_LIST_OFFSETS, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 1,
         SOURCE_WORKING, NULL, 0, NONE, 1, 0},
        {"the connection is cut", API_LIST_OFFSETS, RD_KAFKA_RESP_ERR__TRANSPORT, 1, SOURCE_WORKING,
         NULL, 0, 6, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct mock m = mock_with_lag("1");
        struct kafka_rig *rig = &m.rig;
        rd_kafka_resp_err_t errs[2] = {rows[i].err, rows[i].err};

        kafka_rig_begin(rig);
        rd_kafka_mock_push_request_errors_array(m.cluster, rows[i].api, (size_t)rows[i].n, errs);
        assert_row(rows[i].name, kafka_rig_read(rig) == rows[i].state);
        if (rows[i].words)
            kafka_rig_says(rig, rows[i].words);
        assert_row(rows[i].name, rig->err.code == rows[i].code);
        kafka_rig_expect(rig, LAG_A0, rows[i].lag);
        kafka_rig_expect(rig, TROUBLE("end"), rows[i].trouble_end);
        kafka_rig_expect(rig, TROUBLE("group"), rows[i].trouble_group);
        rd_kafka_mock_clear_request_errors(m.cluster, rows[i].api);
        kafka_rig_read_until(rig, SOURCE_WORKING); /* it was one time */
        kafka_rig_expect(rig, LAG_A0, 6);
        mock_close(&m);
    }
}

static void a_topic_may_be_refused(void **state)
{
    static const char *const names[] = {"a"};
    struct mock m = mock_with_lag("1");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    rig->config.topics = names;
    rig->config.n_topics = 1;
    kafka_rig_begin(rig);
    rd_kafka_mock_topic_set_error(m.cluster, "a", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    assert_int_equal(kafka_rig_read(rig), SOURCE_BROKEN);
    kafka_rig_says(rig, "topic \"a\": Broker: Topic authorization failed");
    assert_int_equal(rig->err.code, -EACCES);
    mock_close(&m);
}

static void brokers_that_are_down_are_told_within_the_deadline(void **state)
{
    struct mock m = mock_with_lag("2");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    rig->config.deadline_ms = 1000;
    kafka_rig_begin(rig);
    kafka_rig_read_until(rig, SOURCE_WORKING);
    assert_int_equal(rd_kafka_mock_broker_set_down(m.cluster, -1), 0);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(kafka_rig_read(rig), SOURCE_BROKEN);
        kafka_rig_says(rig, "kafka: no answer from ");
        assert_true(rig->took_ms < 2500);
        assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 0);
        kafka_rig_expect(rig, "kafka_up", 0);
        kafka_rig_expect(rig, TROUBLE("group"), i);
    }
    assert_int_equal(rd_kafka_mock_broker_set_up(m.cluster, -1), 0);
    kafka_rig_read_until(rig, SOURCE_WORKING);
    kafka_rig_expect(rig, LAG_A0, 6);
    mock_close(&m);
}

/* The mock elects no other leader: a broker hangs, or the network to it is cut. */
static void a_broker_that_is_down_costs_its_partitions_only(void **state)
{
    struct mock m = mock_open("3");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    topic(&m, "a", 3);
    assert_int_equal(rd_kafka_mock_coordinator_set(m.cluster, "group", "g", 1), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rd_kafka_mock_partition_set_leader(m.cluster, "a", i, i + 1), 0);
        produce(&m, "a", i, 10);
        commit(&m, "g", "a", i, 4);
    }
    rig->config.deadline_ms = 3000;
    kafka_rig_begin(rig);
    kafka_rig_read_until(rig, SOURCE_WORKING);
    assert_int_equal(rd_kafka_mock_broker_set_down(m.cluster, 2), 0);
    assert_int_equal(kafka_rig_read(rig), SOURCE_BROKEN);
    kafka_rig_says(rig, "broker 2 does not tell the ends of its 1 partitions");
    assert_true(rig->took_ms < 4000);
    kafka_rig_expect(rig, LAG_A0, 6);
    assert_int_equal(kafka_rig_count(rig, "kafka_consumer_lag"), 2);
    kafka_rig_expect(rig, TROUBLE("end"), 1);
    mock_close(&m);
}

static void answers_that_are_late_are_none(void **state)
{
    struct mock m = mock_with_lag("1");
    struct kafka_rig *rig = &m.rig;

    (void)state;
    rig->config.deadline_ms = 500;
    kafka_rig_begin(rig);
    kafka_rig_read_until(rig, SOURCE_WORKING);
    assert_int_equal(rd_kafka_mock_broker_set_rtt(m.cluster, -1, 5000), 0);
    assert_int_equal(kafka_rig_read(rig), SOURCE_BROKEN);
    kafka_rig_says(rig, "within 500 ms");
    assert_true(rig->took_ms < 1500);
    assert_int_equal(rd_kafka_mock_broker_set_rtt(m.cluster, -1, 0), 0);
    kafka_rig_read_until(rig, SOURCE_WORKING);
    kafka_rig_expect(rig, LAG_A0, 6);
    mock_close(&m);
}

/* Brokers list topics in no order. */
static void topics_are_found_by_name(void **state)
{
    char b[] = "b", z[] = "zz", a[] = "a", ab[] = "ab";
    struct rd_kafka_metadata_topic topics[] = {
        {.topic = b}, {.topic = z}, {.topic = a}, {.topic = ab}};
    struct rd_kafka_metadata md = {.topic_cnt = ARRAY_LEN(topics), .topics = topics};
    struct kafka_reading r = {.md = &md};

    (void)state;
    arena_init(&r.arena, NULL);
    assert_int_equal(kafka_ask_sort_topics(&r), 0);
    for (size_t i = 0; i < ARRAY_LEN(topics); i++)
        assert_ptr_equal(kafka_ask_topic(&r, topics[i].topic), &topics[i]);
    assert_null(kafka_ask_topic(&r, ""));
    assert_null(kafka_ask_topic(&r, "aa"));
    assert_null(kafka_ask_topic(&r, "zzz"));
    md.topic_cnt = 0;
    assert_int_equal(kafka_ask_sort_topics(&r), 0);
    assert_null(kafka_ask_topic(&r, "a"));
    arena_done(&r.arena);
}

static int attempt(void *ctx)
{
    struct kafka_rig rig = {.config = ((struct mock *)ctx)->rig.config};
    enum source_state state;
    int r = source_kafka.begin(&rig.config, &rig.source, &rig.err);

    if (r == 0) {
        struct batch *b = NULL;

        r = batch_new(&b);
        if (r == 0) {
            state = source_kafka.read(rig.source, 1000, b, &rig.err);
            r = state == SOURCE_WORKING ? 0 : rig.err.code;
            assert_true(r == 0 || b->n == 0); /* all or nothing */
        }
        batch_free(b);
        source_kafka.end(rig.source);
    }
    return r;
}

static void without_memory_nothing_is_told(void **state)
{
    struct mock m = mock_with_lag("1");

    (void)state;
    assert_true(memfail_each(attempt, &m) > 4);
    mock_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lags_are_ends_minus_committed),
        cmocka_unit_test(topics_may_be_named),
        cmocka_unit_test(negative_lags_are_trouble),
        cmocka_unit_test(what_was_not_committed_is_missing),
        cmocka_unit_test(a_partition_without_leader_has_no_lag),
        cmocka_unit_test(refusals_are_told),
        cmocka_unit_test(a_topic_may_be_refused),
        cmocka_unit_test(brokers_that_are_down_are_told_within_the_deadline),
        cmocka_unit_test(a_broker_that_is_down_costs_its_partitions_only),
        cmocka_unit_test(answers_that_are_late_are_none),
        cmocka_unit_test(topics_are_found_by_name),
        cmocka_unit_test(without_memory_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
