/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin.h - functions of templates: Go's own, and those that Prometheus adds.
 *
 * Role:      one row per function; what a function takes is checked before it is called.
 * Arguments: a letter each: s text, n number or text that is one (a float when it is called), q
 *            list of samples, p one sample, a anything; a '*' behind the last one: any number of
 *            it, none included.
 * Errors:    -EINVAL with builtin_fail's text; -ENOMEM, -E2BIG.
 * Threading: pure, but for struct builtin_call, which belongs to one run.
 */
#ifndef TEMPLATE_BUILTIN_H
#define TEMPLATE_BUILTIN_H

#include "template/tvalue.h"

/* What a function may use of the run that calls it. */
struct builtin_call {
    const struct template_env *env;
    struct arena *arena;
    struct buf scratch; /* for making texts; empty at the beginning of a call */
    size_t n_steps;     /* what a call cost besides what its row says */
    struct err err;     /* why it failed */
};

struct builtin {
    const char *name;
    const char *takes;
    int (*call)(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret);
    size_t n_steps; /* what a call costs */
    size_t weight;  /* bytes that it reads cost so many times what they cost others; 0: once */
    /* Arguments are evaluated up to the one whose truth this is, which is the result; no call. */
    const bool *stop;
};

/* One file of functions; ends with a row without a name. */
extern const struct builtin builtin_text_rows[];
extern const struct builtin builtin_link_rows[];
extern const struct builtin builtin_number_rows[];
extern const struct builtin builtin_query_rows[];
extern const struct builtin builtin_compare_rows[];
extern const struct builtin builtin_collection_rows[];
extern const struct builtin builtin_print_rows[];

/* NULL: there is none. */
const struct builtin *builtin_find(struct span name);
/* The name that is nearest to a mistyped one; empty when none is near. */
struct span builtin_suggest(struct span name);
/* Whether it takes n arguments; *ret_want: how many it wants, *ret_is_least: or more. */
bool builtin_takes(const struct builtin *f, size_t n, size_t *ret_want, bool *ret_is_least);

/* Calls f with n arguments, as many as it takes, whose types are checked. */
int builtin_run(const struct builtin *f, struct builtin_call *c, struct tvalue *args, size_t n,
                struct tvalue *ret) WARN_UNUSED;

/*
 * Around whatever is called, functions and methods: the scratch buffer is empty, nothing is charged
 * yet; a failure is said to be of that name. Returns r, -E2BIG for -EMSGSIZE.
 */
void builtin_enter(struct builtin_call *c);
int builtin_leave(struct builtin_call *c, const char *name, int r) WARN_UNUSED;

/* For functions: says why, returns -EINVAL. */
int builtin_fail(struct builtin_call *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What is in the scratch buffer, as a text in the arena. r: of what filled it. */
int builtin_text(struct builtin_call *c, int r, struct tvalue *ret) WARN_UNUSED;
/* The text of values, as html, js and urlquery want it. A view, or in the arena. */
int builtin_join(struct builtin_call *c, const struct tvalue *args, size_t n,
                 struct span *ret) WARN_UNUSED;

#endif
