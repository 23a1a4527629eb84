/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/prometheus_routes.c - the gateway's file of routes as Alertmanager takes it: a table says
 * which keys it knows, and all others are left out.
 */
#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/prometheus_files.h"
#include "yaml/tree.h"
#include "yaml/write.h"

/* Keys of a mapping; map: of that below, or of each item of the list below. NULL: taken as it is.
 */
struct known {
    const char *key;
    const struct known *map;
};

static const struct known basic[] = {
    {"username", NULL}, {"password", NULL}, {"password_file", NULL}, {NULL, NULL}};
static const struct known authorization[] = {
    {"type", NULL}, {"credentials", NULL}, {"credentials_file", NULL}, {NULL, NULL}};
static const struct known tls[] = {{"ca_file", NULL},     {"cert_file", NULL},
                                   {"key_file", NULL},    {"insecure_skip_verify", NULL},
                                   {"server_name", NULL}, {NULL, NULL}};
static const struct known http[] = {{"basic_auth", basic},      {"authorization", authorization},
                                    {"proxy_url", NULL},        {"tls_config", tls},
                                    {"follow_redirects", NULL}, {NULL, NULL}};
static const struct known webhook[] = {{"send_resolved", NULL},
                                       {"url", NULL},
                                       {"max_alerts", NULL},
                                       {"http_config", http},
                                       {NULL, NULL}};
static const struct known slack[] = {
    {"send_resolved", NULL}, {"api_url", NULL},     {"api_url_file", NULL},
    {"channel", NULL},       {"username", NULL},    {"icon_emoji", NULL},
    {"icon_url", NULL},      {"http_config", http}, {NULL, NULL}};
static const struct known email[] = {{"send_resolved", NULL},
                                     {"to", NULL},
                                     {"from", NULL},
                                     {"smarthost", NULL},
                                     {"hello", NULL},
                                     {"auth_username", NULL},
                                     {"auth_password", NULL},
                                     {"auth_password_file", NULL},
                                     {"require_tls", NULL},
                                     {"tls_config", tls},
                                     {NULL, NULL}};
static const struct known receiver[] = {{"name", NULL},
                                        {"webhook_configs", webhook},
                                        {"slack_configs", slack},
                                        {"email_configs", email},
                                        {NULL, NULL}};
static const struct known route[] = {{"receiver", NULL},
                                     {"group_by", NULL},
                                     {"matchers", NULL},
                                     {"continue", NULL},
                                     {"group_wait", NULL},
                                     {"group_interval", NULL},
                                     {"repeat_interval", NULL},
                                     {"mute_time_intervals", NULL},
                                     {"active_time_intervals", NULL},
                                     {"routes", route},
                                     {NULL, NULL}};
static const struct known inhibition[] = {
    {"source_matchers", NULL}, {"target_matchers", NULL}, {"equal", NULL}, {NULL, NULL}};
static const struct known global[] = {{"resolve_timeout", NULL}, {NULL, NULL}};
static const struct known file[] = {
    {"global", global},       {"route", route},        {"inhibit_rules", inhibition},
    {"time_intervals", NULL}, {"receivers", receiver}, {NULL, NULL}};

/* Where a secret stood: nothing is sent there, and an Alertmanager starts with it. */
#define PLACE_URL "http://put-the-secret-here.invalid/"

struct copying {
    struct yamlw w;
    struct buf notes;
    struct span name; /* of the receiver that is copied */
};

/* A text that may hold ends of lines, which end a comment as well. */
static int put_comment(struct buf *out, struct span text)
{
    int r = 0;
    while (text.n > 0 && r == 0) {
        struct span c = text;
        bool is_odd = utf8_is_odd(utf8_take(&text));
        r = buf_append(out, is_odd ? SPAN("?") : span_of(c.p, c.n - text.n));
    }
    return r;
}

static void note(struct copying *c, const char *what, struct span key)
{
    if (c->name.n == 0) /* what a route has besides is of no consequence */
        return;
    int r = buf_append(&c->notes, SPAN("# receiver "));
    if (r == 0)
        r = put_comment(&c->notes, c->name);
    if (r == 0)
        r = buf_printf(&c->notes, ": %s: ", what);
    if (r == 0)
        r = put_comment(&c->notes, key);
    if (r == 0)
        r = buf_append(&c->notes, SPAN("\n"));
    yamlw_fail(&c->w, r);
}

