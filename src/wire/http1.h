/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/http1.h - strict HTTP/1.x message heads: find the end, parse, inspect (RFC 9112).
 *
 * Role:      bytes -> a head whose parts are views into them. No I/O.
 * Strict:    refused are bare CR or LF, NUL and other control characters, obs-fold, white space
 *            before the colon, field names that are no tokens, Content-Length with
 *            Transfer-Encoding, Content-Length that is repeated, a list or signed, any transfer
 *            coding but "chunked" (once), Transfer-Encoding on HTTP/1.0, versions other than 1.0
 *            and 1.1, a request with other than one Host (1.1) or more than one (1.0), an empty or
 *            invalid Host value, a target with characters outside visible ASCII, and an Expect
 *            other than 100-continue.
 * Memory:    none; struct http1_head is a plain value of about 4 KiB meant for the stack.
 */
#ifndef WIRE_HTTP1_H
#define WIRE_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/limits.h"
#include "base/span.h"

/* Why a head was refused; static text through http1_error_text. */
enum http1_error {
    HTTP1_OK = 0,
    HTTP1_BAD_LINE_END,
    HTTP1_BAD_CHAR,
    HTTP1_BAD_REQUEST_LINE,
    HTTP1_BAD_STATUS_LINE,
    HTTP1_BAD_VERSION,
    HTTP1_BAD_FIELD_NAME,
    HTTP1_BAD_FIELD_VALUE,
    HTTP1_OBS_FOLD,
    HTTP1_TOO_MANY_FIELDS,
    HTTP1_BAD_LENGTH,
    HTTP1_BAD_CODING,
    HTTP1_LENGTH_AND_CODING,
    HTTP1_BAD_HOST,
    HTTP1_BAD_EXPECT,
    HTTP1_ERROR_COUNT_,
};
const char *http1_error_text(enum http1_error e);

struct http1_field {
    struct span name;
    struct span value; /* trimmed */
};

/* How the body is delimited. */
enum http1_framing {
    HTTP1_BODY_NONE,
    HTTP1_BODY_LENGTH,
    HTTP1_BODY_CHUNKED,
    HTTP1_BODY_UNTIL_CLOSE, /* responses only */
};

struct http1_head {
    /* request */
    struct span method;
    struct span target;
    /* response */
    int status;
    struct span reason;
    /* both */
    int minor; /* HTTP/1.minor: 0 or 1 */
    enum http1_framing framing;
    uint64_t content_length; /* at most INT64_MAX; for HEAD answers and 304 the announced length */
    bool has_length;
    bool keep_alive;       /* what version and Connection say; UNTIL_CLOSE clears it */
    bool expects_continue; /* request with "Expect: 100-continue" */
    bool has_upgrade;      /* Connection: upgrade with an Upgrade field */
    size_t n_fields;
    struct http1_field fields[LIMIT_HEAD_FIELDS];
};

/*
 * Looks for the end of a head (CRLF CRLF) in the bytes so far. *scanned is the caller's cursor,
 * 0 at first. Empty lines before a request line are the caller's to skip (http1_skip_empty).
 * Returns > 0: length of the head including its last empty line (2 when it begins with one); 0: not
 * complete; -EPROTO: a bare LF or CR or a NUL shows already that it never will be (*ret_error says
 * which).
 */
ptrdiff_t http1_find_end(struct span bytes, size_t *scanned, enum http1_error *ret_error);

/* Bytes of whole CRLFs in front of a request line (RFC 9112, 2.2), at most two of them. */
size_t http1_skip_empty(struct span bytes);

/* Parse a complete head (exactly the bytes http1_find_end delimited). *ret's spans are views into
 * it; what *ret holds after an error is undefined. A head that breaks several rules is refused for
 * one of them, always the same. */
enum http1_error http1_parse_request(struct span head, struct http1_head *ret) WARN_UNUSED;

/* method_was_head: the request was HEAD, so that no body follows. 1xx, 204, 304: no body. */
enum http1_error http1_parse_response(struct span head, bool method_was_head,
                                      struct http1_head *ret) WARN_UNUSED;

/* First field with that name (case-insensitive), or NULL. */
const struct http1_field *http1_field_find(const struct http1_head *h, struct span name);

/* The value of that field, or an empty span with p == NULL when absent. */
struct span http1_field_value(const struct http1_head *h, struct span name);

/* Whether the comma-separated list `value` names token (case-insensitive). */
bool http1_list_has(struct span value, struct span token);

/* Whether any Connection field nominates that field name, so that it must not be passed on. */
bool http1_is_nominated(const struct http1_head *h, struct span name);

/* Whether the name is hop-by-hop by itself: Connection, Keep-Alive, Proxy-Connection, TE, Trailer,
 * Transfer-Encoding, Upgrade, Proxy-Authenticate, Proxy-Authorization. */
bool http1_is_hop_by_hop(struct span name);

/* Standard reason phrase ("Not Found"), "" when unknown. */
const char *http1_reason(int status);

#endif
