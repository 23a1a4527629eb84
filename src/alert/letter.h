/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/letter.h - how a group of alerts reads: the same for every kind of receiver.
 *
 *   [FIRING:2] HighTTFT (P1, llama)          letter_title
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
#ifndef ALERT_LETTER_H
#define ALERT_LETTER_H

#include "alert/markup.h"
#include "alert/receiver.h"

enum letter_language { LETTER_EN, LETTER_ZH };
#define LETTER_LANGUAGES "en zh" /* in the order of the enum, for options.h */

enum letter_unit {
    LETTER_BYTES,
    LETTER_CHARS,
    LETTER_JSON_BYTES, /* bytes of the text within JSON */
};

struct letter {
    const struct markup *markup;
    enum letter_language language;
    enum letter_unit unit;
    size_t max;
    int64_t now_ms;
};

/* One line of plain text, at most max characters. */
int letter_title(const struct alert_message *m, enum letter_language language, size_t max_chars,
                 struct buf *out) WARN_UNUSED;

/* Everything below the title. */
int letter_text(const struct letter *l, const struct alert_message *m, struct buf *out) WARN_UNUSED;

/* One alert on one line of plain text, for logs: at most max bytes. */
int letter_line(const struct alert_view *alert, size_t max_bytes, struct buf *out) WARN_UNUSED;

size_t letter_size(enum letter_unit unit, struct span text);

/* The URL of an alert's runbook; empty where it has none that can be a link. */
struct span letter_runbook(const struct alert_view *alert);

#endif
