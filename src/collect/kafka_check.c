/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/kafka_check.c - a configuration into librdkafka's.
 *
 * Messages name a property, never a value that came from a file, the environment, or that belongs
 * to a secret: librdkafka's own messages have values in them and are not used.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "collect/kafka_private.h"

enum { SHOWN_MAX = 64, NUMBER_MAX = 24 };

/* Without a default, which librdkafka does not list. */
static const char *const no_defaults[] = {
    "sasl.password",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.password",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.client.secret",
    "sasl.username",
    "sasl.mechanism",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.key.location",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.keystore.location",
    "sasl.oauthbearer.method",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope",
};
/* What would make another thing of the source. */
static const struct {
    const char *name, *why;
} refused[] = {
    {"bootstrap.servers", "addresses are what \"brokers\" is for"},
    {"metadata.broker.list", "addresses are what \"brokers\" is for"},
    {"group.id", "the source looks at groups and is in none"},
    {"group.instance.id", "the source looks at groups and is in none"},
    {"plugin.library.paths", "nothing is loaded into this program"},
    {"enable.sasl.oauthbearer.unsecure.jwt", "it is for tests of librdkafka"},
};

/* --- lists of names --- */

static int check_names(const char *what, const char *const *names, size_t n, struct err *reterr)
{
    for (size_t i = 0; i < n; i++) {
        if (!names[i] || names[i][0] == '\0')
            return err_set(reterr, -EINVAL, "kafka: %s %zu has no name", what, i + 1);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i], names[k]) == 0)
                return err_set(reterr, -EINVAL, "kafka: %s \"%.*s\" is there twice", what,
                               SHOWN_MAX, names[i]);
        }
    }
    return 0;
}

static int check_rest(const struct kafka_config *c, struct err *reterr)
{
    int r;

    if (!c->brokers || span_trim(span_cstr(c->brokers)).n == 0) {
        (void)err_set(reterr, -EINVAL, "kafka: no brokers");
        err_hint(reterr, "name one or more as HOST:PORT; the others of the cluster are found");
        return -EINVAL;
    }
    if (c->n_groups == 0) {
        (void)err_set(reterr, -EINVAL, "kafka: no consumer groups");
        err_hint(reterr, "kafka-consumer-groups.sh --list tells what there is");
        return -EINVAL;
    }
    if (c->n_groups > KAFKA_GROUPS_MAX)
        return err_set(reterr, -EINVAL, "kafka: more than %d groups", KAFKA_GROUPS_MAX);
    if (c->deadline_ms != 0 &&
        (c->deadline_ms < KAFKA_DEADLINE_MIN_MS || c->deadline_ms > KAFKA_DEADLINE_MAX_MS))
        return err_set(reterr, -EINVAL, "kafka: a deadline has %d to %d ms", KAFKA_DEADLINE_MIN_MS,
                       KAFKA_DEADLINE_MAX_MS);
    r = check_names("group", c->groups, c->n_groups, reterr);
    return r < 0 ? r : check_names("topic", c->topics, c->n_topics, reterr);
}

/* --- values --- */

static int read_file(const struct kafka_property *p, char **ret, struct err *reterr)
{
    struct buf text;
    struct span s;
    int r;

    buf_init(&text, KAFKA_SECRET_BYTES_MAX + 1);
    r = file_read(p->file, KAFKA_SECRET_BYTES_MAX, &text);
    if (r < 0) {
        buf_done(&text);
        return err_set(reterr, r, "kafka: the file of \"%s\", %s: %s", p->name, p->file,
                       err_str(r));
    }
    s = buf_span(&text);
    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    if (s.n == 0 || span_find_char(s, '\0') < s.n) {
        r = err_set(reterr, -EINVAL, "kafka: the file of \"%s\", %s, %s", p->name, p->file,
                    s.n == 0 ? "is empty" : "is no text");
    } else {
        *ret = mem_strndup(s.p, s.n);
        r = *ret ? 0 : err_set(reterr, -ENOMEM, "out of memory");
    }
    buf_done(&text);
    return r;
}

static int read_env(const struct kafka_property *p, char **ret, struct err *reterr)
{
    const char *value = getenv(p->env);

    if (!value || value[0] == '\0')
        return err_set(reterr, -EINVAL, "kafka: %s, the variable of \"%s\", is %s", p->env, p->name,
                       value ? "empty" : "not set");
    *ret = mem_strdup(value);
    return *ret ? 0 : err_set(reterr, -ENOMEM, "out of memory");
}

/* Of a file or variable: kept, so that it can be blotted out of what others say. */
static int read_value(const struct kafka_property *p, struct kafka_secrets *secrets,
                      const char **ret, struct err *reterr)
{
    char *value = NULL;
    int r;

    if (!p->file && !p->env) {
        *ret = p->value;
        return 0;
    }
    if (secrets->n == KAFKA_SECRETS_MAX)
        return err_set(reterr, -EINVAL, "kafka: more than %d values from files and environment",
                       KAFKA_SECRETS_MAX);
    r = p->file ? read_file(p, &value, reterr) : read_env(p, &value, reterr);
    if (r == 0)
        *ret = secrets->at[secrets->n++] = value;
    return r;
}

/* --- properties --- */

