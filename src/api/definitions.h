/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/definitions.h - private to api/: GET /api/v1/definitions, what every figure of pages means.
 *
 * Role:      metrics, the program's own counters, signals of engines, what is measured beside them
 *            and fields of records come from their tables, which are English, their Chinese from
 *            definitions_zh.c; figures that pages make of them from definitions_figures.c.
 * Answer:    {"status": "success", "data": [{"name", "kind": metric, field or figure, "type" and
 *            "unit" where there are, "en", "zh"; of figures "title_en", "title_zh"}]}.
 * Threading: constant data.
 */
#ifndef API_DEFINITIONS_H
#define API_DEFINITIONS_H

#include "api/routes.h"

struct definition_zh {
    const char *name; /* of the metric, or the field */
    const char *text;
};
/* In any order; that of the tables is quick. */
extern const struct definition_zh definitions_zh[];
extern const size_t definitions_zh_n;

struct definition_figure {
    const char *key, *unit;
    const char *title[LANGUAGE_COUNT_];
    const char *text[LANGUAGE_COUNT_];
};
extern const struct definition_figure definitions_figures[];
extern const size_t definitions_figures_n;

int definitions_write(struct jsonw *w) WARN_UNUSED;

#endif
