/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board_provision.c - files below Grafana's provisioning directory.
 */
#include "base/jsonw.h"
#include "grafana/board.h"

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
    struct jsonw w; /* a JSON string is one of YAML */
    jsonw_init(&w, out);
    jsonw_str(&w, folder);
    if (r == 0)
        r = jsonw_error(&w);
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
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_str(&w, url);
    if (r == 0)
        r = jsonw_error(&w);
    return r < 0 ? r : buf_append(out, SPAN("\n"));
}
