/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/export.h - one answer to a scrape: format and coding chosen from the request's headers.
 *
 * Threading: any thread, while writers run.
 * Memory:    the body, at most EXPORT_BODY_BYTES_MAX, twice while it is compressed.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/span.h"
#include "export/format.h"

/* 10,000 histograms of 26 lines of 200 bytes are 52 MB. For buf_init of the output. */
#define EXPORT_BODY_BYTES_MAX (256 * MIB)

/* The format for an Accept header ("" or nothing known in it: text 0.0.4). Never NULL. */
const struct export_format *negotiate_format(struct span accept);

/* Whether an Accept-Encoding header wants gzip. */
bool negotiate_gzip(struct span accept_encoding);

/*
 * Appends the answer's body to out. Returns 0, -ENOMEM or -EMSGSIZE (out's content is then
 * unchanged). *ret_content_type: static.
 */
int export_metrics(const struct metrics *m, struct span accept, struct span accept_encoding,
                   struct buf *out, const char **ret_content_type, bool *ret_is_gzip) WARN_UNUSED;

/* Appends in, compressed in gzip format. 0, -ENOMEM, -EMSGSIZE; out is unchanged then. */
int export_gzip(struct span in, struct buf *out) WARN_UNUSED;

#endif
