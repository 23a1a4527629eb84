/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/source_out.c - samples of sources, and the tables of their series.
 */
#include "collect/source_out.h"

#include <errno.h>
#include <math.h>

#include "collect/gpu.h"
#include "collect/host.h"
#include "collect/host_clock.h"
#include "collect/kafka.h"

void source_out_begin(struct source_out *o, struct batch *to, int64_t t_ms)
{
    *o = (struct source_out){.to = to, .t_ms = t_ms, .n_before = to->n};
}

void source_out_add(struct source_out *o, const char *series, const struct label *labels, size_t n,
                    double v)
{
    struct label pairs[SOURCE_LABELS_MAX + 1] = {{SPAN_INIT(LABEL_NAME), span_cstr(series)}};
    struct labels l;

    if (o->r < 0 || !isfinite(v))
        return;
    if (n > 0)
        memcpy(pairs + 1, labels, n * sizeof(*labels));
    o->r = labels_normalise(pairs, n + 1, &l, NULL);
    if (o->r == 0)
        o->r = batch_add(o->to, l, o->t_ms, v, NULL);
}

int source_out_end(struct source_out *o, struct err *reterr)
{
    if (o->r == 0)
        return 0;
    o->to->n = o->n_before;
    return err_set(reterr, o->r, "what was measured could not be kept: %s", err_str(o->r));
}

const struct source_series *source_out_at(size_t i, const char **ret_source)
{
    static const struct {
        const char *name;
        const struct source_series *rows;
        const size_t *n;
    } tables[] = {
        {"gpu", gpu_series, &gpu_series_n},
        {"host", host_series, &host_series_n},
        {"clock", host_clock_series, &host_clock_series_n},
        {"kafka", kafka_series, &kafka_series_n},
    };

    for (size_t k = 0; k < ARRAY_LEN(tables); i -= *tables[k++].n) {
        *ret_source = tables[k].name;
        if (i < *tables[k].n)
            return &tables[k].rows[i];
    }
    return NULL;
}

int source_out_to_markdown(struct buf *out)
{
    const struct source_series *s;
    const char *source;
    int r = buf_printf(out, "\n## What is measured here and not scraped\n\n"
                            "The machine itself, and Kafka, which is asked. Besides the signals "
                            "above, which the sources\nof GPUs and Kafka have as well. What "
                            "cannot be measured is missing, not 0.\n\n"
                            "| metric | source | type | unit | labels | what it is |\n"
                            "|---|---|---|---|---|---|\n");

    for (size_t i = 0; r == 0 && (s = source_out_at(i, &source)); i++)
        r = buf_printf(out, "| `%s` | %s | %s | %s | %s | %s |\n", s->series, source,
                       metric_type_name(s->type), s->unit, s->labels, s->help);
    return r;
}
