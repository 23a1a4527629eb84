/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_kinds.h - the kinds by name; each stands in a file of its own.
 */
#ifndef ALERT_RECEIVER_KINDS_H
#define ALERT_RECEIVER_KINDS_H

#include "alert/receiver.h"

extern const struct receiver_kind receiver_webhook, receiver_dingtalk, receiver_feishu,
    receiver_wecom, receiver_slack, receiver_email, receiver_log;

/* The payload of Alertmanager's webhook, version 4, at most max_alerts of them (0: all). */
void receiver_webhook_payload(const struct alert_message *m, size_t max_alerts, struct jsonw *w);

#endif
