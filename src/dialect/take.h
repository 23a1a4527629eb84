/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/take.h - takes the next value out of a JSON reader, for what the dialects look at.
 * Private to dialect/.
 *
 * Every function consumes exactly one value, whatever its type: a value of another type than was
 * hoped for is passed over whole and tells nothing. Errors are sticky in the reader.
 */
#ifndef DIALECT_TAKE_H
#define DIALECT_TAKE_H

#include "base/span.h"
#include "dialect/key.h"
#include "wire/json.h"

/* The value itself, its inside included. false: error, or the input ended. */
bool take_whole(struct json *j, struct json_value *ret);

/* true: it is an object (array), and its inside comes next. */
bool take_object(struct json *j);
bool take_array(struct json *j);

/* true: a string that is not empty. */
bool take_text(struct json *j);

/* The raw string, empty when it is none. */
struct span take_string(struct json *j);

/* true: neither null, false, 0, "", {} nor []. take_is_truthy: v was taken already. */
bool take_truthy(struct json *j);
bool take_is_truthy(struct json *j, const struct json_value *v);

/* *ret becomes the integer; it stays when there is none. take_positive: only one above 0. */
void take_count(struct json *j, int64_t *ret);
void take_positive(struct json *j, int64_t *ret);

/* *ret becomes the number times scale, rounded; it stays when there is none or it is below 0. */
void take_scaled(struct json *j, double scale, int64_t *ret);

/* *ret: whether it is true. */
void take_flag(struct json *j, bool *ret);

/* *ret becomes a string that is not empty, or a number: what may name something. */
void take_name(struct json *j, struct span *ret);

/* Adds the value's size in bytes to *ret, as far as the input shows it; n_input: of the reader. */
void take_size(struct json *j, size_t n_input, int64_t *ret);

#endif
