/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/prose.h - what texts of messages are made with: signatures, codings, whole characters,
 * times.
 *
 * Errors:    negative errno of the buffer; what is in it already stays.
 * Threading: pure (prose_local_time reads the process's time zone).
 */
#ifndef ALERT_PROSE_H
#define ALERT_PROSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

int prose_base64(struct span s, struct buf *out) WARN_UNUSED; /* one line */
/* Everything but letters, digits and -._~ as %XX. */
int prose_percent(struct span s, struct buf *out) WARN_UNUSED;
/* base64(HMAC-SHA256(key, message)). */
int prose_sign(struct span key, struct span message, struct buf *out) WARN_UNUSED;

size_t prose_chars(struct span s);
/* The first max characters of s. */
struct span prose_cut(struct span s, size_t max_chars);
/* The first whole characters that take at most max bytes. */
struct span prose_cut_bytes(struct span s, size_t max_bytes);

/* "2026-11-30T04:46:47.123Z" */
int prose_rfc3339(int64_t ms, struct buf *out) WARN_UNUSED;
/* "2026-11-30 12:46:47 +08:00", in the process's time zone. */
int prose_local_time(int64_t ms, struct buf *out) WARN_UNUSED;
/* "45s", "12m", "3h 5m", "2d 4h" */
int prose_duration(int64_t ms, struct buf *out) WARN_UNUSED;

/*
 * One line of plain text: whatever ends a line or is a control becomes a blank, marks that turn the
 * direction of writing go, bytes that are no UTF-8 become U+FFFD. With keeps_lines newlines stay
 * (without CR, no more than two in a row).
 */
int prose_clean(struct span s, bool keeps_lines, struct buf *out) WARN_UNUSED;

#endif
