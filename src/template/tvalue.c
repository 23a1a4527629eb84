/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tvalue.c - kinds of values: their names, truth, elements and fields.
 */
#include "template/tvalue.h"

#include <errno.h>

static const char *const types[TVALUE_COUNT_] = {
    [TVALUE_NONE] = "<nil>",
    [TVALUE_BOOL] = "bool",
    [TVALUE_INT] = "int",
    [TVALUE_FLOAT] = "float64",
    [TVALUE_STRING] = "string",
    [TVALUE_LABELS] = "map[string]string",
    [TVALUE_DATA] = "struct{Labels, ExternalLabels, ExternalURL, Value}", /* Go's is longer */
    [TVALUE_ARGS] = "map[string]interface {}",
    [TVALUE_SAMPLES] = "template.queryResult",
    [TVALUE_SAMPLE] = "*template.sample",
    [TVALUE_HIST] = "*histogram.FloatHistogram",
    [TVALUE_TIME] = "*time.Time",
    [TVALUE_DURATION] = "*time.Duration",
};

const char *tvalue_type(enum tvalue_kind kind)
{
    return types[kind];
}

struct tvalue tvalue_of_sample(double v, const struct fhist *h)
{
    if (!h)
        return tvalue_float(v);
    return (struct tvalue){.kind = TVALUE_HIST, .hist = h};
}

int64_t tvalue_len(const struct tvalue *v)
{
    switch (v->kind) {
    case TVALUE_STRING:
        return (int64_t)v->s.n;
    case TVALUE_LABELS:
        return (int64_t)v->labels.n;
    case TVALUE_ARGS:
        return (int64_t)v->args.n;
    case TVALUE_SAMPLES:
        return (int64_t)v->samples.n;
    default:
        return -1;
    }
}

bool tvalue_is_true(const struct tvalue *v)
{
    switch (v->kind) {
    case TVALUE_NONE:
        return false;
    case TVALUE_BOOL:
        return v->b;
    case TVALUE_INT:
        return v->i != 0;
    case TVALUE_FLOAT:
        return v->f != 0; /* NaN is true */
    default:
        return tvalue_len(v) != 0;
    }
}

void tvalue_element(const struct tvalue *v, size_t i, struct tvalue *ret_key, struct tvalue *ret)
{
    if (v->kind == TVALUE_LABELS) {
        *ret_key = tvalue_string(v->labels.at[i].name);
        *ret = tvalue_string(v->labels.at[i].value);
    } else if (v->kind == TVALUE_ARGS) {
        *ret_key = tvalue_string(v->args.at[i].name);
        *ret = v->args.at[i].v;
    } else {
        *ret_key = tvalue_int((int64_t)i);
        *ret = (struct tvalue){.kind = TVALUE_SAMPLE, .sample = &v->samples.at[i]};
    }
}

static struct tvalue args_field(const struct tvalue *v, struct span name)
{
    for (size_t i = 0; i < v->args.n; i++)
        if (span_eq(v->args.at[i].name, name))
            return v->args.at[i].v;
    return tvalue_none();
}

static int data_field(const struct template_env *env, struct span name, struct tvalue *ret)
{
    if (span_eq(name, SPAN("Labels")))
        *ret = tvalue_labels(env->labels);
    else if (span_eq(name, SPAN("ExternalLabels")))
        *ret = tvalue_labels(env->external_labels);
    else if (span_eq(name, SPAN("ExternalURL")))
        *ret = tvalue_string(env->external_url);
    else if (span_eq(name, SPAN("Value")))
        *ret = tvalue_of_sample(env->value, env->hist);
    else
        return -ENOENT;
    return 0;
}

static int sample_field(const struct template_sample *sample, struct span name, struct tvalue *ret)
{
    if (span_eq(name, SPAN("Labels")))
        *ret = tvalue_labels(sample->labels);
    else if (span_eq(name, SPAN("Value")))
        *ret = tvalue_of_sample(sample->v, sample->h);
    else
        return -ENOENT;
    return 0;
}

static int hist_field(const struct fhist *h, struct span name, struct tvalue *ret)
{
    if (span_eq(name, SPAN("Count")))
        *ret = tvalue_float(h->count);
    else if (span_eq(name, SPAN("Sum")))
        *ret = tvalue_float(h->sum);
    else
        return -ENOENT;
    return 0;
}

int tvalue_field(const struct tvalue *v, struct span name, struct tvalue *ret)
{
    switch (v->kind) {
    case TVALUE_NONE:
        *ret = tvalue_none();
        return 0;
    case TVALUE_LABELS:
        *ret = tvalue_string(labels_get(v->labels, name));
        return 0;
    case TVALUE_ARGS:
        *ret = args_field(v, name);
        return 0;
    case TVALUE_DATA:
        return data_field(v->data, name, ret);
    case TVALUE_SAMPLE:
        return sample_field(v->sample, name, ret);
    case TVALUE_HIST:
        return hist_field(v->hist, name, ret);
    default:
        return -ENOENT;
    }
}
