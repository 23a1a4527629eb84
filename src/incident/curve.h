/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/curve.h - of this module only: the points of one curve, series by series.
 *
 * Shape:     point k of a series stands for [start + k * step, start + (k + 1) * step). When there
 *            would be more than INCIDENT_POINTS_MAX the step doubles and points are put together:
 *            the larger of two, or their mean where the curve is one of amounts per second. NAN:
 *            nothing is known.
 * Limits:    INCIDENT_SERIES_MAX series, those with the largest points; the others are counted.
 * Memory:    the arena's.
 * Threading: pure.
 */
#ifndef INCIDENT_CURVE_H
#define INCIDENT_CURVE_H

#include "base/buf.h"
#include "incident/incidents.h"
#include "promql/value.h"

enum { CURVE_STEP_MS = 15 * 1000 }; /* to begin with: an hour in all */

struct curve_series {
    struct labels labels;
    float *at; /* INCIDENT_POINTS_MAX */
    float max;
};

struct curve {
    int64_t start_ms, step_ms;
    size_t n_points; /* of each series, as far as the curve was taken */
    struct curve_series series[INCIDENT_SERIES_MAX];
    size_t n_series;
    size_t n_left_out; /* series that there was no room for; at least */
    struct arena *arena;
};

void curve_init(struct curve *c, int64_t start_ms, struct arena *a);
/* Makes room for points up to that moment, which is included. */
void curve_reach(struct curve *c, int64_t until_ms, bool is_mean);
/* What an expression was worth; its steps divide the curve's, and curve_reach was called for the
 * last one. -ENOMEM: the curve is as it was, or has some of the points. */
int curve_add(struct curve *c, const struct value *v, bool is_mean) WARN_UNUSED;

/* As bytes, compressed and with a checksum; and back: -EBADMSG. */
int curve_pack(const struct curve *c, struct buf *out) WARN_UNUSED;
int curve_unpack(struct span packed, struct arena *a, struct curve *ret) WARN_UNUSED;

#endif
