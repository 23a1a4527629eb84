/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/alert_show.h - private to cli/alert*: answers of the gateway as tables.
 *
 * Errors:    -EPROTO: not what was asked for; -ENOMEM.
 * Threading: pure.
 */
#ifndef CLI_ALERT_SHOW_H
#define CLI_ALERT_SHOW_H

#include <stdint.h>

#include "base/buf.h"

/* json: the whole answer. now_ms: what ages count from. */
int alert_show_list(struct span json, int64_t now_ms, struct buf *out) WARN_UNUSED;
int alert_show_silences(struct span json, int64_t now_ms, struct buf *out) WARN_UNUSED;
int alert_show_deliveries(struct span json, int64_t now_ms, struct buf *out) WARN_UNUSED;
int alert_show_names(struct span json, int64_t now_ms, struct buf *out) WARN_UNUSED;
int alert_show_silence_id(struct span json, int64_t now_ms, struct buf *out) WARN_UNUSED;
/* Of a test: *ret_delivered. */
int alert_show_test(struct span json, bool *ret_delivered, struct buf *out) WARN_UNUSED;

#endif
