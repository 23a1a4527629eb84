/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert_kinds.h - kinds of receivers for tests of what is above them: they know a url, which is a
 * secret, and send nothing. Defines the table of kinds for this program.
 */
#ifndef ALERT_KINDS_H
#define ALERT_KINDS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "alert/receiver.h"
#include "harness.h"

struct kind_config {
    struct span url;
};

static int kind_read(const struct yaml_node *map, const struct yaml_node *global, const char *where,
                     struct arena *a, const void **ret, struct err_list *errs)
{
    struct kind_config *c = arena_zalloc(a, 1, sizeof(*c));
    (void)global;
    if (!c)
        return -ENOMEM;
    c->url = SPAN("");
    for (const struct yaml_node *key = map->first; key; key = key->next) {
        if (span_eq(yaml_span(key), SPAN("url")) && key->value) {
            c->url = arena_dup(a, yaml_span(key->value));
            if (!c->url.p)
                return -ENOMEM;
        } else if (!span_eq(yaml_span(key), SPAN("send_resolved"))) {
            (void)err_set(err_list_add(errs, where, key->line, key->column), -EINVAL,
                          "unknown key of a kind");
        }
    }
    *ret = c;
    return 0;
}

static void kind_print(const void *config, struct yamlw *w)
{
    const struct kind_config *c = config;
    if (c->url.n > 0) {
        yamlw_key(w, "url");
        yamlw_secret(w);
    }
}

static const struct receiver_kind kind_webhook = {.key = "webhook_configs",
                                                  .name = "webhook",
                                                  .tells_resolved = true,
                                                  .read = kind_read,
                                                  .print = kind_print};
static const struct receiver_kind kind_email = {
    .key = "email_configs", .name = "email", .read = kind_read, .print = kind_print};
static const struct receiver_kind kind_log = {.key = "log_configs",
                                              .name = "log",
                                              .tells_resolved = true,
                                              .read = kind_read,
                                              .print = kind_print};
const struct receiver_kind *const receiver_table[] = {&kind_webhook, &kind_email, &kind_log};
const size_t receiver_table_n = ARRAY_LEN(receiver_table);

/* A file that has no mistakes. */
static inline struct alert_file *kind_file(const char *text)
{
    static struct err_list errs;
    struct alert_file *f = NULL;
    err_list_init(&errs);
    if (alert_file_read(span_cstr(text), "f", &f, &errs) != 0) {
        err_list_print(&errs, stderr);
        fail_msg("not read: %s", text);
    }
    return f;
}

/* "a=1 b=2" as labels, sorted; in the arena. */
static inline struct labels kind_labels(struct arena *a, const char *text)
{
    struct labels l = {0};
    struct span rest = span_cstr(text);
    while (rest.n > 0) {
        struct span value = span_split(&rest, ' ');
        struct span name = span_split(&value, '=');
        assert_int_equal(labels_with(a, l, name, value, &l), 0);
    }
    return l;
}

#endif
