/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka_link.c - handles of librdkafka, and why brokers refuse them.
 *
 * A request that fails says "timed out" or "transport failure"; why, librdkafka says beside it,
 * about the connection, once. So the most telling reason is kept until all is well again.
 */
#include <ctype.h>
#include <errno.h>

#include "collect/kafka_private.h"

enum { SECRET_BYTES_MIN = 3, POLLS_MAX = 1000 };

/* The later a row, the more it tells. */
static const struct {
    rd_kafka_resp_err_t err;
    int code;
    const char *hint;
} reasons[] = {
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, -ECONNREFUSED,
     "see that the brokers are up and that their addresses can be reached from here"},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, -ETIMEDOUT,
     "see that the brokers are up, and that no firewall or wrong security.protocol is between"},
    {RD_KAFKA_RESP_ERR__TRANSPORT, -ECONNREFUSED,
     "see that the brokers are up, that the addresses that they advertise can be reached from "
     "here, and that security.protocol is theirs"},
    {RD_KAFKA_RESP_ERR__RESOLVE, -EHOSTUNREACH,
     "see the names of the brokers, and those that they advertise"},
    {RD_KAFKA_RESP_ERR__SSL, -EPROTO, "see ssl.ca.location, the certificates and their names"},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, -ENOENT,
     "see the topic's name, and that its user may DESCRIBE it"},
    {RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, -ENOENT,
     "see the group's name; it is known from its first member or commit on"},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, -EACCES,
     "its user needs the right to DESCRIBE the topic"},
    {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, -EACCES,
     "its user needs the right to DESCRIBE the group"},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, -EACCES,
     "its user needs the right to DESCRIBE the cluster"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, -EACCES,
     "set a sasl.mechanism that the brokers have"},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, -EACCES,
     "see sasl.mechanism, sasl.username and the file or variable of sasl.password"},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, -EACCES,
     "see sasl.mechanism, sasl.username and the file or variable of sasl.password"},
};

static size_t rank_of(rd_kafka_resp_err_t err)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].err == err)
            return i + 1;
    }
    return 0;
}

int kafka_link_errno(rd_kafka_resp_err_t err)
{
    size_t rank = rank_of(err);

    return rank > 0 ? reasons[rank - 1].code : -EIO;
}

const char *kafka_link_hint(rd_kafka_resp_err_t err)
{
    size_t rank = rank_of(err);

    return rank > 0 ? reasons[rank - 1].hint : "see the brokers' logs";
}

bool kafka_link_is_refused(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
           err == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED ||
           err == RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM || err == RD_KAFKA_RESP_ERR__SSL;
}

/* --- words --- */

static void blot(char *text, struct span secret)
{
    struct span s = span_cstr(text);
    size_t at;

    if (secret.n < SECRET_BYTES_MIN)
        return;
    while ((at = span_find(s, secret)) < s.n) {
        memset(text + (s.p - text) + at, '*', secret.n);
        s = span_from(s, at + secret.n);
    }
}

/* A secret that the end of dst cuts is one, too: so the whole text is looked at. */
const char *kafka_link_words(const struct kafka *k, const char *text, char dst[KAFKA_WORDS_MAX])
{
    char whole[4 * KAFKA_WORDS_MAX];
    size_t n = span_copy(span_cstr(text), whole, sizeof(whole));

    for (size_t i = 0; i < k->secrets.n; i++)
        blot(whole, span_cstr(k->secrets.at[i]));
    for (size_t i = 0; i < n; i++) {
        if (iscntrl((unsigned char)whole[i]))
            whole[i] = '?';
    }
    (void)span_copy(span_of(whole, n), dst, KAFKA_WORDS_MAX);
    return dst;
}

static void keep_reason(struct kafka_link *l, rd_kafka_resp_err_t err, const char *words)
{
    if (l->reason.err && rank_of(err) < rank_of(l->reason.err))
        return;
    l->reason.err = err;
    (void)kafka_link_words(l->k, words ? words : "", l->reason.words);
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    (void)rk;
    keep_reason(opaque, (rd_kafka_resp_err_t)err, reason);
}

/* The operator's log has what a source says; librdkafka says it again and again. */
static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    (void)level;
    (void)facility;
    (void)text;
}

/* What is about a group comes as a message of it. */
void kafka_link_listen(struct kafka_link *l)
{
    rd_kafka_message_t *m = NULL;

    for (int i = 0; i < POLLS_MAX && rd_kafka_poll(l->rk, 0) > 0; i++)
        continue;
    for (int i = 0; l->group && i < POLLS_MAX && (m = rd_kafka_consumer_poll(l->rk, 0)); i++) {
        if (m->err)
            keep_reason(l, m->err, rd_kafka_message_errstr(m));
        rd_kafka_message_destroy(m);
    }
}

/* --- handles --- */

/* A consumer that subscribes to nothing: it may ask, and is a member of no group. */
static int open_link(struct kafka_link *l, struct err *reterr)
{
    char text[KAFKA_WORDS_MAX], words[KAFKA_WORDS_MAX];
    rd_kafka_conf_t *conf = rd_kafka_conf_dup(l->k->conf);

    l->reason.err = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_conf_set_opaque(conf, l);
    if (l->group && rd_kafka_conf_set(conf, "group.id", l->group, text, sizeof(text)) != 0) {
        rd_kafka_conf_destroy(conf);
        return err_set(reterr, -EINVAL, "kafka: librdkafka does not take a group's name");
    }
    l->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
    if (l->rk)
        return 0;
    rd_kafka_conf_destroy(conf);
    return err_set(reterr, -EINVAL, "kafka: librdkafka does not take the properties: %s",
                   kafka_link_words(l->k, text, words));
}

int kafka_link_open(struct kafka *k, struct err *reterr)
{
    int r = kafka_check_make(&k->config, &k->secrets, &k->conf, reterr);

    if (r == 0) {
        rd_kafka_conf_set_error_cb(k->conf, on_error);
        rd_kafka_conf_set_log_cb(k->conf, on_log);
        k->link = (struct kafka_link){.k = k};
        r = open_link(&k->link, reterr);
    }
    if (r < 0)
        kafka_link_close(k);
    return r;
}

int kafka_link_open_group(struct kafka *k, size_t i_group, struct err *reterr)
{
    struct kafka_link *l = &k->of_groups[i_group];

    if (l->rk)
        return 0;
    *l = (struct kafka_link){.k = k, .group = k->config.groups[i_group]};
    return open_link(l, reterr);
}

static void close_link(struct kafka_link *l)
{
    if (l->rk)
        rd_kafka_destroy_flags(l->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    l->rk = NULL;
}

void kafka_link_close(struct kafka *k)
{
    for (size_t i = 0; k->of_groups && i < k->config.n_groups; i++)
        close_link(&k->of_groups[i]);
    close_link(&k->link);
    if (k->conf)
        rd_kafka_conf_destroy(k->conf);
    k->conf = NULL;
    kafka_check_forget(&k->secrets);
}
