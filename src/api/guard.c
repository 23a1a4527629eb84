/* SPDX-License-Identifier: Apache-2.0 */
#include "api/guard.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include "io/addr.h"

/* The value of Host without port and brackets. */
static struct span host_name(struct span host)
{
    if (host.n > 0 && host.p[0] == '[')
        return span_of(host.p + 1, span_find_char(span_from(host, 1), ']'));
    return span_of(host.p, span_find_char(host, ':'));
}

/* An address, the one name that no resolver decides about, or that of this machine, which links in
 * alerts begin with (daemon/alarms_url.c): whose resolver makes it another site's has lost more. */
static bool is_own_name(struct span host)
{
    char own[HOST_NAME_MAX + 1] = "";
    struct span name = host_name(host);
    struct addr a;

    return span_eq_nocase(name, SPAN("localhost")) || addr_from_ip(name, 0, &a) ||
           (gethostname(own, HOST_NAME_MAX) == 0 && own[0] != '\0' &&
            span_eq_nocase(name, span_cstr(own)));
}

static bool is_same_origin(struct span origin, struct span host)
{
    static const struct span schemes[] = {SPAN_INIT("http://"), SPAN_INIT("https://")};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (span_starts_with(origin, schemes[i]) &&
            span_eq_nocase(span_from(origin, schemes[i].n), host))
            return true;
    return false;
}

bool guard_is_foreign(const struct http1_head *head, const struct api_access *a)
{
    struct span origin = http1_field_value(head, SPAN("Origin"));

    return origin.p && !is_same_origin(origin, http1_field_value(head, SPAN("Host"))) &&
           (a->origin[0] == '\0' || !span_eq_nocase(origin, span_cstr(a->origin)));
}

bool guard_is_rebound(const struct http1_head *head, const struct session *s,
                      const struct api_access *a)
{
    struct span host = http1_field_value(head, SPAN("Host"));

    return s->way == SESSION_FREE && host.n > 0 && !is_own_name(host) &&
           !is_same_origin(span_cstr(a->origin), host);
}

static bool has_csrf(const struct http1_head *head, const struct session *s)
{
    struct span shown = http1_field_value(head, SPAN("X-Inferometer-CSRF"));

    return shown.n == SESSION_MAC_HEX && CRYPTO_memcmp(shown.p, s->csrf, SESSION_MAC_HEX) == 0;
}

const char *guard_refusal(const struct http1_head *head, const struct session *s,
                          const struct api_access *a)
{
    if (guard_is_foreign(head, a))
        return "this request comes from a page of another site";
    if (s->way == SESSION_COOKIE && !http1_field_value(head, SPAN("Origin")).p)
        return "a browser's session changes nothing without Origin";
    if (s->way == SESSION_COOKIE && !has_csrf(head, s))
        return "a browser's session changes nothing without X-Inferometer-CSRF, which "
               "/api/v1/session tells";
    return NULL;
}
