/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h - alerts and receivers for tests: a kind's configuration from YAML, messages of one and
 * of many alerts, texts that are up to no good.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "alert/jsontree.h"
#include "alert/receiver_kinds.h"

#define SAMPLE_NOW_MS INT64_C(1764477000123) /* 2025-11-30T04:30:00.123Z */

struct sample {
    struct arena arena;
    struct receiver_request request;
    struct err err;
    struct err_list errs;
};

static inline void sample_setup(struct sample *s)
{
    *s = (struct sample){.err = {0}};
    arena_init(&s->arena, NULL);
    setenv("TZ", "UTC", 1);
}

static inline void sample_teardown(struct sample *s)
{
    arena_done(&s->arena);
}

/* yaml: {receiver: {...}, global: {...}}. NULL with mistakes in s->errs. */
static inline const void *sample_read(struct sample *s, const struct receiver_kind *kind,
                                      const char *yaml)
{
    struct yaml_node *root = NULL;
    const struct yaml_node *map = NULL, *global = NULL;
    const void *config = NULL;
    err_list_init(&s->errs);
    assert_int_equal(yaml_read(span_cstr(yaml), "test.yml", &root, &s->errs), 0);
    for (const struct yaml_node *k = root->first; k; k = k->next) {
        if (strcmp(k->text, "receiver") == 0)
            map = k->value;
        if (strcmp(k->text, "global") == 0)
            global = k->value;
    }
    assert_non_null(map);
    assert_int_equal(kind->read(map, global, "test.yml", &s->arena, &config, &s->errs), 0);
    assert_int_equal(config == NULL, !err_list_is_empty(&s->errs));
    yaml_free(root);
    return config;
}

static inline const void *sample_config(struct sample *s, const struct receiver_kind *kind,
                                        const char *yaml)
{
    const void *config = sample_read(s, kind, yaml);
    if (!config)
        fail_msg("%s: %s", yaml, s->errs.items[0].err.text);
    return config;
}

static inline void sample_render(struct sample *s, const struct receiver_kind *kind,
                                 const char *yaml, const struct alert_message *m)
{
    const void *config = sample_config(s, kind, yaml);
    if (kind->render(config, m, SAMPLE_NOW_MS, &s->arena, &s->request, &s->err) < 0)
        fail_msg("%s: %s", yaml, s->err.text);
}

/* --- messages --- */

#define LABEL(n, v)                                                                                \
    {                                                                                              \
        SPAN_INIT(n), SPAN_INIT(v)                                                                 \
    }

static const struct label sample_labels[] = {
    LABEL("alertname", "HighTTFT"),
    LABEL("model", "llama-3"),
    LABEL("tier", "P1"),
    LABEL("upstream", "a"),
};
static const struct label sample_annotations[] = {
    LABEL("description", "p99 TTFT is 4.1 s,\nfor 10 minutes"),
    LABEL("exemplar_requests", "0af7651916cd43dd, 4bf92f3577b34da6"),
    LABEL("runbook_url", "https://runbooks.example/HighTTFT"),
    LABEL("summary", "time to first token is high"),
};

static const struct alert_view sample_alert = {
    .labels = {sample_labels, ARRAY_LEN(sample_labels)},
    .annotations = {sample_annotations, ARRAY_LEN(sample_annotations)},
    .starts_ms = SAMPLE_NOW_MS - 720123,
    .fingerprint = 0x0123456789abcdefu,
    .value = 4.1,
    .generator_url = SPAN_INIT("http://gw.example/graph?q=1"),
};

/* One alert that fires. */
static const struct alert_message sample_one = {
    .receiver = SPAN_INIT("oncall"),
    .group_key = SPAN_INIT("{}:{alertname=\"HighTTFT\"}"),
    .external_url = SPAN_INIT("http://gw.example/alerts"),
    .group_labels = {sample_labels, 1},
    .common_labels = {sample_labels, ARRAY_LEN(sample_labels)},
    .common_annotations = {sample_annotations, ARRAY_LEN(sample_annotations)},
    .alerts = &sample_alert,
    .n = 1,
    .n_firing = 1,
    .reason = SPAN_INIT("first_notification"),
};

