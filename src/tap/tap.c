/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap/tap.c - names of reasons, and the tap that watches nothing.
 */
#include "tap/tap.h"

#include "base/attr.h"

const char *tap_reason_name(enum tap_reason r)
{
    static const char *const names[TAP_REASON_COUNT_] = {
        [TAP_REASON_NONE] = "none",
        [TAP_REASON_BAD_REQUEST] = "bad_request",
        [TAP_REASON_BODY_TOO_LARGE] = "body_too_large",
        [TAP_REASON_UNAUTHORIZED] = "unauthorized",
        [TAP_REASON_FORBIDDEN] = "forbidden",
        [TAP_REASON_NO_ROUTE] = "no_route",
        [TAP_REASON_REJECTED] = "rejected",
        [TAP_REASON_REJECTED_TIMEOUT] = "rejected_timeout",
        [TAP_REASON_CONNECT_DNS] = "connect_dns",
        [TAP_REASON_CONNECT_REFUSED] = "connect_refused",
        [TAP_REASON_CONNECT_PROXY] = "connect_proxy",
        [TAP_REASON_CONNECT_TLS] = "connect_tls",
        [TAP_REASON_CONNECT_OTHER] = "connect_other",
        [TAP_REASON_BAD_RESPONSE] = "bad_response",
        [TAP_REASON_UPSTREAM_CUT] = "upstream_cut",
        [TAP_REASON_STALLED] = "stalled",
        [TAP_REASON_TIMEOUT_CONNECT] = "timeout_connect",
        [TAP_REASON_TIMEOUT_FIRST_BYTE] = "timeout_first_byte",
        [TAP_REASON_TIMEOUT_IDLE] = "timeout_idle",
        [TAP_REASON_TIMEOUT_TOTAL] = "timeout_total",
        [TAP_REASON_TIMEOUT_REQUEST] = "timeout_request",
        [TAP_REASON_DRAIN] = "drain",
        [TAP_REASON_RUNAWAY] = "runaway",
        [TAP_REASON_INTERNAL] = "internal",
    };
    return (unsigned)r < TAP_REASON_COUNT_ ? names[r] : "unknown";
}

bool tap_is_credential(struct span name)
{
    static const struct span names[] = {
        SPAN_INIT("Authorization"),
        SPAN_INIT("x-api-key"),
        SPAN_INIT("api-key"),
        SPAN_INIT("x-goog-api-key"),
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (span_eq_nocase(name, names[i]))
            return true;
    }
    return false;
}

/* NULL from begin means that no other call follows. */
static struct tap *null_begin(void *watcher, const struct tap_begin *b)
{
    (void)watcher;
    (void)b;
    return NULL;
}

const struct tap_ops tap_null = {.begin = null_begin};
