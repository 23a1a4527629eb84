/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/shape.h - recognises a stream event that differs from an earlier one in its text only.
 *
 * Why:       the events of one stream are the same bytes around another piece of text (and a number
 *            of the event, or padding). Once one of them was read in full, the next is known to say
 *            the same as soon as the bytes around the holes agree and each hole holds one JSON
 *            string or number. White space in front of the last brace, with which Anthropic pads
 *            its events, does not count. That is exact, and costs a tenth of reading it.
 * Use:       shape_learn after an event that carried one string of output; shape_matches before
 *            reading the next one. Whatever does not match is read in full.
 * Memory:    SHAPE_BYTES_MAX per stream; events with more around their holes are not remembered.
 */
#ifndef DIALECT_SHAPE_H
#define DIALECT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum { SHAPE_BYTES_MAX = 448, SHAPE_HOLES_MAX = 3 };

struct shape {
    uint32_t _kinds;                  /* of output that it carries */
    uint8_t _n_holes;                 /* 0: nothing is known */
    uint8_t _text;                    /* which of them is the output: never empty */
    uint16_t _n[SHAPE_HOLES_MAX + 1]; /* in front of each hole, and from the last to the brace */
    char _bytes[SHAPE_BYTES_MAX];
};

/*
 * data was read and carried text, which lies inside it (between its quotes, not empty). others: up
 * to SHAPE_HOLES_MAX - 1 more strings (between their quotes) and numbers in data that mean nothing.
 */
void shape_learn(struct shape *s, struct span data, uint32_t kinds, struct span text,
                 const struct span *others, int n_others);

/* Whether data is what was learned with other things in its holes: *ret_kinds is what it carries
 * then. */
bool shape_matches(const struct shape *s, struct span data, uint32_t *ret_kinds);

#endif
