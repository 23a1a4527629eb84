/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board_write.h - members of a dashboard's JSON. Private to board_*.c.
 */
#ifndef GRAFANA_BOARD_WRITE_H
#define GRAFANA_BOARD_WRITE_H

#include "base/jsonw.h"
#include "grafana/board.h"

void board_object(struct jsonw *w, const char *key); /* to be ended */
void board_list(struct jsonw *w, const char *key, const char *const *texts, size_t n);
void board_source(struct jsonw *w); /* "datasource": the chosen one */

/* What is in an open object: a panel but its id and place; the variables. */
void board_panel_write(struct jsonw *w, const struct board_panel *p);
void board_variables_write(struct jsonw *w, const struct board *b, const struct board_setup *s);

#endif
