/* SPDX-License-Identifier: Apache-2.0 */
/*
 * squeeze.h - answers of a site that are compressed, several times over if need be. (Links z.)
 */
#ifndef SQUEEZE_H
#define SQUEEZE_H

#include "site.h"

#include <zlib.h>

/* gzip over gzip over ..., from malloc. */
static inline struct span squeeze(struct span plain, int n_times)
{
    struct span s = plain;
    for (int i = 0; i < n_times; i++) {
        z_stream z = {0};
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
        uLong max = deflateBound(&z, s.n);
        unsigned char *out = malloc(max);
        assert_non_null(out);
        z.next_in = (unsigned char *)(uintptr_t)s.p;
        z.avail_in = (uInt)s.n;
        z.next_out = out;
        z.avail_out = (uInt)max;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        if (i > 0)
            free((void *)(uintptr_t)s.p);
        s = span_of(out, z.total_out);
        assert_int_equal(deflateEnd(&z), Z_OK);
    }
    return s;
}

static inline void serve_squeezed(struct site *s, const char *path, const char *codings,
                                  struct span plain, int n_times)
{
    char head[200];
    struct span body = squeeze(plain, n_times);
    (void)snprintf(head, sizeof(head),
                   "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %zu\r\n\r\n",
                   codings, body.n);
    site_bytes(s, path, head, body);
    free((void *)(uintptr_t)body.p);
}

#endif
