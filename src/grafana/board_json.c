/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board_json.c - Grafana's JSON of a board: panels in a grid of 24 columns, from the left
 * to the right and from the top down.
 */
#include "grafana/board.h"

#include "base/attr.h"
#include "base/jsonw.h"
#include "grafana/board_write.h"

enum { SCHEMA_VERSION = 39 };

const struct board *const board_all[] = {&board_overview, &board_latency,    &board_tokens_time,
                                         &board_tokens,   &board_scheduling, &board_errors,
                                         &board_gpu,      &board_pipeline};
const size_t board_all_n = ARRAY_LEN(board_all);

/* --- members --- */

void board_object(struct jsonw *w, const char *key)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
}

void board_list(struct jsonw *w, const char *key, const char *const *texts, size_t n)
{
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t i = 0; i < n; i++)
        jsonw_cstr(w, texts[i]);
    jsonw_end_array(w);
}

void board_source(struct jsonw *w)
{
    board_object(w, "datasource");
    jsonw_put_cstr(w, "type", "prometheus");
    jsonw_put_cstr(w, "uid", "${datasource}");
    jsonw_end_object(w);
}

/* --- the grid --- */

struct grid {
    int64_t id;
    int x, y, next_y; /* next_y: below the panels of the line */
};

static void place_write(struct jsonw *w, struct grid *g, int width, int height)
{
    if (g->x + width > BOARD_COLUMNS) {
        g->x = 0;
        g->y = g->next_y;
    }
    board_object(w, "gridPos");
    jsonw_put_i64(w, "x", g->x);
    jsonw_put_i64(w, "y", g->y);
    jsonw_put_i64(w, "w", width);
    jsonw_put_i64(w, "h", height);
    jsonw_end_object(w);
    g->x += width;
    if (g->y + height > g->next_y)
        g->next_y = g->y + height;
}

static void row_write(struct jsonw *w, struct grid *g, const char *title)
{
    g->x = 0;
    g->y = g->next_y;
    jsonw_begin_object(w);
    jsonw_put_i64(w, "id", ++g->id);
    jsonw_put_cstr(w, "type", "row");
    jsonw_put_cstr(w, "title", title);
    jsonw_put_bool(w, "collapsed", false);
    board_list(w, "panels", NULL, 0);
    place_write(w, g, BOARD_COLUMNS, 1);
    jsonw_end_object(w);
    g->x = 0;
    g->y = g->next_y;
}

static void panels_write(struct jsonw *w, const struct board *b)
{
    struct grid g = {0};
    jsonw_key(w, "panels");
    jsonw_begin_array(w);
    for (size_t i = 0; i < BOARD_ROWS_MAX && b->rows[i].title; i++) {
        row_write(w, &g, b->rows[i].title);
        for (size_t k = 0; k < BOARD_PANELS_MAX && b->rows[i].panels[k].title; k++) {
            const struct board_panel *p = &b->rows[i].panels[k];
            jsonw_begin_object(w);
            jsonw_put_i64(w, "id", ++g.id);
            place_write(w, &g, p->width, p->height);
            board_panel_write(w, p);
            jsonw_end_object(w);
        }
    }
    jsonw_end_array(w);
}

/* --- around them --- */

static void links_write(struct jsonw *w)
{
    static const char *const tags[] = {"inferometer"};
    jsonw_key(w, "links");
    jsonw_begin_array(w);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "type", "dashboards");
    jsonw_put_cstr(w, "title", "Inferometer");
    jsonw_put_cstr(w, "icon", "external link");
    jsonw_put_cstr(w, "tooltip", "");
    jsonw_put_cstr(w, "url", "");
    board_list(w, "tags", tags, 1);
    jsonw_put_bool(w, "asDropdown", true);
    jsonw_put_bool(w, "includeVars", true);
    jsonw_put_bool(w, "keepTime", true);
    jsonw_put_bool(w, "targetBlank", false);
    jsonw_end_object(w);
    jsonw_end_array(w);
}

/* Alerts that fire, as marks on every chart. */
static void annotations_write(struct jsonw *w)
{
    board_object(w, "annotations");
    jsonw_key(w, "list");
    jsonw_begin_array(w);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "name", "Alerts");
    board_source(w);
    jsonw_put_bool(w, "enable", true);
    jsonw_put_bool(w, "hide", false);
    jsonw_put_cstr(w, "iconColor", "red");
    jsonw_put_cstr(w, "expr", "ALERTS{alertstate=\"firing\"}");
    jsonw_put_cstr(w, "titleFormat", "{{alertname}}");
    jsonw_put_cstr(w, "textFormat", "{{model}} {{upstream}} {{instance}}");
    jsonw_put_cstr(w, "step", "60s");
    jsonw_end_object(w);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void time_write(struct jsonw *w)
{
    board_object(w, "time");
    jsonw_put_cstr(w, "from", "now-1h");
    jsonw_put_cstr(w, "to", "now");
    jsonw_end_object(w);
    jsonw_put_cstr(w, "refresh", "10s");
    jsonw_put_cstr(w, "timezone", "browser");
    jsonw_put_i64(w, "graphTooltip", 1); /* the same moment on all charts */
}

int board_write(const struct board *b, const struct board_setup *s, struct buf *out)
{
    static const char *const tags[] = {"inferometer", "llm"};
    struct jsonw w;
    struct buf uid;
    buf_init(&uid, 256);
    int r = buf_printf(&uid, "inferometer-%s", b->name);
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_str(&w, "uid", buf_span(&uid));
    jsonw_put_cstr(&w, "title", b->title);
    jsonw_put_cstr(&w, "description", b->help);
    board_list(&w, "tags", tags, ARRAY_LEN(tags));
    jsonw_put_bool(&w, "editable", true);
    jsonw_put_i64(&w, "schemaVersion", SCHEMA_VERSION);
    time_write(&w);
    links_write(&w);
    annotations_write(&w);
    board_variables_write(&w, b, s);
    panels_write(&w, b);
    jsonw_end_object(&w);
    buf_done(&uid);
    if (r == 0)
        r = jsonw_error(&w);
    return r < 0 ? r : buf_append(out, SPAN("\n"));
}
