/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/condition.h - which rows of a chunk a question wants.
 *
 * Errors:    as store/chunk.h; -EINVAL: no such condition on such a field.
 * Threading: one owner.
 */
#ifndef STORE_CONDITION_H
#define STORE_CONDITION_H

#include "store/chunk.h"
#include "store/rows.h"

enum condition_kind { CONDITION_NUMBER, CONDITION_FLAG, CONDITION_TEXT, CONDITION_LABEL };

struct condition {
    enum condition_kind kind;
    enum rows_test test;
    size_t field; /* index in record_fields */
    struct span text;
    double number;
    int64_t mask; /* CONDITION_FLAG; 0: no such flag */
};

int condition_prepare(const struct rows_condition *c, struct condition *ret) WARN_UNUSED;

/* false: no row of a chunk with these zones can meet it. */
bool condition_may_hold(const struct condition *c, const struct chunk_source *s, struct span zones);

/* Clears keep[i] of rows that do not meet it. numbers: scratch of COLUMN_ROWS_MAX. */
int condition_apply(const struct condition *c, struct chunk_source *s, const struct chunk *chunk,
                    int64_t *numbers, uint8_t *keep) WARN_UNUSED;

#endif
