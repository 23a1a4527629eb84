/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file_receivers.c - receivers: and global:. What a kind's entry holds is the kind's to read
 * (alert/receiver.h).
 */
#include "alert/file_read.h"

#include <errno.h>

#include "base/suggest.h"

#define HINT_WEBHOOK                                                                               \
    "use webhook_configs, or send to an Alertmanager that has this receiver beside ours"
#define HINT_GLOBAL "it belongs to receivers that are not supported; leave it out"

/* Alertmanager's kinds that we have not got, and what to use. */
static const struct {
    const char *key, *hint;
} unsupported[] = {
    {"pagerduty_configs", HINT_WEBHOOK},
    {"opsgenie_configs", HINT_WEBHOOK},
    {"victorops_configs", HINT_WEBHOOK},
    {"pushover_configs", HINT_WEBHOOK},
    {"sns_configs", HINT_WEBHOOK},
    {"telegram_configs", HINT_WEBHOOK},
    {"webex_configs", HINT_WEBHOOK},
    {"msteams_configs", HINT_WEBHOOK},
    {"msteamsv2_configs", HINT_WEBHOOK},
    {"discord_configs", HINT_WEBHOOK},
    {"incidentio_configs", HINT_WEBHOOK},
    {"jira_configs", HINT_WEBHOOK},
    {"rocketchat_configs", HINT_WEBHOOK},
    {"mattermost_configs", "use slack_configs with the URL of Mattermost's incoming webhook"},
    {"wechat_configs", "use wecom_configs with the key of a group robot"},
};

struct receiver_reader {
    struct alert_integration *at;
    size_t n, n_of_kind;
    size_t kind; /* in receiver_table */
    struct span name;
};

/* In receiver_table; receiver_table_n: it is none. */
static size_t kind_of(struct span key)
{
    size_t i = 0;
    while (i < receiver_table_n && !span_eq(key, span_cstr(receiver_table[i]->key)))
        i++;
    return i;
}

static int read_entry(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct receiver_reader *rr = to;
    const struct receiver_kind *kind = receiver_table[rr->kind];
    bool sends_resolved = kind->tells_resolved;
    const void *config = NULL;
    if (item->kind != YAML_NODE_MAP) {
        (void)err_set(file_error(rd, item), -EINVAL, "an entry of %s must be a mapping of keys",
                      kind->key);
        return 0;
    }
    const struct yaml_node *told = file_keys_value(item, "send_resolved");
    if (told)
        (void)file_bool(rd, told, "send_resolved", &sends_resolved); /* a mistake is listed */
    int r = kind->read(item, rd->global, rd->where, &rd->to->arena, &config, rd->errs);
    if (r < 0)
        return r;
    size_t index = rr->n_of_kind++;
    rr->at[rr->n++] =
        (struct alert_integration){.kind = kind,
                                   .config = config,
                                   .send_resolved = sends_resolved,
                                   .index = (int)index,
                                   .log_number = (int)(rr->kind * YAML_NODES_MAX + index)};
    return 0;
}

static void unknown_kind(struct file_reader *rd, const struct yaml_node *key)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = file_error(rd, key);
    struct suggest s;
    for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
        if (span_eq(yaml_span(key), span_cstr(unsupported[i].key))) {
            (void)err_set(e, -ENOTSUP, "\"%s\" is not supported", unsupported[i].key);
            err_hint(e, "%s", unsupported[i].hint);
            return;
        }
    }
    (void)err_set(e, -EINVAL, "unknown key \"%s\" in receiver",
                  err_list_shown(yaml_span(key), shown));
    suggest_init(&s, yaml_span(key));
    suggest_offer(&s, SPAN("name"));
    for (size_t i = 0; i < receiver_table_n; i++)
        suggest_offer(&s, span_cstr(receiver_table[i]->key));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
}

static int read_keys(struct file_reader *rd, const struct yaml_node *map,
                     struct receiver_reader *rr)
{
    int r = 0;
    for (const struct yaml_node *key = map->first; key && r == 0; key = key->next) {
        if (!file_keys_is_text(key))
            continue;
        if (span_eq(yaml_span(key), SPAN("name"))) {
            struct span s = {0};
            if (key->value && file_text(rd, key->value, "name", &s))
                r = file_copy(rd, s, &rr->name);
            continue;
        }
        rr->kind = kind_of(yaml_span(key));
        rr->n_of_kind = 0;
        if (rr->kind == receiver_table_n)
            unknown_kind(rd, key);
        else if (key->value)
            r = file_keys_each(rd, key->value, receiver_table[rr->kind]->key, read_entry, rr);
    }
    return r;
}

static size_t entries_of(const struct yaml_node *map)
{
    size_t n = 0;
    for (const struct yaml_node *key = map->first; key; key = key->next)
        n += file_keys_length(key->value);
    return n;
}

