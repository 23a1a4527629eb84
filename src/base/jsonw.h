/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/jsonw.h - writes compact JSON into a buffer, commas and escapes included.
 *
 *   jsonw_begin_object(&w); jsonw_key(&w, "a"); jsonw_i64(&w, 1); jsonw_end_object(&w);
 *
 * Errors:    sticky: after a failed append every later call does nothing; jsonw_error tells.
 * Text:      bytes that are not UTF-8 become U+FFFD, control characters are escaped.
 */
#ifndef BASE_JSONW_H
#define BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

struct jsonw {
    struct buf *_b;
    int _error;
    bool _need_comma;
};

void jsonw_init(struct jsonw *w, struct buf *b);
int jsonw_error(const struct jsonw *w); /* 0 or the first negative errno */
/* What is to be written could not be had: from now on as after a failed append. 0: nothing. */
void jsonw_fail(struct jsonw *w, int error);

void jsonw_begin_object(struct jsonw *w);
void jsonw_end_object(struct jsonw *w);
void jsonw_begin_array(struct jsonw *w);
void jsonw_end_array(struct jsonw *w);
void jsonw_key(struct jsonw *w, const char *key); /* key: plain ASCII, not escaped */
/* The same from a text that has quotes and colon already: `"key":`. */
void jsonw_quoted_key(struct jsonw *w, struct span quoted);
/* Any text as a key. */
void jsonw_key_str(struct jsonw *w, struct span key);

void jsonw_str(struct jsonw *w, struct span s);
void jsonw_cstr(struct jsonw *w, const char *s);
void jsonw_i64(struct jsonw *w, int64_t v);
void jsonw_u64(struct jsonw *w, uint64_t v);
void jsonw_double(struct jsonw *w, double v); /* NaN and infinities become null */
void jsonw_bool(struct jsonw *w, bool v);
void jsonw_null(struct jsonw *w);
void jsonw_raw(struct jsonw *w, struct span json); /* already valid JSON */

/* A key and its value. */
void jsonw_put_str(struct jsonw *w, const char *key, struct span s);
void jsonw_put_cstr(struct jsonw *w, const char *key, const char *s);
void jsonw_put_i64(struct jsonw *w, const char *key, int64_t v);
void jsonw_put_u64(struct jsonw *w, const char *key, uint64_t v);
void jsonw_put_double(struct jsonw *w, const char *key, double v);
void jsonw_put_bool(struct jsonw *w, const char *key, bool v);

/*
 * For who writes whole lines at once: copies what stands for itself between quotes, up to the first
 * byte of [from, from + max) that does not: a quote, a backslash, a control character (so the NUL
 * at a text's end), DEL, anything beyond ASCII. Returns how many bytes that were. Nothing behind
 * max is read; up to JSONW_COPY_SLACK bytes behind the copy may be written.
 */
enum { JSONW_COPY_SLACK = 8 };
size_t jsonw_copy_plain(char *to, const char *from, size_t max);

#endif
