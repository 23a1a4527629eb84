/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file.h - routes, receivers and inhibition, in Alertmanager's own configuration format.
 *
 * Role:      a file that Alertmanager would take, too, as far as it knows the receivers: global,
 *            route (receiver, group_by, matchers, match, match_re, continue, group_wait,
 *            group_interval, repeat_interval, mute_time_intervals, active_time_intervals, routes),
 *            inhibit_rules, time_intervals, receivers (a table of kinds, alert/receiver.h:
 *            webhook_configs, slack_configs, email_configs, wecom_configs, dingtalk_configs,
 *            feishu_configs, log_configs).
 * Secrets:   url_file, secret_file, auth_password_file and the like are read when used; values in
 *            the file are never printed: alert_file_print writes <secret>.
 * Errors:    all mistakes at once with file, line, column, hint; the file is refused whole.
 * Built in:  without a file every alert goes to the operator's log: alert_file_default.
 * Threading: constant once read; ref and unref from any thread.
 */
#ifndef ALERT_FILE_H
#define ALERT_FILE_H

#include "base/err_list.h"
#include "series/matcher.h"

struct alert_route {
    struct span receiver;
    const struct matcher *matchers;
    size_t n_matchers;
    const struct span *group_by; /* sorted */
    size_t n_group_by;
    bool group_by_all;                                            /* "..." */
    bool goes_on;                                                 /* continue */
    int64_t group_wait_ms, group_interval_ms, repeat_interval_ms; /* inherited ones filled in */
    const struct span *mute_times, *active_times;
    size_t n_mute_times, n_active_times;
    const struct alert_route *routes; /* children, in order */
    size_t n_routes;
    uint32_t number; /* in the order of the file; part of a group's key */
};

struct alert_inhibition {
    const struct matcher *source, *target;
    size_t n_source, n_target;
    const struct span *equal;
    size_t n_equal;
};

/* One thing to send to, of a receiver that may have several. */
struct receiver_kind;
struct alert_integration {
    const struct receiver_kind *kind;
    const void *config; /* of the kind */
    bool send_resolved;
    int index; /* among those of the receiver */
};
struct alert_receiver {
    struct span name;
    const struct alert_integration *integrations;
    size_t n;
};

struct alert_file {
    const struct alert_route *route;
    const struct alert_receiver *receivers;
    size_t n_receivers;
    const struct alert_inhibition *inhibitions;
    size_t n_inhibitions;
    const struct alert_times *times; /* alert/times.h */
    size_t n_times;
};

int alert_file_read(struct span text, const char *where, struct alert_file **ret,
                    struct err_list *errs) WARN_UNUSED;
int alert_file_default(struct alert_file **ret) WARN_UNUSED;
struct alert_file *alert_file_ref(struct alert_file *f);
struct alert_file *alert_file_unref(struct alert_file *f);

const struct alert_receiver *alert_file_receiver(const struct alert_file *f, struct span name);

#endif
