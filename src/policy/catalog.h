/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/catalog.h - the list of models over all upstreams, in the form of the API that is asked.
 *
 * Role:      GET /v1/models and its like, where no single upstream could answer for the others.
 * Source:    the vendors' public API references; members that only the vendor knows (sizes, dates)
 *            are left out or have the value that stands for "unknown".
 */
#ifndef POLICY_CATALOG_H
#define POLICY_CATALOG_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "policy/routes.h"
#include "wire/http1.h"

enum catalog_form {
    CATALOG_OPENAI,
    CATALOG_ANTHROPIC,
    CATALOG_OLLAMA,
    CATALOG_GEMINI,
    CATALOG_FORM_COUNT_,
};

struct catalog_request {
    enum catalog_form form;
    struct span one; /* the only model asked for, as it stands in the path; empty: all */
};

/* Whether this asks for models; path: without scheme and authority. one is a part of path. */
bool catalog_take(const struct http1_head *head, struct span path, struct catalog_request *ret);

/* Whether a model may be shown; NULL: all may. */
typedef bool catalog_filter(void *ctx, const char *name);

/*
 * Appends the answer's body. *ret_is_found: false when the one model is not there (nothing is
 * appended then). 0, -ENOMEM, -EMSGSIZE.
 */
int catalog_write(const struct routes *r, const struct catalog_request *req, catalog_filter *filter,
                  void *ctx, struct buf *out, bool *ret_is_found) WARN_UNUSED;

#endif
