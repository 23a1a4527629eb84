/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_docs.h - private to daemon/config*: the key table as texts.
 *
 * Errors:    -ENOMEM, -EMSGSIZE; *out then holds a part (config.c takes that back).
 * Threading: plain values.
 */
#ifndef DAEMON_CONFIG_DOCS_H
#define DAEMON_CONFIG_DOCS_H

#include "base/attr.h"
#include "base/buf.h"
#include "daemon/config.h"

int config_docs_markdown(struct buf *out) WARN_UNUSED; /* docs/CONFIG.md */
int config_docs_example(struct buf *out) WARN_UNUSED;  /* a commented file */
int config_docs_values(const struct config *c, struct buf *out) WARN_UNUSED;

#endif
