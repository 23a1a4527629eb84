/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/markdown.h - text of anybody within Markdown, so that it stays text.
 *
 * Threading: pure.
 */
#ifndef INCIDENT_MARKDOWN_H
#define INCIDENT_MARKDOWN_H

#include "base/buf.h"

/* On one line, also within a table: nothing of it is markup, HTML or a line's end. What is no
 * UTF-8 and control characters become '?'. */
int markdown_text(struct span s, struct buf *out) WARN_UNUSED;
/* Lines as a quotation, each as above. */
int markdown_quote(struct span s, struct buf *out) WARN_UNUSED;

#endif
