/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/fill.h - private to api/: pages with "{{name}}" in them, filled in.
 *
 * Threading: pure.
 */
#ifndef API_FILL_H
#define API_FILL_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"

/* Appends what stands for name; negative errno ends the page. */
typedef int (*fill_name)(void *ctx, struct span name, struct buf *out);

int fill_page(struct span page, fill_name on_name, void *ctx, struct buf *out) WARN_UNUSED;

/* Text as HTML has it, between tags or in quotes. */
int fill_escape(struct span text, struct buf *out) WARN_UNUSED;

#endif
