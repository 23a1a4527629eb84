/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board_provision.c - files below Grafana's provisioning directory.
 */
#include "base/jsonw.h"
#include "grafana/board.h"

/* A JSON string is one of YAML. Grafana puts variables of its environment in for $NAME: "$$" is
 * one dollar. */
static int put_text(struct span text, struct buf *out)
{
    struct buf doubled;
    struct jsonw w;
    int r = 0;
    buf_init(&doubled, 2 * text.n + 1);
    while (text.n > 0 && r == 0) {
        size_t n = span_find_char(text, '$');
        r = buf_append(&doubled, span_take(&text, n));
        if (r == 0 && text.n > 0)
            r = buf_append(&doubled, SPAN("$$"));
        (void)span_take(&text, text.n > 0);
    }
    jsonw_init(&w, out);
    jsonw_fail(&w, r);
    jsonw_str(&w, buf_span(&doubled));
    buf_done(&doubled);
    return jsonw_error(&w);
}

int board_write_provider(struct span folder, struct buf *out)
{
    int r = buf_append(out, SPAN("# Grafana: provisioning/dashboards/inferometer.yaml\n"
                                 "apiVersion: 1\n"
                                 "providers:\n"
                                 "  - name: inferometer\n"
                                 "    folder: Inferometer\n"
                                 "    type: file\n"
                                 "    updateIntervalSeconds: 30\n"
                                 "    options: {path: "));
    if (r == 0)
        r = put_text(folder, out);
    return r < 0 ? r : buf_append(out, SPAN("}\n"));
}

int board_write_source(struct span url, struct buf *out)
{
    int r = buf_append(
        out,
        SPAN("# Grafana: provisioning/datasources/inferometer.yaml\n"
             "# timeInterval: as often as series are kept (history.interval) or scraped; what is\n"
             "# drawn over $__rate_interval depends on it.\n"
             "apiVersion: 1\n"
             "datasources:\n"
             "  - name: Inferometer\n"
             "    uid: inferometer\n"
             "    type: prometheus\n"
             "    access: proxy\n"
             "    jsonData: {httpMethod: POST, timeInterval: 10s}\n"
             "    url: "));
    if (r == 0)
        r = put_text(url, out);
    return r < 0 ? r : buf_append(out, SPAN("\n"));
}
