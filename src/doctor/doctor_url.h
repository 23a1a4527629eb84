/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_url.h - a base URL taken apart, and what is odd about it.
 *
 * Threading: pure.
 */
#ifndef DOCTOR_DOCTOR_URL_H
#define DOCTOR_DOCTOR_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"
#include "doctor/doctor_cause.h"

/* Views into the text. */
struct doctor_url {
    bool is_tls;
    struct span host; /* without brackets */
    bool is_v6;       /* had brackets */
    uint16_t port;
    bool has_port;
    struct span path; /* without slashes at its end: "", "/v1" */
    bool has_slash;   /* had one at its end, behind a path or not */
    bool has_query;   /* or fragment: cut off */
};

/* CAUSE_NO_CAUSE, or why it cannot be used: URL_SCHEME, URL_STRAY, URL_QUOTES, URL_BAD. */
enum doctor_cause doctor_url_parse(struct span text, struct doctor_url *ret);

/* Of a URL that can be parsed: URL_DOUBLED_V1, URL_ENDPOINT, URL_QUERY, URL_LISTEN, URL_SLASH (only
 * behind a path); NO_CAUSE. */
enum doctor_cause doctor_url_oddity(const struct doctor_url *u);

/* Whether the path ends in /v1, /v3, /v1beta. */
bool doctor_url_has_version(struct span path);
/* localhost, 127.0.0.0/8, ::1, or a Unix socket. */
bool doctor_host_is_loopback(struct span host);

/* Quotation marks around or within, also typographic ones. */
bool doctor_has_quotes(struct span text);

#endif
