/* SPDX-License-Identifier: Apache-2.0 */
#include "export/export.h"

#include "base/stat.h"

const struct export_format export_formats[EXPORT_FORMAT_COUNT_] = {
    [EXPORT_FORMAT_TEXT] =
        {
            .name = "text",
            .content_type = "text/plain; version=0.0.4; charset=utf-8",
            .media_type = "text/plain",
            .version = "0.0.4",
            .write = exposition_write,
        },
    [EXPORT_FORMAT_OPENMETRICS] =
        {
            .name = "openmetrics",
            .content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
            .media_type = "application/openmetrics-text",
            .version = "1.0.0",
            .write = exposition_write_openmetrics,
        },
    [EXPORT_FORMAT_PROTOBUF] =
        {
            .name = "protobuf",
            .content_type = "application/vnd.google.protobuf; "
                            "proto=io.prometheus.client.MetricFamily; encoding=delimited",
            .media_type = "application/vnd.google.protobuf",
            .write = protobuf_write,
        },
};

static int write_gzip(const struct export_format *format, const struct metrics *m, struct buf *out)
{
    struct buf plain;
    buf_init(&plain, EXPORT_BODY_BYTES_MAX);
    int r = format->write(m, &plain);
    if (r == 0)
        r = export_gzip(buf_span(&plain), out);
    buf_done(&plain);
    return r;
}

int export_metrics(const struct metrics *m, struct span accept, struct span accept_encoding,
                   struct buf *out, const char **ret_content_type, bool *ret_is_gzip)
{
    const struct export_format *format = negotiate_format(accept);
    bool is_gzip = negotiate_gzip(accept_encoding);
    size_t len = buf_len(out);
    stat_inc(STAT_SCRAPES); /* before the page is written, so that it counts itself */
    int r = is_gzip ? write_gzip(format, m, out) : format->write(m, out);
    if (r != 0) {
        buf_truncate(out, len);
        return r;
    }
    *ret_content_type = format->content_type;
    *ret_is_gzip = is_gzip;
    return 0;
}
