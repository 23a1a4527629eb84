/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_collect.c - keys of what is collected: pages to scrape, engines on this machine,
 * Kafka clusters.
 */
#include "daemon/config_collect.h"

#include <errno.h>
#include <string.h>

#include "collect/kafka.h"
#include "daemon/config_values.h"

enum { NAME_BYTES_MAX = 256 }; /* more than a text of a list has */

/* --- pages --- */

static bool is_page_url(struct span s)
{
    bool is_http = span_starts_with(s, SPAN("http://")) || span_starts_with(s, SPAN("https://"));
    size_t scheme = span_find(s, SPAN("//")) + 2;
    return is_http && s.n > scheme && s.p[scheme] != '/' && span_find_char(s, '@') == s.n &&
           span_find_char(s, '?') == s.n;
}

static int page_error(const struct config_source *source, const struct yaml_node *node,
                      const char *text, const char *hint)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = config_keys_error(source, node);
    if (strpbrk(text, "@?")) /* a password or a token may stand there */
        (void)err_set(e, -EINVAL, "a page's address has neither credentials nor parameters");
    else
        (void)err_set(e, -EINVAL, "\"%s\" is no address of a page of metrics",
                      err_list_shown(span_cstr(text), shown));
    err_hint(e, "%s", hint);
    return -EINVAL;
}

static int pages_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    struct config_texts list = {0};
    int result = config_type_texts.set(source, key, node, false, &list);
    for (size_t i = 0; result == 0 && i < list.n; i++)
        if (!is_page_url(span_cstr(list.items[i])))
            result = page_error(source, node, list.items[i],
                                "http://HOST:PORT/metrics; credentials and parameters go into "
                                "scrape.files");
    config_type_texts.done(key, &list);
    return result < 0 ? result : config_type_texts.set(source, key, node, is_append, field);
}

const struct config_type config_type_pages = {
    .what = "a list of URLs",
    .is_list = true,
    .set = pages_set,
    .format = config_lists_texts_format,
    .is_equal = config_lists_texts_is_equal,
    .done = config_lists_texts_clear,
};

static int page_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, bool is_append, void *field)
{
    char *text = NULL;
    int r = config_type_text.set(source, key, node, is_append, &text);
    bool is_good =
        r == 0 && (strcmp(text, "auto") == 0 || strcmp(text, "none") == 0 ||
                   (text[0] == '/' && !strchr(text, '?')) || is_page_url(span_cstr(text)));
    if (r == 0 && !is_good)
        r = page_error(source, node, text,
                       "auto, none, a path like /metrics, or a URL; credentials and parameters go "
                       "into scrape.files");
    config_type_text.done(key, &text);
    return r < 0 ? r : config_type_text.set(source, key, node, is_append, field);
}

const struct config_type config_type_page = {
    .what = "a URL, a path, auto or none",
    .is_scalar = true,
    .set = page_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- GPUs --- */

static const char *const gpu_words[] = {
    [CONFIG_GPU_AUTO] = "auto",
    [CONFIG_GPU_NVML] = "nvml",
    [CONFIG_GPU_SMI] = "nvidia-smi",
    [CONFIG_GPU_NONE] = "none",
};

static int gpu_set(const struct config_source *source, const struct config_key *key,
                   const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    (void)is_append;
    if (config_values_need_scalar(source, key, node) < 0)
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_LEN(gpu_words); i++) {
        if (span_eq(yaml_span(node), span_cstr(gpu_words[i]))) {
            *(enum config_gpu *)field = (enum config_gpu)i;
            return 0;
        }
    }
    struct err *e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "nobody called \"%s\" can be asked about GPUs",
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "auto, nvml, nvidia-smi or none");
    return -EINVAL;
}

static int gpu_format(const struct config_key *key, const void *field, struct buf *out)
{
    (void)key;
    return buf_append(out, span_cstr(gpu_words[*(const enum config_gpu *)field]));
}

static bool gpu_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    return *(const enum config_gpu *)a == *(const enum config_gpu *)b;
}

const struct config_type config_type_gpu = {
    .what = "auto, nvml, nvidia-smi or none",
    .is_scalar = true,
    .set = gpu_set,
    .format = gpu_format,
    .is_equal = gpu_is_equal,
};

/* --- engines on this machine --- */

#define ENGINE(member) offsetof(struct config_engine, member)

static const struct config_key engine_keys[] = {
    {
        .path = "name",
        .type = &config_type_text,
        .reload = CONFIG_RESTART,
        .offset = ENGINE(name),
        .example = "vllm",
        .help = "Label of its series.",
    },
    {
        .path = "port",
        .type = &config_type_count,
        .def = "0",
        .max = 65535,
        .reload = CONFIG_RESTART,
        .offset = ENGINE(port),
        .example = "8000",
        .help = "It is the process that listens on this TCP port. 0: not told.",
    },
    {
        .path = "pid_file",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = ENGINE(pid_file),
        .example = "/run/vllm.pid",
        .help = "Or the one whose number is in this file, which is looked at first.",
    },
    {
        .path = "command",
        .type = &config_type_text,
        .def = "",
        .reload = CONFIG_RESTART,
        .offset = ENGINE(command),
        .example = "vllm",
        .help = "Or, where those are not told or not found, the one of this name that began first: "
                "the program, or the file of one of its first arguments. Processes that it starts "
                "belong to it.",
    },
};

