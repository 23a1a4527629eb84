/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file.h - routes, receivers and inhibition, in Alertmanager's own configuration format.
 *
 * Role:      a file that Alertmanager would take, too, as far as it knows the receivers: global,
 *            route (receiver, group_by, matchers, match, match_re, continue, group_wait,
 *            group_interval, repeat_interval, mute_time_intervals, active_time_intervals,
 *            routes), inhibit_rules, time_intervals, receivers (a table of kinds,
 *            alert/receiver.h: webhook_configs, slack_configs, email_configs, wecom_configs,
 *            dingtalk_configs, feishu_configs, log_configs).
 * Limits:    YAML's (yaml/tree.h); ALERT_FILE_ROUTES_MAX routes, ALERT_FILE_DEPTH_MAX levels of
 *            them.
 * Secrets:   url_file, secret_file, auth_password_file and the like are read when used; values in
 *            the file are never printed: alert_file_print writes <secret>.
 * Errors:    all mistakes at once with file, line, column, hint; the file is refused whole.
 * Built in:  without a file every alert goes to the operator's log: alert_file_default.
 * Threading: constant once read; ref and unref from any thread. What matches (matchers of routes
 *            and inhibitions) is used by one thread at a time: who wants to try routes beside
 *            delivery reads the file once more.
 */
#ifndef ALERT_FILE_H
#define ALERT_FILE_H

#include "base/err_list.h"
#include "series/matcher.h"

enum {
    ALERT_FILE_ROUTES_MAX = 2000,
    ALERT_FILE_DEPTH_MAX = 4, /* routes in routes; YAML_DEPTH_MAX allows no more */
    ALERT_FILE_INHIBITIONS_MAX = 500,
};

struct alert_receiver;
struct alert_route {
    struct span receiver;
    const struct alert_receiver *to; /* the same, found */
    const struct matcher *matchers;  /* by name, value, operator; match and match_re among them */
    size_t n_matchers;
    const struct span *group_by; /* sorted */
    size_t n_group_by;
    bool group_by_all;                                            /* "..." */
    bool goes_on;                                                 /* continue */
    int64_t group_wait_ms, group_interval_ms, repeat_interval_ms; /* inherited ones filled in */
    const struct span *mute_times, *active_times;
    size_t n_mute_times, n_active_times;
    struct labels labels; /* of the route and those above it: routeLabels of the payload */
    const struct alert_route *routes; /* children, in order */
    size_t n_routes;
    uint32_t number; /* in the order of the file, from 0 */
    struct span key; /* {}/{severity="P0"}: the first part of the keys of its groups */
};

struct alert_inhibition {
    struct span name; /* may be empty */
    const struct matcher *source, *target;
    size_t n_source, n_target;
    const struct span *equal; /* sorted, unique */
    size_t n_equal;
};

/* One thing to send to, of a receiver that may have several. */
struct receiver_kind;
struct alert_integration {
    const struct receiver_kind *kind;
    const void *config; /* of the kind */
    bool send_resolved;
    int index;      /* among those of its kind that the receiver has */
    int log_number; /* the same as long as kind and index are, and no other's of the receiver */
};
struct alert_receiver {
    struct span name;
    const struct alert_integration *integrations;
    size_t n;
};

struct alert_times;
struct alert_file {
    const struct alert_route *route;
    size_t n_routes; /* all of them, the root too: numbers are below it */
    int64_t resolve_timeout_ms;
    const struct alert_receiver *receivers;
    size_t n_receivers;
    const struct alert_inhibition *inhibitions;
    size_t n_inhibitions;
    const struct alert_times *times; /* alert/times.h */
    size_t n_times;
};

/* where: its path in messages; borrowed by errs. -EINVAL: errs says why; -ENOMEM. */
int alert_file_read(struct span text, const char *where, struct alert_file **ret,
                    struct err_list *errs) WARN_UNUSED;
int alert_file_default(struct alert_file **ret) WARN_UNUSED;
struct alert_file *alert_file_ref(struct alert_file *f);
struct alert_file *alert_file_unref(struct alert_file *f); /* NULL is allowed; returns NULL */

const struct alert_receiver *alert_file_receiver(const struct alert_file *f, struct span name);
const struct alert_times *alert_file_times(const struct alert_file *f, struct span name);

/*
 * The whole of it as YAML that reads back as the same, with what was inherited or left out written
 * out and <secret> where a secret stood.
 */
int alert_file_print(const struct alert_file *f, struct buf *out) WARN_UNUSED;

/*
 * Where an alert with these labels goes: a line for each route that takes it, beginning with the
 * receiver, a tab, and the route's key.
 */
int alert_route_explain(const struct alert_file *f, struct labels labels,
                        struct buf *out) WARN_UNUSED;

#endif
