/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doctor_status.h"

#include <time.h>

static bool has_field(const struct doctor_answer *a, const char *name)
{
    return doctor_answer_field(a, span_cstr(name)).n > 0;
}

/* --- who stands there --- */

static const struct {
    const char *field;
    const char *within; /* of its value, in lower case; NULL: anything */
    const char *name, *advice;
} hops[] = {
    {"CF-RAY", NULL, "Cloudflare",
     "do not compress or cache the API's answers (Cloudflare), and send "
     "Cache-Control: no-transform"},
    {"Server", "cloudflare", "Cloudflare",
     "do not compress or cache the API's answers (Cloudflare)"},
    {"X-Amz-Cf-Id", NULL, "CloudFront", "no caching and no compression in CloudFront's behaviour"},
    {"X-Kong-Proxy-Latency", NULL, "Kong", "response_buffering: false in Kong's route"},
    {"Server", "kong", "Kong", "response_buffering: false in Kong's route"},
    {"Server", "openresty", "OpenResty",
     "proxy_buffering off; in OpenResty, or X-Accel-Buffering: no"},
    {"Server", "nginx", "nginx",
     "proxy_buffering off; and gzip off; in nginx, or have the engine send "
     "X-Accel-Buffering: no"},
    {"X-Litellm-Version", NULL, "LiteLLM", "a newer LiteLLM, and no hook that needs whole answers"},
    {"X-Envoy-Upstream-Service-Time", NULL, "Envoy",
     "no buffer filter and no compressor for "
     "text/event-stream in Envoy"},
    {"Server", "envoy", "Envoy",
     "no buffer filter and no compressor for text/event-stream in Envoy"},
    {"Server", "apache", "Apache",
     "flushpackets=on with ProxyPass, and no mod_deflate for "
     "text/event-stream"},
    {"Server", "microsoft-iis", "IIS", "responseBufferLimit=\"0\" in IIS (ARR)"},
    {"Server", "caddy", "Caddy",
     "flush_interval -1 with Caddy's reverse_proxy, no encode for "
     "text/event-stream"},
    {"X-Squid-Error", NULL, "Squid", "except the server from Squid"},
    {"Via", "squid", "Squid", "except the server from Squid"},
    {"Via", "varnish", "Varnish", "set beresp.do_stream in Varnish and pass the API"},
    {"Via", "google", "Google's load balancer", "no compression in the load balancer's backend"},
};

/* ASCII, case ignored; needle in lower case. */
static bool contains(struct span s, struct span needle)
{
    for (size_t i = 0; i + needle.n <= s.n; i++)
        if (span_eq_nocase(span_of(s.p + i, needle.n), needle))
            return true;
    return false;
}

const char *doctor_hop(const struct doctor_answer *a, const char **ret_advice)
{
    for (size_t i = 0; i < ARRAY_LEN(hops); i++) {
        struct span value = doctor_answer_field(a, span_cstr(hops[i].field));

        if (value.n == 0 || (hops[i].within && !contains(value, span_cstr(hops[i].within))))
            continue;
        *ret_advice = hops[i].advice;
        return hops[i].name;
    }
    return NULL;
}

bool doctor_is_model_unknown(const struct doctor_answer *a)
{
    return a->has_head && a->status == 404 && !doctor_is_page(a) &&
           contains(a->body, SPAN("model"));
}

bool doctor_is_page(const struct doctor_answer *a)
{
    struct span body = a->body;

    while (body.n > 0 && (unsigned char)body.p[0] <= ' ')
        body = span_from(body, 1);
    return span_eq_nocase(doctor_answer_type(a), SPAN("text/html")) ||
           (body.n >= 5 && (span_eq_nocase(span_of(body.p, 5), SPAN("<html")) ||
                            span_eq_nocase(span_of(body.p, 5), SPAN("<!doc"))));
}

/* --- what it means --- */

/* A challenge that no API key answers. */
static bool wants_other_login(const struct doctor_answer *a)
{
    struct span wanted = doctor_answer_field(a, SPAN("WWW-Authenticate"));

    return contains(wanted, SPAN("basic")) || contains(wanted, SPAN("negotiate")) ||
           contains(wanted, SPAN("ntlm")) || contains(wanted, SPAN("digest"));
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static enum doctor_cause cause_of_5xx(int status)
{
    static const enum doctor_cause causes[] = {
        CAUSE_HTTP_5XX, CAUSE_HTTP_501, CAUSE_HTTP_502, CAUSE_HTTP_503, CAUSE_HTTP_504,
    };

    if (status - 500 < (int)ARRAY_LEN(causes))
        return causes[status - 500];
    /* Cloudflare's: the origin is down, does not answer, is too slow. */
    return status >= 520 && status <= 524 ? CAUSE_HTTP_502 : CAUSE_HTTP_5XX;
}

enum doctor_cause doctor_status_cause(const struct doctor_answer *a)
{
    if (a->status >= 200 && a->status < 300)
        return doctor_is_page(a) ? CAUSE_HTTP_PAGE : CAUSE_NO_CAUSE;
    if (is_redirect(a->status) && has_field(a, "Location"))
        return CAUSE_HTTP_REDIRECT;
    if (a->status >= 500)
        return cause_of_5xx(a->status);
    switch (a->status) {
    case 400:
        return contains(a->body, SPAN("https port")) ? CAUSE_HTTP_TO_TLS : CAUSE_HTTP_400;
    case 401:
        return wants_other_login(a) ? CAUSE_HTTP_401_PROXY : CAUSE_HTTP_401;
    case 402:
        return CAUSE_HTTP_402;
    case 403:
        return doctor_is_page(a) ? CAUSE_HTTP_403_WALL : CAUSE_HTTP_403;
    case 404:
        return CAUSE_HTTP_404;
    case 405:
        return CAUSE_HTTP_405;
    case 407:
        return CAUSE_PROXY_LOGIN;
    case 429:
        return CAUSE_HTTP_429;
    default:
        return CAUSE_HTTP_400;
    }
}

/* --- clocks --- */

bool doctor_expires_soon(int64_t from_s, int64_t until_s, int64_t now_s)
{
    static const int64_t soon_s = 14 * 24 * 3600;

    return until_s > 0 && until_s - from_s > 2 * soon_s && until_s - now_s < soon_s;
}

bool doctor_skew(const struct doctor_answer *a, int64_t *ret_s)
{
    char text[64];
    struct tm tm = {0};

    (void)span_copy(doctor_answer_field(a, SPAN("Date")), text, sizeof(text));
    if (!a->has_head || !strptime(text, "%a, %d %b %Y %H:%M:%S", &tm))
        return false;
    *ret_s = a->wall_us / 1000000 - (int64_t)timegm(&tm);
    return true;
}
