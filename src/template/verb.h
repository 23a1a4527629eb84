/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/verb.h - values as text, as Go's fmt writes them.
 *
 * Role:      what actions print, and printf with its verbs: v s q x X d b o O c U t f F e E g G %,
 *            flags + - # space 0, width, precision, *, [n]. What does not fit
 *            is said as Go says it: %!d(string=abc), %!d(MISSING), %!(EXTRA int=1).
 * Other:     a sample, which is a pointer in Go, is written as what it points to.
 * Errors:    -ENOMEM, -EMSGSIZE (out is full).
 * Threading: pure.
 */
#ifndef TEMPLATE_VERB_H
#define TEMPLATE_VERB_H

#include "template/tvalue.h"

/* One % with what is behind it. */
struct verb {
    uint32_t rune;
    bool has_plus, has_minus, has_sharp, has_space, has_zero;
    bool is_plus_v, is_sharp_v;
    int width, precision; /* -1: none */
};

/* As an action prints it. */
int verb_print(const struct tvalue *v, struct buf *out) WARN_UNUSED;
/* Blanks between values that are both no texts; is_line: between all, and a line feed. */
int verb_print_all(const struct tvalue *args, size_t n, bool is_line, struct buf *out) WARN_UNUSED;
/* Prints args as told by format. */
int verb_printf(struct span format, const struct tvalue *args, size_t n,
                struct buf *out) WARN_UNUSED;

/* One value. */
int verb_value(const struct verb *verb, const struct tvalue *v, struct buf *out) WARN_UNUSED;
/* Whether it is one of these ASCII characters. */
bool verb_is_one_of(const struct verb *verb, const char *runes);
/* A text with a verb for texts; v: for what is said when the verb is none. */
int verb_text(const struct verb *verb, struct span s, const struct tvalue *v,
              struct buf *out) WARN_UNUSED;
int verb_integer(const struct verb *verb, const struct tvalue *v, struct buf *out) WARN_UNUSED;
int verb_float(const struct verb *verb, const struct tvalue *v, struct buf *out) WARN_UNUSED;
/* %!d(type=value) */
int verb_refuse(const struct verb *verb, const struct tvalue *v, struct buf *out) WARN_UNUSED;

/* s with blanks (or zeros) up to the width in characters. */
int verb_pad(const struct verb *verb, struct span s, struct buf *out) WARN_UNUSED;
/* Whether Go shows a character as it is: no control, no blank but ' ', nothing without a shape. Of
 * characters that are no character yet, it does not know. */
bool verb_is_shown(uint32_t c);
/* n times c. */
int verb_repeat(char c, size_t n, struct buf *out) WARN_UNUSED;
/* The characters of s; each byte that is no UTF-8 is one. */
size_t verb_count(struct span s);

#endif
