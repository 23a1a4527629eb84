/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tvalue.h - what an expression of a template is worth.
 *
 * Role:      Go's values as far as rule files meet them; each kind has the name of its Go type for
 *            messages and for what printf says of a verb that does not fit.
 * Units:     moments and durations in ns, as in Go.
 * Ownership: borrows; what is made while a template runs lives in that run's arena.
 * Threading: plain values.
 */
#ifndef TEMPLATE_TVALUE_H
#define TEMPLATE_TVALUE_H

#include "series/fhist.h"
#include "template/template.h"

enum tvalue_kind {
    TVALUE_NONE, /* nil, and what is missing */
    TVALUE_BOOL,
    TVALUE_INT,
    TVALUE_FLOAT,
    TVALUE_STRING,
    TVALUE_LABELS,   /* a map of strings */
    TVALUE_DATA,     /* . at the top: Labels, ExternalLabels, ExternalURL, Value */
    TVALUE_ARGS,     /* what args makes: arg0, arg1, ... */
    TVALUE_SAMPLES,  /* what query returns */
    TVALUE_SAMPLE,   /* one of them */
    TVALUE_HIST,     /* a native histogram */
    TVALUE_TIME,     /* i: ns since the Unix epoch, UTC */
    TVALUE_DURATION, /* i: ns */
    TVALUE_COUNT_
};

struct tvalue_pair;

struct tvalue {
    enum tvalue_kind kind;
    union {
        bool b;
        int64_t i;
        double f;
        struct span s;
        struct labels labels;
        const struct template_env *data;
        struct {
            const struct tvalue_pair *at; /* by name */
            uint32_t n, depth;            /* depth: of those within each other */
        } args;
        struct {
            struct template_sample *at; /* sortByLabel sorts in place */
            size_t n;
        } samples;
        const struct template_sample *sample;
        const struct fhist *hist;
    };
};

struct tvalue_pair {
    struct span name;
    struct tvalue v;
};

static inline struct tvalue tvalue_none(void)
{
    return (struct tvalue){.kind = TVALUE_NONE};
}

static inline struct tvalue tvalue_bool(bool b)
{
    return (struct tvalue){.kind = TVALUE_BOOL, .b = b};
}

static inline struct tvalue tvalue_int(int64_t i)
{
    return (struct tvalue){.kind = TVALUE_INT, .i = i};
}

static inline struct tvalue tvalue_float(double f)
{
    return (struct tvalue){.kind = TVALUE_FLOAT, .f = f};
}

static inline struct tvalue tvalue_string(struct span s)
{
    return (struct tvalue){.kind = TVALUE_STRING, .s = s};
}

static inline struct tvalue tvalue_labels(struct labels l)
{
    return (struct tvalue){.kind = TVALUE_LABELS, .labels = l};
}

/* Of a sample: its number or its histogram. */
struct tvalue tvalue_of_sample(double v, const struct fhist *h);

/* The Go type's name: "float64", "map[string]string". */
const char *tvalue_type(enum tvalue_kind kind);

/* What if, with, and, or take for true: not zero, not empty, not missing. */
bool tvalue_is_true(const struct tvalue *v);

/* Elements of a text (bytes), a map or a list; -1: it has none. */
int64_t tvalue_len(const struct tvalue *v);

/* One element in order, maps by the order of their keys; i < tvalue_len; not for texts. *ret_key is
 * a number for lists, a text for maps. */
void tvalue_element(const struct tvalue *v, size_t i, struct tvalue *ret_key, struct tvalue *ret);

/*
 * Field or key of that name. -ENOENT: there can be none of that name in v. A key that a map lacks
 * is an empty text in labels, nothing in args.
 */
int tvalue_field(const struct tvalue *v, struct span name, struct tvalue *ret) WARN_UNUSED;

#endif
