/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/negotiate.c - Accept and Accept-Encoding -> format and coding (RFC 9110, section 12.5).
 *
 * The range with the highest weight that names a format wins, the first of equal ones: Prometheus
 * orders its list by its own preference. What cannot be satisfied gets text 0.0.4 all the same,
 * since a scraper that reads nothing at all helps nobody.
 */
#include "base/num.h"
#include "export/export.h"

/* One element of the list: its name, its parameters, its weight. */
struct range {
    struct span name;
    struct span params; /* "; a=b; q=1", unparsed */
    double q;
};

/* The value of a parameter without quotes; n = 0: not there. */
static struct span param(struct span params, struct span name)
{
    while (params.n > 0) {
        struct span value = span_split(&params, ';');
        struct span key = span_trim(span_split(&value, '='));
        value = span_trim(value);
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = span_of(value.p + 1, value.n - 2);
        if (span_eq_nocase(key, name))
            return value;
    }
    return (struct span){0};
}

/* A weight that is no number counts as 0: what was meant is unknown. */
static double weight(struct span params)
{
    double q = 1;
    struct span text = param(params, SPAN("q"));
    if (text.n > 0 && num_parse_double(text, &q) < 0)
        return 0;
    return q < 0 ? 0 : q > 1 ? 1 : q;
}

static struct range next_range(struct span *list)
{
    struct range r = {0};
    r.params = span_split(list, ',');
    r.name = span_trim(span_split(&r.params, ';'));
    r.q = weight(r.params);
    return r;
}

static bool is_protobuf(const struct range *r)
{
    return span_eq(param(r->params, SPAN("proto")), SPAN("io.prometheus.client.MetricFamily")) &&
           span_eq_nocase(param(r->params, SPAN("encoding")), SPAN("delimited"));
}

static const struct export_format *format_of(const struct range *r)
{
    struct span version = param(r->params, SPAN("version"));
    for (int i = 0; i < EXPORT_FORMAT_COUNT_; i++) {
        const struct export_format *f = &export_formats[i];
        if (!span_eq_nocase(r->name, span_cstr(f->media_type)))
            continue;
        bool is_other_version =
            f->version && version.n > 0 && !span_eq(version, span_cstr(f->version));
        return is_other_version || (i == EXPORT_FORMAT_PROTOBUF && !is_protobuf(r)) ? NULL : f;
    }
    bool is_any = span_eq(r->name, SPAN("*/*")) || span_eq_nocase(r->name, SPAN("text/*"));
    return is_any ? &export_formats[EXPORT_FORMAT_TEXT] : NULL;
}

const struct export_format *negotiate_format(struct span accept)
{
    const struct export_format *best = &export_formats[EXPORT_FORMAT_TEXT];
    double best_q = 0;
    while (accept.n > 0) {
        struct range r = next_range(&accept);
        const struct export_format *f = format_of(&r);
        if (f && r.q > best_q) {
            best = f;
            best_q = r.q;
        }
    }
    return best;
}

bool negotiate_gzip(struct span accept_encoding)
{
    double gzip_q = -1;
    double any_q = -1;
    double identity_q = 0;
    while (accept_encoding.n > 0) {
        struct range r = next_range(&accept_encoding);
        if (span_eq_nocase(r.name, SPAN("gzip")) || span_eq_nocase(r.name, SPAN("x-gzip")))
            gzip_q = r.q;
        else if (span_eq(r.name, SPAN("*")))
            any_q = r.q;
        else if (span_eq_nocase(r.name, SPAN("identity")))
            identity_q = r.q;
    }
    double q = gzip_q >= 0 ? gzip_q : any_q;
    return q > 0 && q >= identity_q;
}
