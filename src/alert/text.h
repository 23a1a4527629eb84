/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/text.h - what texts of messages are made with: signatures, codings, whole characters,
 * times.
 *
 * Errors:    negative errno of the buffer; what is in it already stays.
 * Threading: pure (text_local_time reads the process's time zone).
 */
#ifndef ALERT_TEXT_H
#define ALERT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

int text_base64(struct span s, struct buf *out) WARN_UNUSED; /* one line */
/* Everything but letters, digits and -._~ as %XX. */
int text_percent(struct span s, struct buf *out) WARN_UNUSED;
/* base64(HMAC-SHA256(key, message)). */
int text_sign(struct span key, struct span message, struct buf *out) WARN_UNUSED;

size_t text_chars(struct span s);
/* The first max characters of s. */
struct span text_cut(struct span s, size_t max_chars);
/* The first whole characters that take at most max bytes. */
struct span text_cut_bytes(struct span s, size_t max_bytes);

/* "2026-11-30T04:46:47.123Z" */
int text_rfc3339(int64_t ms, struct buf *out) WARN_UNUSED;
/* "2026-11-30 12:46:47 +08:00", in the process's time zone. */
int text_local_time(int64_t ms, struct buf *out) WARN_UNUSED;
/* "45s", "12m", "3h 5m", "2d 4h" */
int text_duration(int64_t ms, struct buf *out) WARN_UNUSED;

/*
 * One line of plain text: whatever ends a line or is a control becomes a blank, marks that turn the
 * direction of writing go, bytes that are no UTF-8 become U+FFFD. With keeps_lines newlines stay
 * (without CR, no more than two in a row).
 */
int text_clean(struct span s, bool keeps_lines, struct buf *out) WARN_UNUSED;

#endif
