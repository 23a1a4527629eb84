/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/metrics_markdown.c - docs/METRICS.md from the two tables of metrics: family.c and
 * base/stat.c.
 */
#include <string.h>

#include "base/num.h"
#include "base/stat.h"
#include "metrics/family.h"

static int write_labels(struct buf *out, const struct family *f)
{
    const char *names[FAMILY_SCOPE_LABELS_MAX];
    size_t n = family_scope_labels(f->scope, names);
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = buf_printf(out, "%s%s", i > 0 ? ", " : "", names[i]);
    for (int i = 0; i < FAMILY_ENUMS_MAX && r == 0; i++) {
        if (f->enums[i].label)
            r = buf_printf(out, "%s%s", n++ > 0 ? ", " : "", f->enums[i].label);
    }
    if (r == 0 && family_has_business(f->scope))
        r = buf_printf(out, ", business labels");
    return r == 0 && n == 0 ? buf_printf(out, "none") : r;
}

static int write_values(struct buf *out, const struct family_enum *e)
{
    int r = buf_printf(out, "\nValues of `%s`: ", e->label);
    for (int i = 0; i < e->n && r == 0; i++)
        r = buf_printf(out, "%s`%s`", i > 0 ? ", " : "", e->value(i));
    return r < 0 ? r : buf_printf(out, ".\n");
}

static int write_bounds(struct buf *out, const struct family *f)
{
    const struct hist_layout *layout = hist_layout_get(f->hist_unit);
    int r = buf_printf(out, "\nDefault bounds:");
    for (size_t i = 0; i < f->n_default_bounds && r == 0; i++) {
        char text[32];
        size_t n = num_format_double(hist_raw_to_unit(layout, f->default_bounds[i]), text);
        r = buf_printf(out, " %.*s", (int)n, text);
    }
    return r < 0 ? r : buf_printf(out, ".\n");
}

static int write_family(struct buf *out, const struct family *f)
{
    int r = buf_printf(out, "\n### %s\n\n%s\n\n- type: %s", f->name, f->help,
                       family_type_name(f->type));
    if (r == 0 && *f->unit)
        r = buf_printf(out, ", %s", f->unit);
    if (r == 0)
        r = buf_printf(out, "\n- labels: ");
    if (r == 0)
        r = write_labels(out, f);
    if (r == 0)
        r = buf_printf(out, "\n- recorded: %s\n", f->recorded);
    if (r == 0 && f->type == FAMILY_HISTOGRAM)
        r = write_bounds(out, f);
    for (int i = 0; i < FAMILY_ENUMS_MAX && r == 0; i++) {
        /* The version is no list to print: it changes with every release. */
        if (f->enums[i].label && f->enums[i].n > 1)
            r = write_values(out, &f->enums[i]);
    }
    return r;
}

static int write_stat(struct buf *out, const struct stat_desc *d, bool is_first_of_family)
{
    int r = 0;
    if (is_first_of_family)
        r = buf_printf(out, "\n### %s\n\n%s\n\n- type: %s\n", d->name, d->help,
                       d->type == STAT_COUNTER ? "counter" : "gauge");
    if (r == 0 && *d->labels)
        r = buf_printf(out, "- series: `{%s}`\n", d->labels);
    return r;
}

int metrics_to_markdown(struct buf *out)
{
    int r = buf_printf(
        out,
        "# Metrics\n\n"
        "Generated from the tables in src/metrics/family.c and src/base/stat.c; do not edit.\n"
        "What each number means is defined in DEFINITIONS.md.\n\n"
        "Every histogram is exposed with classic buckets, and in the protobuf format as a native\n"
        "histogram too (schema 5, or 3 when it has more than 160 buckets). A label value that is "
        "over\nits limit is `other`, one that does not exist is `none`. `version` is there where "
        "the "
        "upstream's\nconfiguration tells one; business labels are those of `labels` in the "
        "configuration, each where\nthe request has a value for it.\n\n## Requests\n");
    for (int m = 0; m < METRIC_COUNT_ && r == 0; m++)
        r = write_family(out, &family_table[m]);
    if (r == 0)
        r = buf_printf(out, "\n## The program itself\n");
    for (int i = 0; i < STAT_COUNT_ && r == 0; i++) {
        bool is_first = i == 0 || strcmp(stat_table[i].name, stat_table[i - 1].name) != 0;
        r = write_stat(out, &stat_table[i], is_first);
    }
    return r;
}
