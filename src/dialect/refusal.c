/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/refusal.c - see refusal.h.
 */
#include "dialect/refusal.h"

static const struct {
    int status;
    const char *code;
} refusals[REFUSAL_COUNT_] = {
    [REFUSAL_BAD_REQUEST] = {400, "bad_request"},
    [REFUSAL_UNAUTHORIZED] = {401, "invalid_api_key"},
    [REFUSAL_FORBIDDEN] = {403, "forbidden"},
    [REFUSAL_NOT_FOUND] = {404, "not_found"},
    [REFUSAL_REQUEST_TIMEOUT] = {408, "request_timeout"},
    [REFUSAL_BODY_TOO_LARGE] = {413, "request_too_large"},
    [REFUSAL_TOO_MANY] = {429, "queue_full"},
    [REFUSAL_QUEUE_TIMEOUT] = {429, "queue_timeout"},
    [REFUSAL_INTERNAL] = {500, "internal_error"},
    [REFUSAL_CONNECT_FAILED] = {502, "connect_failed"},
    [REFUSAL_BAD_RESPONSE] = {502, "bad_response"},
    [REFUSAL_UPSTREAM_CUT] = {502, "upstream_cut"},
    [REFUSAL_DRAINING] = {503, "shutting_down"},
    [REFUSAL_TIMEOUT] = {504, "upstream_timeout"},
};

int dialect_refusal_status(enum dialect_refusal r)
{
    return refusals[refusal_known(r)].status;
}

const char *refusal_code(enum dialect_refusal r)
{
    return refusals[refusal_known(r)].code;
}

int refusal_end(const struct jsonw *w, struct buf *body, size_t n_before)
{
    int r = jsonw_error(w);
    if (r < 0)
        buf_truncate(body, n_before);
    return r;
}