static int read_receiver(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct alert_receiver *all = to;
    struct receiver_reader rr = {.name = SPAN("")};
    char shown[ERR_LIST_SHOWN_MAX];
    if (item->kind != YAML_NODE_MAP) {
        (void)err_set(file_error(rd, item), -EINVAL, "a receiver must be a mapping of keys");
        return 0;
    }
    rr.at = arena_zalloc(&rd->to->arena, entries_of(item), sizeof(*rr.at));
    if (!rr.at)
        return -ENOMEM;
    int r = read_keys(rd, item, &rr);
    if (r < 0)
        return r;
    if (rr.name.n == 0) {
        (void)err_set(file_error(rd, item), -EINVAL, "a receiver needs a name");
        return 0;
    }
    if (alert_file_receiver(&rd->to->file, rr.name)) {
        (void)err_set(file_error(rd, item), -EINVAL, "receiver \"%s\" is there twice",
                      err_list_shown(rr.name, shown));
        return 0;
    }
    all[rd->to->file.n_receivers++] = (struct alert_receiver){rr.name, rr.at, rr.n};
    return 0;
}

int file_receivers_read(struct file_reader *rd, const struct yaml_node *list)
{
    struct alert_receiver *all = arena_zalloc(&rd->to->arena, file_keys_length(list), sizeof(*all));
    if (!all)
        return -ENOMEM;
    rd->to->file.receivers = all;
    return file_keys_each(rd, list, "receivers", read_receiver, all);
}

/* --- global --- */

static int read_resolve_timeout(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)to;
    (void)file_duration(rd, value, "resolve_timeout", false, /* a mistake is listed */
                        &rd->to->file.resolve_timeout_ms);
    return 0;
}

/* Read by the kinds that take it from there. */
static int read_elsewhere(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    (void)value;
    (void)to;
    return 0;
}

int file_global_read(struct file_reader *rd, const struct yaml_node *map)
{
    static const struct file_key keys[] = {
        {"resolve_timeout", read_resolve_timeout, NULL},
        {"http_config", read_elsewhere, NULL},
        {"smtp_from", read_elsewhere, NULL},
        {"smtp_smarthost", read_elsewhere, NULL},
        {"smtp_hello", read_elsewhere, NULL},
        {"smtp_auth_username", read_elsewhere, NULL},
        {"smtp_auth_password", read_elsewhere, NULL},
        {"smtp_auth_password_file", read_elsewhere, NULL},
        {"smtp_require_tls", read_elsewhere, NULL},
        {"smtp_tls_config", read_elsewhere, NULL},
        {"smtp_force_implicit_tls", read_elsewhere, NULL},
        {"slack_api_url", read_elsewhere, NULL},
        {"slack_api_url_file", read_elsewhere, NULL},
        {"smtp_auth_identity", NULL, "leave it out; smtp_auth_username is enough"},
        {"smtp_auth_secret", NULL, "use smtp_auth_password: CRAM-MD5 is not supported"},
        {"smtp_auth_secret_file", NULL, "use smtp_auth_password_file: CRAM-MD5 is not supported"},
        {"slack_app_token", NULL, "use slack_api_url with the URL of an incoming webhook"},
        {"slack_app_token_file", NULL, "use slack_api_url_file"},
        {"slack_app_url", NULL, "use slack_api_url"},
        {"pagerduty_url", NULL, HINT_GLOBAL},
        {"opsgenie_api_key", NULL, HINT_GLOBAL},
        {"opsgenie_api_key_file", NULL, HINT_GLOBAL},
        {"opsgenie_api_url", NULL, HINT_GLOBAL},
        {"victorops_api_key", NULL, HINT_GLOBAL},
        {"victorops_api_key_file", NULL, HINT_GLOBAL},
        {"victorops_api_url", NULL, HINT_GLOBAL},
        {"telegram_api_url", NULL, HINT_GLOBAL},
        {"telegram_bot_token", NULL, HINT_GLOBAL},
        {"telegram_bot_token_file", NULL, HINT_GLOBAL},
        {"webex_api_url", NULL, HINT_GLOBAL},
        {"jira_api_url", NULL, HINT_GLOBAL},
        {"wechat_api_url", NULL, "use wecom_configs with the key of a group robot"},
        {"wechat_api_secret", NULL, "use wecom_configs with the key of a group robot"},
        {"wechat_api_secret_file", NULL, "use wecom_configs with the key of a group robot"},
        {"wechat_api_corp_id", NULL, "use wecom_configs with the key of a group robot"},
    };
    rd->global = map && map->kind == YAML_NODE_MAP ? map : NULL;
    return map ? file_keys_read(rd, map, "global", keys, ARRAY_LEN(keys), NULL) : 0;
}
