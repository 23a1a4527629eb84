/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/format.h - the table of exposition formats. A new format is a function and a row.
 *
 * Threading: any thread; a writer reads metrics in place and touches nothing but its output.
 */
#ifndef EXPORT_FORMAT_H
#define EXPORT_FORMAT_H

#include "base/attr.h"
#include "base/buf.h"
#include "metrics/metrics.h"

struct export_format {
    const char *name;
    const char *content_type;
    /* What an Accept header calls it; version: the values of that parameter, NULL: none is asked.
     */
    const char *media_type;
    const char *version;
    int (*write)(const struct metrics *m, struct buf *out); /* 0, -ENOMEM, -EMSGSIZE */
};

enum {
    EXPORT_FORMAT_TEXT,
    EXPORT_FORMAT_OPENMETRICS,
    EXPORT_FORMAT_PROTOBUF,
    EXPORT_FORMAT_COUNT_
};
extern const struct export_format export_formats[EXPORT_FORMAT_COUNT_];

/* exposition.c: Prometheus text 0.0.4, and OpenMetrics 1.0 (with created stamps and exemplars). */
int exposition_write(const struct metrics *m, struct buf *out) WARN_UNUSED;
int exposition_write_openmetrics(const struct metrics *m, struct buf *out) WARN_UNUSED;
/* What has a backslash in front in values of labels. */
#define EXPOSITION_VALUE_ESCAPES "\\\"\n"
int exposition_escape(struct span s, const char *escapes, struct buf *out) WARN_UNUSED;

/* protobuf.c: length-delimited MetricFamily messages; histograms are classic and native at once. */
int protobuf_write(const struct metrics *m, struct buf *out) WARN_UNUSED;

#endif