static int engine_finish(const struct config_source *source, const struct yaml_node *node,
                         void *item)
{
    const struct config_engine *e = item;
    size_t n = (e->port > 0) + (e->pid_file[0] != '\0') + (e->command[0] != '\0');
    if (n == 1)
        return 0;
    struct err *err = config_keys_error(source, node);
    (void)err_set(err, -EINVAL, "an engine is found by one of port, pid_file, command: %s",
                  n == 0 ? "none is there" : "several are there");
    err_hint(err, "for example {name: vllm, port: 8000}");
    return -EINVAL;
}

static const char *engine_name_of(const void *item)
{
    return ((const struct config_engine *)item)->name;
}

const struct config_item config_item_engine = {
    .table = {.keys = engine_keys, .n = ARRAY_LEN(engine_keys), .of = " of an engine"},
    .size = sizeof(struct config_engine),
    .noun = "an engine",
    .finish = engine_finish,
    .name = engine_name_of,
};

/* --- Kafka --- */

/* A list of NAME=TEXT. */
static int pairs_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    struct config_texts list = {0};
    int result = config_type_texts.set(source, key, node, false, &list);
    for (size_t i = 0; result == 0 && i < list.n; i++) {
        const char *at = strchr(list.items[i], '=');
        if (at && at > list.items[i])
            continue;
        /* What stands there may be a secret: it is not shown. */
        struct err *e = config_keys_error(source, node);
        result = err_set(e, -EINVAL, "item %zu is not NAME=TEXT", i + 1);
        err_hint(e, "for example security.protocol=SASL_SSL");
    }
    config_type_texts.done(key, &list);
    return result < 0 ? result : config_type_texts.set(source, key, node, is_append, field);
}

/* What is not allowed there is read all the same, and may be a password. */
static int pair_format(const char *pair, struct buf *out)
{
    struct span name = span_of(pair, (size_t)(strchr(pair, '=') - pair));
    static const char hidden[] = "=<secret>";
    char text[NAME_BYTES_MAX + sizeof(hidden)];

    (void)span_copy(name, text, NAME_BYTES_MAX);
    if (!kafka_is_secret(text))
        return config_values_text(span_cstr(pair), out);
    memcpy(text + strlen(text), hidden, sizeof(hidden));
    return config_values_text(span_cstr(text), out);
}

static int pairs_format(const struct config_key *key, const void *field, struct buf *out)
{
    const struct config_texts *t = field;
    int r = buf_append(out, SPAN("["));

    (void)key;
    for (size_t i = 0; i < t->n && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(", "));
        if (r == 0)
            r = pair_format(t->items[i], out);
    }
    return r < 0 ? r : buf_append(out, SPAN("]"));
}

/* Of values: where a secret stands is none itself. */
static const struct config_type type_properties = {
    .what = "a list of NAME=TEXT",
    .is_list = true,
    .is_private = true,
    .set = pairs_set,
    .format = pairs_format,
    .is_equal = config_lists_texts_is_equal,
    .done = config_lists_texts_clear,
};

static const struct config_type type_pairs = {
    .what = "a list of NAME=TEXT",
    .is_list = true,
    .set = pairs_set,
    .format = config_lists_texts_format,
    .is_equal = config_lists_texts_is_equal,
    .done = config_lists_texts_clear,
};

#define KAFKA(member) offsetof(struct config_kafka, member)

static const struct config_key kafka_keys[] = {
    {
        .path = "name",
        .type = &config_type_text,
        .reload = CONFIG_RESTART,
        .offset = KAFKA(name),
        .example = "jobs",
        .help = "Label of its series, `cluster`.",
    },
    {
        .path = "brokers",
        .type = &config_type_text,
        .reload = CONFIG_RESTART,
        .offset = KAFKA(brokers),
        .example = "kafka-1:9092,kafka-2:9092",
        .help = "Some of its brokers.",
    },
    {
        .path = "groups",
        .type = &config_type_texts,
        .min = 1,
        .max = 50,
        .reload = CONFIG_RESTART,
        .offset = KAFKA(groups),
        .example = "[llm-workers]",
        .help = "Consumer groups whose lag is kept.",
    },
    {
        .path = "topics",
        .type = &config_type_texts,
        .def = "[]",
        .max = 1000,
        .reload = CONFIG_RESTART,
        .offset = KAFKA(topics),
        .example = "[prompts]",
        .help = "Topics that count; none: all for which a group has committed offsets.",
    },
    {
        .path = "properties",
        .type = &type_properties,
        .def = "[]",
        .max = 100,
        .reload = CONFIG_RESTART,
        .offset = KAFKA(properties),
        .example = "[security.protocol=SASL_SSL, sasl.mechanism=PLAIN, sasl.username=inferometer]",
        .help = "Further properties of librdkafka.",
    },
    {
        .path = "properties_file",
        .type = &type_pairs,
        .def = "[]",
        .max = 100,
        .reload = CONFIG_RESTART,
        .offset = KAFKA(properties_file),
        .example = "[sasl.password=/etc/inferometer/kafka.password]",
        .help = "Properties whose values stand in files: passwords and keys.",
    },
    {
        .path = "properties_env",
        .type = &type_pairs,
        .def = "[]",
        .max = 100,
        .reload = CONFIG_RESTART,
        .offset = KAFKA(properties_env),
        .example = "[sasl.password=KAFKA_PASSWORD]",
        .help = "Or in environment variables.",
    },
};

static const char *kafka_name_of(const void *item)
{
    return ((const struct config_kafka *)item)->name;
}

const struct config_item config_item_kafka = {
    .table = {.keys = kafka_keys, .n = ARRAY_LEN(kafka_keys), .of = " of a Kafka cluster"},
    .size = sizeof(struct config_kafka),
    .noun = "a Kafka cluster",
    .name = kafka_name_of,
};
