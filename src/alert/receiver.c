/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver.c - the table of kinds. A new one comes last: alerts.db knows them by their place.
 */
#include "alert/receiver_kinds.h"

const struct receiver_kind *const receiver_table[] = {
    &receiver_webhook, &receiver_dingtalk, &receiver_feishu, &receiver_wecom,
    &receiver_slack,   &receiver_email,    &receiver_log,
};
const size_t receiver_table_n = ARRAY_LEN(receiver_table);
