/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_federate.c - the last sample of each series that match[] means, for another Prometheus:
 * its /federate, in the text format, with the time of each sample. What is collected beside the
 * traffic gets there in this way, under the names that the rules of deploy/rules read.
 */
#include <stdlib.h>

#include "api/prom.h"
#include "export/format.h"
#include "series/number.h"

enum { LOOKBACK_MS = 5 * 60 * 1000 }; /* as of a query: what is older is no value of now */

/* By metric, whose samples have to stand together, then by labels. */
static int by_name(const void *a, const void *b)
{
    const struct series_ref *x = a, *y = b;
    int order = span_cmp(labels_name(x->labels), labels_name(y->labels));
    return order != 0 ? order : labels_cmp(x->labels, y->labels);
}

/* The format has no other names. */
static bool is_writable(struct labels l)
{
    if (!labels_is_metric_name(labels_name(l)))
        return false;
    for (size_t i = 0; i < l.n; i++)
        if (!labels_is_label_name(l.at[i].name))
            return false;
    return true;
}

static int write_labels(struct labels l, struct buf *out)
{
    int r = 0, n = 0;
    for (size_t i = 0; i < l.n && r == 0; i++) {
        if (span_eq(l.at[i].name, SPAN(LABEL_NAME)))
            continue;
        r = buf_printf(out, "%s%.*s=\"", n++ > 0 ? "," : "{", SPAN_ARG(l.at[i].name));
        if (r == 0)
            r = exposition_escape(l.at[i].value, EXPOSITION_VALUE_ESCAPES, out);
        if (r == 0)
            r = buf_append(out, SPAN("\""));
    }
    return r < 0 || n == 0 ? r : buf_append(out, SPAN("}"));
}

struct federation {
    struct reader *reader;
    struct samples samples;
    struct buf *out;
    struct span family; /* of the last line */
    size_t n_left_out;  /* series that the text cannot have */
    int64_t now_ms;
};

static int write_sample(struct federation *f, struct labels l, int64_t t_ms, double v)
{
    struct span name = labels_name(l);
    int r = 0;
    if (!span_eq(f->family, name))
        r = buf_printf(f->out, "# TYPE %.*s untyped\n", SPAN_ARG(name));
    f->family = name;
    if (r == 0)
        r = buf_append(f->out, name);
    if (r == 0)
        r = write_labels(l, f->out);
    if (r == 0)
        r = buf_append(f->out, SPAN(" "));
    if (r == 0)
        r = number_print(v, f->out);
    return r < 0 ? r : buf_printf(f->out, " %lld\n", (long long)t_ms);
}

static int write_series(struct federation *f, const struct series_ref *s)
{
    struct samples *got = &f->samples;
    samples_clear(got);
    int r = f->reader->ops->samples(f->reader, s->id, f->now_ms - LOOKBACK_MS + 1, f->now_ms,
                                    SERIES_LAST, got);
    if (r < 0 || got->n == 0)
        return r;
    size_t last = got->n - 1;
    if (series_is_stale(got->v[last]))
        return 0;
    if ((got->h && got->h[last]) || !is_writable(s->labels)) {
        f->n_left_out++;
        return 0;
    }
    return write_sample(f, s->labels, got->t[last], got->v[last]);
}

static int write_all(struct prom_call *c, struct federation *f, struct series_ref *series, size_t n)
{
    int r = 0;
    if (n > 0)
        qsort(series, n, sizeof(*series), by_name);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = prom_is_over(c);
        if (r == 0)
            r = write_series(f, &series[i]);
    }
    if (r == 0 && f->n_left_out > 0)
        r = buf_printf(f->out,
                       "# %zu series are left out: native histograms, and names that this format "
                       "does not have\n",
                       f->n_left_out);
    return r;
}

void prom_federate_text(struct prom_call *c)
{
    struct federation f = {.out = c->body, .now_ms = c->now_ms};
    struct series_ref *series;
    size_t n;
    if (!prom_needs_match(c) || !prom_open(c, &f.reader))
        return;
    samples_init(&f.samples, NULL);
    if (prom_select_in(c, f.reader, c->now_ms - LOOKBACK_MS + 1, c->now_ms, "match[]", &series,
                       &n)) {
        int r = write_all(c, &f, series, n);
        c->content_type = export_formats[EXPORT_FORMAT_TEXT].content_type;
        if (r < 0)
            prom_fail_query(c, r, "");
    }
    samples_done(&f.samples);
    prom_close(c, f.reader);
}
