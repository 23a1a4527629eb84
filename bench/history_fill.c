/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/history_fill.c - fills a data directory's series.db, as bench/history needs it.
 *
 *   history_fill text FILE DIR [LATER_H]          the samples of a text, sorted by time
 *   history_fill made SERIES HOURS INTERVAL_S DIR samples made up here, the last one now
 *
 * A line of the text is "NAME{LABELS} VALUE SECONDS", without escapes; '#' starts a comment. Upkeep
 * runs behind each commit (fill.h), and at the end LATER_H hours later.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "fill.h"

enum { LABELS_MAX = 32, SECOND_MS = 1000, HOUR_S = 3600 };

struct fill {
    struct tsdb *t;
    uint64_t n_samples;
    int64_t now_ms; /* of the samples that are not committed yet */
};

static void commit(struct fill *f)
{
    fill_commit(f->t, f->now_ms);
}

static uint32_t series_of(struct fill *f, struct label *pairs, size_t n)
{
    struct labels labels;
    uint32_t id;
    must(labels_normalise(pairs, n, &labels, NULL), "labels");
    must(tsdb_series(f->t, labels, fill_kind_of(labels_name(labels)), &id), "series");
    return id;
}

/* --- of a text --- */

/* name{a="b",c="d"} */
static size_t parse_series(struct span text, struct label *pairs)
{
    size_t n = 0;
    pairs[n++] = (struct label){SPAN(LABEL_NAME), span_split(&text, '{')};
    while (text.n > 1 && n < LABELS_MAX) {
        struct span name = span_split(&text, '=');
        text = span_from(text, 1);
        pairs[n++] = (struct label){name, span_split(&text, '"')};
        text = span_from(text, 1);
    }
    return n;
}

static void take_line(struct fill *f, struct span line)
{
    struct label pairs[LABELS_MAX];
    char number[64];
    size_t brace = span_find_char(line, '}');
    size_t end = brace < line.n ? brace + 1 : span_find_char(line, ' ');
    struct span rest = span_from(line, end + 1);
    span_copy(span_split(&rest, ' '), number, sizeof(number));
    double v = strtod(number, NULL);
    span_copy(rest, number, sizeof(number));
    int64_t t_ms = (int64_t)(strtod(number, NULL) * SECOND_MS + 0.5);
    if (f->n_samples > 0 && t_ms != f->now_ms)
        commit(f);
    f->now_ms = t_ms;
    size_t n = parse_series(span_of(line.p, end), pairs);
    must(tsdb_append(f->t, series_of(f, pairs, n), t_ms, v), "append");
    f->n_samples++;
}

static void take_text(struct fill *f, const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    FILE *file = fopen(path, "r");
    must(file ? 0 : -errno, path);
    for (ssize_t n; (n = getline(&line, &cap, file)) > 0;) {
        if (line[0] != '#' && n > 1)
            take_line(f, span_of(line, (size_t)n - 1));
    }
    commit(f);
    free(line);
    fclose(file);
}

/* --- made up: of ten series eight are buckets, one is a gauge, one a sum of seconds --- */

struct made_up {
    uint32_t id;
    double rate, v;
};

static uint32_t make_series(struct fill *f, size_t i)
{
    static const char *const names[] = {"y_bucket", "y_in_flight", "y_seconds_sum"};
    char le[32], model[32];
    (void)snprintf(le, sizeof(le), "%zu", i % 50);
    (void)snprintf(model, sizeof(model), "model-%zu", i / 50);
    struct label pairs[] = {
        {SPAN(LABEL_NAME), span_cstr(names[i % 10 < 8 ? 0 : i % 10 - 7])},
        {SPAN("instance"), SPAN("10.0.0.1:9464")},
        {SPAN("job"), SPAN("bench")},
        {SPAN(LABEL_LE), span_cstr(le)},
        {SPAN("model"), span_cstr(model)},
    };
    return series_of(f, pairs, ARRAY_LEN(pairs));
}

static double next_value(struct made_up *s, size_t i, struct rng *r)
{
    if (i % 10 < 8)
        s->v += rng_unit(r) < s->rate ? (double)rng_below(r, 20) : 0;
    else if (i % 10 == 8)
        s->v = (double)rng_below(r, 30);
    else
        s->v += (double)rng_below(r, 4000000000) / 1e9;
    return s->v;
}

static void make_up(struct fill *f, size_t n_series, int64_t n_steps, int64_t interval_ms)
{
    struct rng r;
    struct made_up *all = mem_must(mem_zalloc(n_series, sizeof(*all)));
    rng_seed(&r, 1);
    for (size_t i = 0; i < n_series; i++)
        all[i] = (struct made_up){.id = make_series(f, i), .rate = rng_unit(&r) * rng_unit(&r)};
    f->now_ms = clock_wall().us / (US_PER_S / SECOND_MS) - n_steps * interval_ms;
    for (int64_t step = 0; step < n_steps; step++) {
        f->now_ms += interval_ms;
        for (size_t i = 0; i < n_series; i++) {
            double v = next_value(&all[i], i, &r);
            must(tsdb_append(f->t, all[i].id, f->now_ms, v), "append");
        }
        f->n_samples += n_series;
        commit(f);
    }
    mem_free(all);
}

int main(int argc, char **argv)
{
    struct fill f = {0};
    int64_t later_h = 0;
    if (argc >= 4 && argc <= 5 && strcmp(argv[1], "text") == 0) {
        later_h = argc > 4 ? (int64_t)fill_number(argv[4]) : 0;
        f.t = fill_open(argv[3]);
        take_text(&f, argv[2]);
    } else if (argc == 6 && strcmp(argv[1], "made") == 0) {
        int64_t interval_s = (int64_t)fill_number(argv[4]);
        f.t = fill_open(argv[5]);
        make_up(&f, fill_number(argv[2]), (int64_t)fill_number(argv[3]) * HOUR_S / interval_s,
                interval_s * SECOND_MS);
    } else {
        fprintf(stderr, "usage: %s text FILE DIR [LATER_H] | made SERIES HOURS INTERVAL_S DIR\n",
                argv[0]);
        return 2;
    }
    fill_maintain(f.t, f.now_ms + later_h * HOUR_S * SECOND_MS);
    tsdb_close(f.t);
    printf("%llu\n", (unsigned long long)f.n_samples);
    return 0;
}
