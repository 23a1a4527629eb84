/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/status_text.h - private to api/: the status as lines for a terminal, made from its JSON.
 */
#ifndef API_STATUS_TEXT_H
#define API_STATUS_TEXT_H

#include "api/language.h"
#include "base/attr.h"
#include "base/buf.h"

/* json: one object, of values, arrays and objects of values. -ENOMEM, -EMSGSIZE. */
int status_text_append(struct span json, enum language l, struct buf *out) WARN_UNUSED;

/* label, as many spaces as make it `width` columns wide, and text on a line. */
int status_text_line(struct span label, size_t width, struct span text,
                     struct buf *out) WARN_UNUSED;

#endif
