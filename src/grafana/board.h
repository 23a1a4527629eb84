/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board.h - dashboards of Grafana as tables: rows of panels with their queries.
 *
 * Role:      one table a dashboard (board_*.c); board_json.c makes Grafana's JSON of it. Queries
 *            name canonical signals only (docs/METRICS.md) and work with Prometheus from 2.42 on,
 *            with 3.x, and with the gateway's own API. None selects by `le`, which is written
 *            differently there.
 * Queries:   may name variables of their board: BOARD_OF_MODEL, $quantile, $split, and Grafana's
 *            own: $__rate_interval, $__range.
 * Threading: constant data; writing is pure.
 */
#ifndef GRAFANA_BOARD_H
#define GRAFANA_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { BOARD_QUERIES_MAX = 6, BOARD_PANELS_MAX = 12, BOARD_ROWS_MAX = 8, BOARD_COLUMNS = 24 };

/* Matchers of a board with the variables model and upstream; BOARD_OF_MODEL alone holds for series
 * of engines, too: those without the label are among ".*". */
#define BOARD_OF_MODEL "model=~\"$model\",upstream=~\"$upstream\""

enum board_kind {
    BOARD_LINES,
    BOARD_STACK,   /* lines whose sum means something */
    BOARD_NUMBER,  /* the last value, large */
    BOARD_HEATMAP, /* of classic buckets: its query gives series by le */
    BOARD_TABLE,   /* last values */
};

enum board_unit {
    BOARD_COUNT,
    BOARD_SECONDS,
    BOARD_RATIO,
    BOARD_REQUESTS_PER_S,
    BOARD_TOKENS_PER_S,
    BOARD_EVENTS_PER_S,
    BOARD_TOKENS,
    BOARD_BYTES,
    BOARD_BYTES_PER_S,
    BOARD_WATTS,
    BOARD_CELSIUS,
    BOARD_HERTZ,
    BOARD_MONEY,
    BOARD_UNITS
};

enum board_variable {
    BOARD_MODEL = 1,    /* $model, $upstream: of requests */
    BOARD_ENGINE = 2,   /* $model, $upstream: of scraped engines */
    BOARD_QUANTILE = 4, /* $quantile */
    BOARD_SPLIT = 8,    /* $split: a label of requests */
    BOARD_PRICES = 16,  /* $price_prompt, $price_cached, $price_completion: of a million tokens */
};

struct board_query {
    const char *expr;   /* NULL: no more */
    const char *legend; /* Grafana's: "{{model}} p50" */
};
struct board_panel {
    const char *title; /* NULL: no more */
    const char *help;  /* what it means */
    enum board_kind kind;
    enum board_unit unit;
    int width, height; /* of BOARD_COLUMNS; in grid units */
    struct board_query queries[BOARD_QUERIES_MAX];
    double warn, bad; /* of a number: from there on yellow, red; 0: never */
};
struct board_row {
    const char *title; /* NULL: no more */
    struct board_panel panels[BOARD_PANELS_MAX];
};
struct board {
    const char *name; /* of its file: NAME.json; its uid is inferometer-NAME */
    const char *title, *help;
    unsigned variables; /* enum board_variable */
    struct board_row rows[BOARD_ROWS_MAX];
};

extern const struct board board_overview, board_latency, board_tokens_time, board_tokens,
    board_scheduling, board_errors, board_gpu, board_pipeline;
extern const struct board *const board_all[];
extern const size_t board_all_n;

/* What differs between set-ups. */
enum { BOARD_LABELS_MAX = 16 };
struct board_setup {
    const struct span *labels; /* of their own, that $split offers as well */
    size_t n_labels;
};
/* The dashboard as Grafana imports it. -ENOMEM, -EMSGSIZE. */
int board_write(const struct board *b, const struct board_setup *s, struct buf *out) WARN_UNUSED;

/* Files by which Grafana finds the dashboards of a folder, and the data source that they ask. */
int board_write_provider(struct span folder, struct buf *out) WARN_UNUSED;
int board_write_source(struct span url, struct buf *out) WARN_UNUSED;

#endif
