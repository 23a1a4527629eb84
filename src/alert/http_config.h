/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/http_config.h - how a receiver is reached over HTTP: Alertmanager's http_config.
 *
 * Role:      read by receivers that are asked over HTTP, put onto their requests.
 * Redirects: are never followed: a chat's webhook that moved has to be looked at by a person, and
 *            what a redirect names may be anybody's.
 */
#ifndef ALERT_HTTP_CONFIG_H
#define ALERT_HTTP_CONFIG_H

#include "alert/options.h"
#include "alert/receiver.h"

struct http_config {
    struct span user;
    struct secret password;
    struct span scheme; /* of Authorization; "" is Bearer */
    struct secret token;
    struct web_link link;
    struct http_headers headers;
};

extern const struct option receiver_tls_keys[]; /* of tls_config: a struct web_link */
/* -EINVAL, listed, where a certificate is without its key, or a key without its certificate. */
int http_config_check_tls(const struct options *o, const struct yaml_node *at,
                          const struct web_link *tls) WARN_UNUSED;

/* The entry's http_config, or that of global. */
int http_config_read(const struct options *o, const struct yaml_node *map,
                     const struct yaml_node *global, struct http_config *ret) WARN_UNUSED;

/* "http_config: ..." where there is any. */
void http_config_print(const struct http_config *c, struct yamlw *w);

/* Authorization, header fields, TLS and proxy; content type JSON, and what may be shown of the URL.
 * Everything else in *r has been set. */
int http_config_apply(const struct http_config *c, struct arena *a, struct receiver_request *r,
                      struct err *reterr) WARN_UNUSED;

/* "https://host:8443/..." of any URL: no user, path, query. */
struct span http_config_shown(struct span url, struct arena *a);

#endif
