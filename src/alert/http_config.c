/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/http_config.h"

#include <errno.h>

#include "alert/prose.h"

#define TLS(member) offsetof(struct web_link, member)
const struct option receiver_tls_keys[] = {
    {.key = "ca_file", .type = OPTION_TEXT, .offset = TLS(ca_file)},
    {.key = "cert_file", .type = OPTION_TEXT, .offset = TLS(cert_file)},
    {.key = "key_file", .type = OPTION_TEXT, .offset = TLS(key_file)},
    {.key = "insecure_skip_verify", .type = OPTION_BOOL, .offset = TLS(skips_verification)},
    {.key = "server_name",
     .type = OPTION_REFUSED,
     .words = "the name that is configured is the one that the certificate has to have"},
    {0},
};
#undef TLS

#define IN(member) offsetof(struct http_config, member)

static const struct option basic_keys[] = {
    {.key = "username", .type = OPTION_TEXT, .offset = IN(user)},
    {.key = "password", .type = OPTION_SECRET, .offset = IN(password)},
    {.key = "password_file", .type = OPTION_SECRET_FILE, .offset = IN(password)},
    {0},
};
static const struct option authorization_keys[] = {
    {.key = "type", .type = OPTION_TEXT, .offset = IN(scheme)},
    {.key = "credentials", .type = OPTION_SECRET, .offset = IN(token)},
    {.key = "credentials_file", .type = OPTION_SECRET_FILE, .offset = IN(token)},
    {0},
};
static const struct option keys[] = {
    {.key = "basic_auth", .type = OPTION_MAP, .map = basic_keys},
    {.key = "authorization", .type = OPTION_MAP, .map = authorization_keys},
    {.key = "bearer_token", .type = OPTION_SECRET, .offset = IN(token), .is_alias = true},
    {.key = "bearer_token_file", .type = OPTION_SECRET_FILE, .offset = IN(token), .is_alias = true},
    {.key = "http_headers", .type = OPTION_HEADERS, .offset = IN(headers)},
    {.key = "proxy_url", .type = OPTION_URL, .offset = IN(link.proxy_url)},
    {.key = "tls_config", .type = OPTION_MAP, .map = receiver_tls_keys, .offset = IN(link)},
    {.key = "follow_redirects",
     .type = OPTION_REFUSED,
     .words = "redirects are never followed: leave it out, and give the URL that is meant"},
    {.key = "enable_http2", .type = OPTION_PASSED},
    {.key = "oauth2",
     .type = OPTION_REFUSED,
     .words = "put a token into authorization.credentials_file and renew it there"},
    {0},
};

int http_config_check_tls(const struct options *o, const struct yaml_node *at,
                          const struct web_link *tls)
{
    if ((tls->cert_file.n > 0) != (tls->key_file.n > 0))
        return err_set(options_err(o, at), -EINVAL, "cert_file and key_file belong together");
    return 0;
}

int http_config_read(const struct options *o, const struct yaml_node *map,
                     const struct yaml_node *global, struct http_config *ret)
{
    const struct yaml_node *own = options_find(map, "http_config");
    const struct yaml_node *from = own ? own : options_find(global, "http_config");
    int r = options_read(o, from, keys, ret);
    if (r < 0)
        return r;
    if (secret_is_set(&ret->token) && (ret->user.n > 0 || secret_is_set(&ret->password)))
        return err_set(options_err(o, from), -EINVAL,
                       "basic_auth and authorization exclude each other");
    return http_config_check_tls(o, from, &ret->link);
}

void http_config_print(const struct http_config *c, struct yamlw *w)
{
    static const struct option all[] = {{.key = "http_config", .type = OPTION_MAP, .map = keys},
                                        {0}};
    options_print(all, c, w);
}

struct span http_config_shown(struct span url, struct arena *a)
{
    size_t scheme = span_find(url, SPAN("://"));
    if (scheme == url.n)
        return SPAN("");
    struct span rest = span_from(url, scheme + 3);
    size_t n = 0, at;
    while (n < rest.n && !strchr("/?#", rest.p[n]))
        n++;
    bool has_more = n + 1 < rest.n;
    rest.n = n;
    while ((at = span_find_char(rest, '@')) < rest.n)
        rest = span_from(rest, at + 1);
    struct buf b;
    struct span shown = SPAN("");
    buf_init(&b, 2 * url.n + 16);
    if (buf_printf(&b, "%.*s://%.*s/%s", (int)scheme, url.p, SPAN_ARG(rest),
                   has_more ? "..." : "") == 0)
        shown = arena_dup(a, buf_span(&b));
    buf_done(&b);
    return shown.p ? shown : SPAN("");
}

/* --- onto a request --- */

static int authorization(const struct http_config *c, struct arena *a, struct buf *b,
                         struct err *reterr)
{
    struct span secret;
    int r;
    if (secret_is_set(&c->token)) {
        struct span scheme = c->scheme.n > 0 ? c->scheme : SPAN("Bearer");
        r = secret_get(&c->token, a, &secret, reterr);
        return r < 0 ? r : buf_printf(b, "%.*s %.*s", SPAN_ARG(scheme), SPAN_ARG(secret));
    }
    r = secret_get(&c->password, a, &secret, reterr);
    if (r < 0)
        return r;
    struct buf plain;
    buf_init(&plain, 1 << 20);
    r = buf_printf(&plain, "%.*s:%.*s", SPAN_ARG(c->user), SPAN_ARG(secret));
    if (r == 0)
        r = buf_append(b, SPAN("Basic "));
    if (r == 0)
        r = prose_base64(buf_span(&plain), b);
    buf_done(&plain);
    return r;
}

static int add_authorization(const struct http_config *c, struct arena *a, struct web_header *to,
                             struct err *reterr)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    int r = authorization(c, a, &b, reterr);
    to->name = SPAN("Authorization");
    to->value = r == 0 ? arena_dup(a, buf_span(&b)) : SPAN("");
    buf_done(&b);
    return r < 0 || to->value.p ? r : -ENOMEM;
}

static int add_headers(const struct http_config *c, struct arena *a, struct receiver_request *r,
                       struct err *reterr)
{
    struct web_header *at = arena_zalloc(a, r->n_headers + c->headers.n + 1, sizeof(*at));
    size_t n = 0;
    int error = 0;
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < r->n_headers; i++)
        at[n++] = r->headers[i];
    if (c->user.n > 0 || secret_is_set(&c->token) || secret_is_set(&c->password))
        error = add_authorization(c, a, &at[n++], reterr);
    for (size_t i = 0; i < c->headers.n && error == 0; i++, n++) {
        at[n].name = c->headers.at[i].name;
        error = secret_get(&c->headers.at[i].value, a, &at[n].value, reterr);
    }
    r->headers = at;
    r->n_headers = n;
    return error;
}

int http_config_apply(const struct http_config *c, struct arena *a, struct receiver_request *r,
                      struct err *reterr)
{
    int error = 0;
    r->kind = REQUEST_HTTP;
    r->content_type = SPAN("application/json");
    r->shown = http_config_shown(r->url, a);
    r->link = c->link;
    error = add_headers(c, a, r, reterr);
    return error == -ENOMEM ? err_set(reterr, error, "out of memory") : error;
}