/* n alerts, each with its own label number=I and these annotations. */
static inline struct alert_message sample_many(struct arena *a, size_t n, size_t n_firing,
                                               struct labels annotations)
{
    struct alert_view *at = arena_zalloc(a, n, sizeof(*at));
    for (size_t i = 0; i < n; i++) {
        struct label *l = arena_zalloc(a, 3, sizeof(*l));
        char number[24];
        snprintf(number, sizeof(number), "%zu", i);
        l[0] = sample_labels[0];
        l[1] = (struct label){SPAN("number"), arena_dup(a, span_cstr(number))};
        l[2] = sample_labels[2];
        at[i] = sample_alert;
        at[i].labels = (struct labels){l, 3};
        at[i].annotations = annotations;
        at[i].is_resolved = i >= n_firing;
        at[i].ends_ms = at[i].is_resolved ? SAMPLE_NOW_MS - 123 : 0;
    }
    static const struct label common[] = {LABEL("alertname", "HighTTFT"), LABEL("tier", "P1")};
    struct alert_message m = sample_one;
    m.common_labels = (struct labels){common, 2};
    m.common_annotations = (struct labels){0};
    m.alerts = at;
    m.n = n;
    m.n_firing = n_firing;
    return m;
}

/* --- what must do no harm --- */

static const struct label sample_evil_labels[] = {
    LABEL("alertname", "Evil\r\nBcc: victim@example.com\r\n\r\nbody \xf0\x9f\x94\xa5"),
    LABEL("html", "<script>alert(1)</script><img src=x onerror=\"y\">&amp;"),
    LABEL("link", "[click](http://evil.example) ![i](http://evil.example/i.png)"),
    LABEL("mention", "<!channel> <@U123> <@all> <at id=all></at> @everyone"),
    LABEL("quotes", "\"'`\\ $(reboot) {{ .Labels }}"),
    LABEL("utf8", "\xff\xfe\xc3( \xed\xa0\x80 \xe2\x80\xae"
                  "gnp.exe"),
};

static inline struct alert_message sample_evil(struct arena *a)
{
    enum { LONG = 100 * 1000 };
    char *text = arena_alloc(a, LONG);
    struct alert_view *at = arena_zalloc(a, 1, sizeof(*at));
    struct label *annotations = arena_zalloc(a, 2, sizeof(*annotations));
    for (size_t i = 0; i < LONG; i++) /* three bytes a character, cut nowhere in between */
        text[i] = "\xe5\x91\x8a"[i % 3];
    annotations[0] = (struct label){SPAN("description"), span_of(text, LONG - LONG % 3)};
    annotations[1] = (struct label)LABEL("summary", "# head\r\n> quote\n*bold* _it_ ~~s~~ <b>");
    *at = sample_alert;
    at->labels = (struct labels){sample_evil_labels, ARRAY_LEN(sample_evil_labels)};
    at->annotations = (struct labels){annotations, 2};
    struct alert_message m = sample_one;
    m.group_labels = (struct labels){sample_evil_labels, 1};
    m.common_labels = at->labels;
    m.common_annotations = at->annotations;
    m.group_key = SPAN("{}:{alertname=\"Evil\r\nX: y\"}");
    m.alerts = at;
    return m;
}

/* The member of a JSON body; path: "markdown.text", "blocks.0.text". */
static inline json_t *sample_member(json_t *root, const char *path)
{
    struct span rest = span_cstr(path);
    json_t *at = root;
    while (rest.n > 0 && at) {
        struct span name = span_split(&rest, '.');
        if (json_is_array(at))
            at = json_array_get(at, (size_t)(name.p[0] - '0'));
        else
            at = json_object_getn(at, name.p, name.n);
    }
    return at;
}

static inline struct span sample_text(json_t *root, const char *path)
{
    const json_t *at = sample_member(root, path);
    if (!json_is_string(at))
        fail_msg("no text at %s", path);
    return span_of(json_string_value(at), json_string_length(at));
}

#endif