static int unknown(rd_kafka_conf_t *conf, const char *name, struct err *reterr)
{
    struct suggest s;
    size_t n;
    const char **known = rd_kafka_conf_dump(conf, &n);

    (void)err_set(reterr, -EINVAL, "kafka: librdkafka has no property \"%.*s\"", SHOWN_MAX, name);
    suggest_init(&s, span_cstr(name));
    for (size_t i = 0; known && i < n; i += 2)
        suggest_offer(&s, span_cstr(known[i]));
    for (size_t i = 0; i < ARRAY_LEN(no_defaults); i++)
        suggest_offer(&s, span_cstr(no_defaults[i]));
    if (s.best.n > 0)
        err_hint(reterr, "did you mean \"%.*s\"?", (int)s.best.n, s.best.p);
    else
        err_hint(reterr, "the properties are those of librdkafka's CONFIGURATION.md");
    if (known)
        rd_kafka_conf_dump_free(known, n);
    return -EINVAL;
}

static int check_property(const struct kafka_property *p, struct err *reterr)
{
    int n_sources = (p->value != NULL) + (p->file != NULL) + (p->env != NULL);

    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (strcmp(p->name, refused[i].name) == 0)
            return err_set(reterr, -EINVAL, "kafka: \"%s\" cannot be set: %s", p->name,
                           refused[i].why);
    }
    if (n_sources != 1)
        return err_set(reterr, -EINVAL, "kafka: \"%.*s\" has %s of value, file and env", SHOWN_MAX,
                       p->name, n_sources == 0 ? "none" : "more than one");
    if (p->value && kafka_is_secret(p->name)) {
        (void)err_set(reterr, -EINVAL, "kafka: \"%s\" is a secret and stands in no configuration",
                      p->name);
        err_hint(reterr, "name a file or a variable that has it");
        return -EINVAL;
    }
    return 0;
}

static int set_property(rd_kafka_conf_t *conf, const struct kafka_property *p,
                        struct kafka_secrets *secrets, struct err *reterr)
{
    const char *value = NULL;
    int r = check_property(p, reterr);

    if (r == 0)
        r = read_value(p, secrets, &value, reterr);
    if (r < 0)
        return r;
    switch (rd_kafka_conf_set(conf, p->name, value, NULL, 0)) {
    case RD_KAFKA_CONF_OK:
        return 0;
    case RD_KAFKA_CONF_UNKNOWN:
        return unknown(conf, p->name, reterr);
    default:
        break;
    }
    if (p->value)
        (void)err_set(reterr, -EINVAL, "kafka: \"%s\" cannot be \"%.*s\"", p->name, SHOWN_MAX,
                      p->value);
    else
        (void)err_set(reterr, -EINVAL, "kafka: what %s has is no value of \"%s\"",
                      p->file ? p->file : p->env, p->name);
    err_hint(reterr, "the values are those of librdkafka's CONFIGURATION.md; one may be refused "
                     "because the library was built without it");
    return -EINVAL;
}

/* What a link that only asks needs; properties of the configuration may say otherwise. */
static int set_defaults(rd_kafka_conf_t *conf, int64_t deadline_ms)
{
    char deadline[NUMBER_MAX];
    const struct {
        const char *name, *value;
    } rows[] = {
        {"client.id", "inferometer"},
        {"isolation.level", "read_uncommitted"},
        {"enable.auto.commit", "false"},
        {"allow.auto.create.topics", "false"},
        /* A request that nobody answers ends with its reading, and so does its connection. */
        {"socket.timeout.ms", deadline},
        /* A broker that comes back is found by the next reading. */
        {"reconnect.backoff.max.ms", "2000"},
    };

    (void)snprintf(deadline, sizeof(deadline), "%lld", (long long)deadline_ms);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rd_kafka_conf_set(conf, rows[i].name, rows[i].value, NULL, 0) != RD_KAFKA_CONF_OK)
            return -EINVAL;
    }
    return 0;
}

int kafka_check_make(const struct kafka_config *c, struct kafka_secrets *secrets,
                     rd_kafka_conf_t **ret, struct err *reterr)
{
    rd_kafka_conf_t *conf;
    int r = check_rest(c, reterr);

    if (r < 0)
        return r;
    conf = rd_kafka_conf_new();
    r = set_defaults(conf, c->deadline_ms ? c->deadline_ms : KAFKA_DEADLINE_MS);
    if (r < 0)
        (void)err_set(reterr, r, "kafka: librdkafka %s is not one that this program knows",
                      rd_kafka_version_str());
    for (size_t i = 0; i < c->n_properties && r == 0; i++)
        r = set_property(conf, &c->properties[i], secrets, reterr);
    if (r == 0 &&
        rd_kafka_conf_set(conf, "bootstrap.servers", c->brokers, NULL, 0) != RD_KAFKA_CONF_OK)
        r = err_set(reterr, -EINVAL, "kafka: \"%.*s\" are no addresses of brokers", SHOWN_MAX,
                    c->brokers);
    if (r < 0)
        rd_kafka_conf_destroy(conf);
    else
        *ret = conf;
    return r;
}

void kafka_check_forget(struct kafka_secrets *secrets)
{
    for (size_t i = 0; i < secrets->n; i++) {
        explicit_bzero(secrets->at[i], strlen(secrets->at[i]));
        mem_free(secrets->at[i]);
    }
    secrets->n = 0;
}

int kafka_check(const struct kafka_config *c, struct err *reterr)
{
    struct kafka_secrets secrets = {.n = 0};
    rd_kafka_conf_t *conf;
    int r = kafka_check_make(c, &secrets, &conf, reterr);

    if (r == 0)
        rd_kafka_conf_destroy(conf);
    kafka_check_forget(&secrets);
    return r;
}
