/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kafka_rig.h - source_kafka begun on a configuration, and what a reading said.
 *
 *   struct kafka_rig rig = {.config = {...}};
 *   kafka_rig_begin(&rig);
 *   assert_int_equal(kafka_rig_read(&rig), SOURCE_WORKING);
 *   kafka_rig_value(&rig, "kafka_consumer_lag{...}")      labels sorted; NaN: there is none
 *   kafka_rig_end(&rig);
 */
#ifndef KAFKA_RIG_H
#define KAFKA_RIG_H

#include "harness.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "collect/kafka.h"

struct kafka_rig {
    struct kafka_config config;
    void *source;
    struct batch *batch; /* of the last reading */
    struct err err;
    int64_t took_ms;
};

static inline void kafka_rig_begin(struct kafka_rig *rig)
{
    int r = source_kafka.begin(&rig->config, &rig->source, &rig->err);

    if (r < 0)
        fail_msg("begin: %s", rig->err.text);
}

static inline void kafka_rig_end(struct kafka_rig *rig)
{
    rig->batch = batch_free(rig->batch);
    source_kafka.end(rig->source);
    rig->source = NULL;
}

static inline enum source_state kafka_rig_read(struct kafka_rig *rig)
{
    mono_t start = clock_mono();
    enum source_state state;

    rig->batch = batch_free(rig->batch);
    rig->err = (struct err){0};
    assert_int_equal(batch_new(&rig->batch), 0);
    state = source_kafka.read(rig->source, 1000, rig->batch, &rig->err);
    rig->took_ms = mono_diff(clock_mono(), start) / NS_PER_MS;
    return state;
}

/* Reads until the source says so, or for 20 s. */
static inline void kafka_rig_read_until(struct kafka_rig *rig, enum source_state wanted)
{
    mono_t start = clock_mono();

    while (kafka_rig_read(rig) != wanted) {
        if (mono_diff(clock_mono(), start) > 20 * NS_PER_S)
            fail_msg("state does not become %d: %s", wanted, rig->err.text);
    }
}

static inline double kafka_rig_value(const struct kafka_rig *rig, const char *series)
{
    double v = (double)NAN;
    struct buf text;

    buf_init(&text, 4096);
    for (size_t i = 0; i < rig->batch->n; i++) {
        buf_clear(&text);
        assert_int_equal(labels_print(rig->batch->at[i].labels, &text), 0);
        if (!span_eq(buf_span(&text), span_cstr(series)))
            continue;
        assert_row(series, isnan(v)); /* no series twice */
        assert_int_equal(rig->batch->at[i].t_ms, 1000);
        v = rig->batch->at[i].v;
    }
    buf_done(&text);
    return v;
}

/* Series of that name. */
static inline size_t kafka_rig_count(const struct kafka_rig *rig, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < rig->batch->n; i++)
        n += span_eq(labels_name(rig->batch->at[i].labels), span_cstr(name));
    return n;
}

static inline void kafka_rig_expect(const struct kafka_rig *rig, const char *series, double want)
{
    double v = kafka_rig_value(rig, series);

    if (isnan(want) ? !isnan(v) : v != want)
        fail_msg("%s is %g, not %g (%s)", series, v, want, rig->err.text);
}

static inline void kafka_rig_says(const struct kafka_rig *rig, const char *words)
{
    if (!strstr(rig->err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", rig->err.text, words);
    assert_true(strlen(rig->err.hint) > 0);
}

#endif
