/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/json.h - allocation-free JSON reader over one span (RFC 8259).
 *
 * Role:      the hot path's way to look into an event or a request. Pull style: the caller walks
 *            objects and arrays and takes the values it knows; everything else is skipped.
 * Memory:    none. Strings come back raw (escapes untouched) as views into the input;
 *            json_unescape copies when the text itself is needed.
 * Errors:    sticky. JSON_ERROR = not JSON; JSON_MORE = the input ended inside a value (a window
 *            of a larger body): whatever was read before it is right.
 * Limits:    nesting of JSON_DEPTH_MAX; deeper input is an error, never a stack overflow.
 *
 *   struct json j;
 *   json_init(&j, text);
 *   struct json_value v;
 *   if (json_next(&j, &v) && v.type == JSON_OBJECT) {
 *       struct span key;
 *       while (json_key(&j, &key)) {           // false at '}' or on error
 *           if (span_eq(key, SPAN("model")))
 *               json_next(&j, &v);             // takes the value
 *           else
 *               json_skip(&j);                 // or passes over it
 *       }
 *   }
 *   // arrays: while (json_item(&j)) { json_next(&j, &v); ... }
 *
 * After json_next returned an object (array) the caller must either walk it to its end with
 * json_key (json_item), or leave it with json_leave. A value that was neither taken nor skipped
 * when json_key or json_item is called again is skipped then. Any other order of calls (json_next
 * where no value stands, json_key inside an array) is JSON_ERROR.
 */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

enum { JSON_DEPTH_MAX = 64 };

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_OBJECT, JSON_ARRAY };

enum json_status { JSON_OK = 0, JSON_MORE = 1, JSON_ERROR = -1 };

struct json_value {
    enum json_type type;
    /* STRING: between the quotes, raw. NUMBER: the digits. BOOL/NULL: the word. OBJECT/ARRAY: the
     * bytes from the opening bracket on (the end is not known yet). Valid as long as the input. */
    struct span raw;
    bool has_escape; /* STRING: raw contains a backslash */
    bool is_true;    /* BOOL */
};

struct json {
    const char *_p;     /* next unread byte */
    const char *_end;   /* of the input */
    const char *_base;  /* start of the input, for json_offset */
    uint64_t _is_array; /* bit per level */
    enum json_status _status;
    int _depth;
    char _closer; /* ends the innermost bracket; 0: none is open, or failed */
    char _at;     /* what must come next, see json.c */
};

void json_init(struct json *j, struct span text);
enum json_status json_status(const struct json *j);

/* Offset in the input of the next unread byte; on an error, of the token at fault. */
size_t json_offset(const struct json *j);

/* Takes the next value. For OBJECT and ARRAY, enters it. false: error or input ended. */
bool json_next(struct json *j, struct json_value *ret);

/* In an object: next key (raw, between the quotes; compare with json_str_eq where an escaped
 * spelling matters), standing before its value. false: '}' was taken (json_status OK) or error. */
bool json_key(struct json *j, struct span *ret_key);

/* In an array: true when another item follows (json_next takes it), false: ']' was taken or error.
 */
bool json_item(struct json *j);

/* Passes over the next value, whatever it is. */
bool json_skip(struct json *j);

/* Passes over the rest of the innermost open object or array. */
bool json_leave(struct json *j);

/* true when only white space is left and every bracket is closed. */
bool json_is_done(struct json *j);

/* Value helpers. An integer written with a fraction or exponent is taken when it is whole
 * ("12.0", "1e3"). Return false and leave *ret alone when v is no such value or out of range. */
bool json_i64(const struct json_value *v, int64_t *ret);
bool json_double(const struct json_value *v, double *ret);
static inline bool json_is_nonempty_string(const struct json_value *v)
{
    return v->type == JSON_STRING && v->raw.n > 0;
}

/*
 * Decodes escapes of a raw string into dst (cap bytes, cut at cap - 1 on a character boundary,
 * terminated when cap > 0). A lone surrogate becomes U+FFFD. Returns the bytes written without the
 * terminator; \u0000 writes a NUL byte like any other.
 */
size_t json_unescape(struct span raw, char *dst, size_t cap);

/* Whether raw, once unescaped, equals the plain text (keys that hide behind escapes). */
bool json_str_eq(struct span raw, struct span text);

#endif
