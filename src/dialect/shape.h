/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/shape.h - recognises a stream event that differs from an earlier one in its text only.
 *
 * Why:       the events of one stream are the same bytes around another piece of text. Once one of
 *            them was read in full, the next is known to say the same as soon as the bytes in front
 *            of the text, the bytes behind it, and the text's being one plain JSON string agree.
 *            That is exact, and costs a twentieth of reading it.
 * Use:       shape_learn after an event that carried text and nothing else; shape_matches before
 *            reading the next one. Whatever does not match is read in full.
 * Memory:    SHAPE_BYTES_MAX per stream; events with more around their text are not remembered.
 */
#ifndef DIALECT_SHAPE_H
#define DIALECT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum { SHAPE_BYTES_MAX = 448 };

struct shape {
    uint16_t _head; /* bytes in front of the text, its quote included; 0: nothing is known */
    uint16_t _tail; /* bytes behind the text, its quote included */
    char _bytes[SHAPE_BYTES_MAX];
};

/* data was read and carried text, which lies inside it (between its quotes, not empty). */
void shape_learn(struct shape *s, struct span data, struct span text);

/* Whether data is what was learned with another text: not empty, without escapes. */
bool shape_matches(const struct shape *s, struct span data);

#endif
