/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/expose.h"

#include <string.h>

#include "base/check.h"
#include "base/stat.h"

struct walk {
    const char *family; /* the one pointer that stands for rows of equal names */
    int (*visit)(void *ctx, const struct expose_series *s);
    void *ctx;
};

static int visit_metric(void *ctx, const struct metrics_sample *m)
{
    struct walk *walk = ctx;
    struct expose_series s = {
        .name = m->family->name,
        .help = m->family->help,
        .unit = m->family->unit,
        .type = m->family->type,
        .labels = m->labels,
        .n_labels = m->n_labels,
        .created_at = m->created_at,
        .value = m->value,
        .hist = m->hist,
    };
    return walk->visit(walk->ctx, &s);
}

/* `side="client",direction="in"`, with text cut into NUL-terminated pieces. */
static size_t split_labels(char *text, struct metrics_label *labels, size_t max)
{
    size_t n = 0;
    while (*text && n < max) {
        char *equals = strchr(text, '=');
        char *end = equals && equals[1] == '"' ? strchr(equals + 2, '"') : NULL;
        if (NEVER(!end))
            break;
        *equals = '\0';
        *end = '\0';
        labels[n++] = (struct metrics_label){text, equals + 2};
        text = end[1] == ',' ? end + 2 : end + 1;
    }
    return n;
}

static int visit_stat(struct walk *walk, int i)
{
    const struct stat_desc *d = &stat_table[i];
    char text[128];
    struct metrics_label labels[METRICS_LABELS_MAX];
    if (!walk->family || strcmp(walk->family, d->name) != 0)
        walk->family = d->name;
    span_copy(span_cstr(d->labels), text, sizeof(text));
    struct expose_series s = {
        .name = walk->family,
        .help = d->help,
        .unit = "",
        .type = d->type == STAT_COUNTER ? FAMILY_COUNTER : FAMILY_GAUGE,
        .labels = labels,
        .n_labels = split_labels(text, labels, METRICS_LABELS_MAX),
        .value = stat_sum((enum stat_id)i),
    };
    return walk->visit(walk->ctx, &s);
}

int expose_each(const struct metrics *m, int (*visit)(void *ctx, const struct expose_series *s),
                void *ctx)
{
    struct walk walk = {.visit = visit, .ctx = ctx};
    int r = metrics_each(m, visit_metric, &walk);
    for (int i = 0; i < STAT_COUNT_ && r == 0; i++)
        r = visit_stat(&walk, i);
    return r;
}
