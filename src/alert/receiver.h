/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver.h - kinds of receivers: how a group of alerts becomes a message, and what an
 * answer means. One table (receiver_table); a new kind is a file and a row.
 *
 * Role:      seam between dispatch and delivery above, transport below.
 * Purity:    render and judge have no clock, no network: signatures take the time that is given.
 * Secrets:   are in URLs, headers and bodies; `shown` is what people may see of it.
 * Limits:    each kind's own size limits are counted in the unit of its API (bytes for WeCom,
 *            characters for Slack); too many alerts are cut at a whole character with "... and N
 *            more".
 * Source:    reference "slo-alert-diagnosis facts" 1.5 and 1.6.
 */
#ifndef ALERT_RECEIVER_H
#define ALERT_RECEIVER_H

#include "alert/file.h"
#include "base/jsonw.h"
#include "web/web.h"
#include "yaml/tree.h"
#include "yaml/write.h"

struct alert_view {
    struct labels labels, annotations;
    int64_t starts_ms, ends_ms; /* ends_ms: resolved ones */
    bool is_resolved;
    uint64_t fingerprint; /* as Alertmanager computes it (FNV-1a), so that both name it alike */
    double value;
    struct span generator_url;
};

/* What a receiver is told at one moment. Lives in the arena of the delivery. */
struct alert_message {
    struct span receiver, group_key, external_url;
    struct labels group_labels, common_labels, common_annotations, route_labels;
    const struct alert_view *alerts; /* firing first, then resolved; by labels */
    size_t n, n_firing;
    size_t n_truncated;
    struct span reason; /* notification_reason of Alertmanager's payload */
};

enum request_kind { REQUEST_HTTP, REQUEST_MAIL, REQUEST_LOG };
/* What transport sends. Everything lives in the arena that render was given. */
struct receiver_request {
    enum request_kind kind;
    struct span url; /* http(s)://, smtp(s):// */
    struct span body, content_type;
    const struct web_header *headers;
    size_t n_headers;
    struct span shown; /* the URL without its secrets */
    /* mail */
    struct span from, user, password, hello;
    const struct span *to;
    size_t n_to;
    bool needs_tls;
    struct web_link link;
    int64_t timeout_ms; /* 0: 10 s */
};

struct receiver_reply {
    int error;              /* of the transfer: negative errno; 0: an answer came */
    struct span words;      /* what went wrong there, for people; no secrets */
    int status;             /* HTTP status, or SMTP's reply code */
    struct span body;       /* at most 64 KiB; of a mail: what SMTP answered with 4xx and 5xx */
    int64_t retry_after_ms; /* -1: none */
};
enum verdict {
    VERDICT_DELIVERED, /* *ret_why may have a text: what went wrong all the same */
    VERDICT_LATER,     /* a passing fault: again, with back-off, or when *ret_wait_ms says */
    VERDICT_NEVER,     /* this message will not be taken: what is wrong has to be mended */
};

struct receiver_kind {
    const char *key;     /* "dingtalk_configs" */
    const char *name;    /* "dingtalk": label of metrics, lists */
    size_t rate_per_min; /* 0: unlimited; messages of one integration */
    bool tells_resolved; /* what send_resolved is when it is not written */
    /*
     * One entry of the list; config lives in a. Mistakes go to errs, which then is not empty any
     * more; -ENOMEM. global: the mapping of that name, or NULL. send_resolved is read by the file.
     */
    int (*read)(const struct yaml_node *map, const struct yaml_node *global, const char *where,
                struct arena *a, const void **ret, struct err_list *errs);
    /* The keys of that entry, without send_resolved, into a mapping that is open: names and values
     * through yamlw_key and the like, yamlw_secret for what nobody may see. */
    void (*print)(const void *config, struct yamlw *w);
    int (*render)(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr);
    enum verdict (*judge)(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why);
};
extern const struct receiver_kind *const receiver_table[];
extern const size_t receiver_table_n;

#endif
