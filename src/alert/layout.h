/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/layout.h - how a group of alerts reads: the same for every kind of receiver.
 *
 *   [FIRING:2] HighTTFT (P1, llama)          layout_title
 *
 *   HighTTFT                                  per alert: its name where there are several,
 *   p99 TTFT is 4.1 s                         summary, description,
 *   Value: 4.1                                value,
 *   Since: 2026-11-30 12:46:47 +08:00 (12m)   when it began,
 *   Labels: upstream=a                        labels that are not common to all,
 *   Requests: 0af7..., 4bf9...                annotation exemplar_requests,
 *   Runbook                                   a link
 *   ... and 3 more                            where not all of them have room
 *
 * Limits:    in the unit of who receives it. Texts are cut at a whole character, before they are
 *            put into markup; alerts that have no room are counted.
 * Threading: pure.
 */
#ifndef ALERT_LAYOUT_H
#define ALERT_LAYOUT_H

#include "alert/markup.h"
#include "alert/receiver.h"

enum layout_language { LAYOUT_EN, LAYOUT_ZH };
#define LAYOUT_LANGUAGES "en zh" /* in the order of the enum, for options.h */

enum layout_unit {
    LAYOUT_BYTES,
    LAYOUT_CHARS,
    LAYOUT_JSON_BYTES, /* bytes of the text within JSON */
};

struct layout {
    const struct markup *markup;
    enum layout_language language;
    enum layout_unit unit;
    size_t max;
    int64_t now_ms;
};

/* One line of plain text, at most max characters. */
int layout_title(const struct alert_message *m, enum layout_language language, size_t max_chars,
                 struct buf *out) WARN_UNUSED;

/* Everything below the title. */
int layout_text(const struct layout *l, const struct alert_message *m, struct buf *out) WARN_UNUSED;

/* One alert on one line of plain text, for logs: at most max bytes. */
int layout_line(const struct alert_view *alert, size_t max_bytes, struct buf *out) WARN_UNUSED;

size_t layout_size(enum layout_unit unit, struct span text);

/* The URL of an alert's runbook; empty where it has none that can be a link. */
struct span layout_runbook(const struct alert_view *alert);

#endif