/* A number that is written as it stands: "007" is a text. */
static bool is_number(const struct yaml_node *n, int64_t *ret)
{
    char text[24];
    return n->is_plain && num_parse_i64(yaml_span(n), ret) == 0 &&
           span_eq(yaml_span(n), span_of(text, num_format_i64(*ret, text)));
}

static void copy_scalar(struct copying *c, const struct yaml_node *n, struct span key)
{
    int64_t number;
    if (strcmp(n->text, "<secret>") == 0) {
        note(c, "put in", key);
        bool is_url = span_ends_with(key, SPAN("url"));
        yamlw_str(&c->w, is_url ? SPAN(PLACE_URL) : SPAN("put-the-secret-here"));
    } else if (n->is_plain && (strcmp(n->text, "true") == 0 || strcmp(n->text, "false") == 0)) {
        yamlw_bool(&c->w, n->text[0] == 't');
    } else if (is_number(n, &number)) {
        yamlw_i64(&c->w, number);
    } else {
        yamlw_str(&c->w, yaml_span(n));
    }
}

/* NULL: it is not known. */
static const struct known *find(const struct known *table, struct span key)
{
    while (table->key && !span_eq(span_cstr(table->key), key))
        table++;
    return table->key ? table : NULL;
}

static void copy(struct copying *c, const struct yaml_node *n, const struct known *table,
                 struct span key);

/* Of one text or several. */
static void put_joined(struct copying *c, const struct yaml_node *n)
{
    struct buf all;
    int r = 0;
    buf_init(&all, MIB);
    for (const struct yaml_node *i = n->first; i && r == 0; i = i->next)
        r = buf_printf(&all, "%s%s", i == n->first ? "" : ", ", i->text);
    yamlw_str(&c->w, buf_span(&all));
    yamlw_fail(&c->w, r);
    buf_done(&all);
}

static void copy_map(struct copying *c, const struct yaml_node *n, const struct known *table)
{
    yamlw_begin_map(&c->w);
    for (const struct yaml_node *k = n->first; k; k = k->next) {
        const struct known *known = table ? find(table, yaml_span(k)) : NULL;
        if (table == receiver && strcmp(k->text, "name") == 0 && k->value)
            c->name = yaml_span(k->value);
        if (table && !known)
            note(c, "left out", yaml_span(k));
        if ((table && !known) || !k->value)
            continue;
        yamlw_key_str(&c->w, yaml_span(k));
        if (table == email && strcmp(k->text, "to") == 0 && k->value->kind == YAML_NODE_LIST)
            put_joined(c, k->value);
        else
            copy(c, k->value, known ? known->map : NULL, yaml_span(k));
    }
    yamlw_end_map(&c->w);
    if (table == receiver)
        c->name = SPAN("");
}

static void copy(struct copying *c, const struct yaml_node *n, const struct known *table,
                 struct span key)
{
    if (n->kind == YAML_NODE_MAP) {
        copy_map(c, n, table);
    } else if (n->kind == YAML_NODE_LIST) {
        yamlw_begin_list(&c->w);
        for (const struct yaml_node *i = n->first; i; i = i->next)
            copy(c, i, table, key);
        yamlw_end_list(&c->w);
    } else {
        copy_scalar(c, n, key);
    }
}

int prometheus_files_routes(struct span yaml, struct buf *out)
{
    struct copying c = {.name = SPAN("")};
    struct yaml_node *root = NULL;
    struct err_list errs;
    struct buf text;
    buf_init(&text, 16 * MIB);
    buf_init(&c.notes, MIB);
    err_list_init(&errs);
    yamlw_init(&c.w, &text);
    int r = yaml_read(yaml, "routes", &root, &errs);
    if (r == 0 && (!root || root->kind != YAML_NODE_MAP))
        r = -EPROTO;
    if (r == 0) {
        copy(&c, root, file, SPAN(""));
        r = yamlw_error(&c.w);
    }
    if (r == 0)
        r = buf_append(
            out,
            SPAN("# Alertmanager 0.25 and later: routes and receivers as the gateway has them.\n"));
    if (r == 0 && buf_len(&c.notes) > 0)
        r = buf_append(out, buf_span(&c.notes));
    if (r == 0)
        r = buf_append(out, buf_span(&text));
    root = yaml_free(root);
    buf_done(&text);
    buf_done(&c.notes);
    return r == -EINVAL || r == -EBADMSG ? -EPROTO : r;
}
