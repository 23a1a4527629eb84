/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reach.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char *given(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static bool has_own_settings(const struct config_upstream *u)
{
    return given(u->tls_ca) || given(u->tls_cert) || !u->tls_verify;
}

static int tls_fill(const struct config_upstream *u, struct tls_context **shared,
                    struct gateway_upstream *to, struct err *reterr)
{
    struct tls_client_config c = {.ca_file = given(u->tls_ca),
                                  .cert_file = given(u->tls_cert),
                                  .key_file = given(u->tls_key),
                                  .is_unverified = !u->tls_verify};
    int r = 0;

    if (!to->is_tls)
        return 0;
    span_copy(span_cstr(u->tls_server_name), to->server_name, sizeof(to->server_name));
    if (has_own_settings(u))
        return tls_client_new(&c, &to->tls, reterr);
    if (!*shared)
        r = tls_client_new(&c, shared, reterr);
    if (r == 0)
        to->tls = tls_context_ref(*shared);
    return r;
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

static int proxy_fill(const struct config_upstream *u, struct gateway_upstream *to,
                      struct err *reterr)
{
    struct proxy p = {.port = 0};
    int r = 0;

    if (span_starts_with(span_cstr(to->host), SPAN("unix:")) || strcmp(u->proxy, "none") == 0)
        return 0;
    if (given(u->proxy))
        r = proxy_parse(span_cstr(u->proxy), "proxy", &p, reterr);
    else
        r = proxy_from_env(from_environment, to->is_tls, span_cstr(to->host), to->port, &p, reterr);
    if (r < 0)
        return r;
    if (p.host[0] != '\0')
        LOG_INFO("upstream \"%s\" is reached through the proxy %s:%u", to->name, p.host,
                 (unsigned)p.port);
    gateway_upstream_set_proxy(to, &p);
    return 0;
}

int reach_fill(const struct config_upstream *u, struct tls_context **shared,
               struct gateway_upstream *to, struct err *reterr)
{
    int r = proxy_fill(u, to, reterr);

    return r < 0 ? r : tls_fill(u, shared, to, reterr);
}
