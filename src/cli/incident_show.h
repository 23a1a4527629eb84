/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/incident_show.h - private to cli/incident_*: answers of the gateway as people read them.
 *
 * Errors:    -EPROTO: not what was asked for; -ENOMEM.
 * Threading: pure.
 */
#ifndef CLI_INCIDENT_SHOW_H
#define CLI_INCIDENT_SHOW_H

#include "base/buf.h"

/* json: the whole answer. width: columns of a plot. */
int incident_show_list(struct span json, size_t width, struct buf *out) WARN_UNUSED;
int incident_show_one(struct span json, size_t width, struct buf *out) WARN_UNUSED;

#endif
