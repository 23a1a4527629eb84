/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/redact.h"

enum {
    SECRET_BYTES_MIN = 6,
    START_BYTES = 8,     /* so much of one that is cut is one */
    PART_BYTES_MIN = 12, /* "robot", "webhook" in a URL are none */
};

/* Whether what was answered may go on here: at the end, and within parentheses there. */
static bool is_cut(struct span rest)
{
    return rest.n == 0 || span_eq(rest, SPAN(")"));
}

static void hide(char *text, struct span secret)
{
    struct span s = span_cstr(text);
    struct span start = span_of(secret.p, secret.n < START_BYTES ? secret.n : START_BYTES);
    size_t at;
    if (secret.n < SECRET_BYTES_MIN)
        return;
    while ((at = span_find(s, start)) < s.n) {
        s = span_from(s, at);
        size_t n = start.n;
        while (n < secret.n && n < s.n && s.p[n] == secret.p[n])
            n++;
        if (n == secret.n || is_cut(span_from(s, n)))
            memset(text + (s.p - text), '*', n);
        s = span_from(s, n);
    }
}

/* All of what stands behind the host, and its parts; user and password. */
static void hide_url(char *text, struct span url)
{
    struct span rest = span_from(url, span_find(url, SPAN("://")) + 3);
    size_t host_end = 0;
    while (host_end < rest.n && !strchr("/?#", rest.p[host_end]))
        host_end++;
    struct span user = span_of(rest.p, span_find_char(span_of(rest.p, host_end), '@'));
    if (user.n < host_end) {
        hide(text, user);
        hide(text, span_from(user, span_find_char(user, ':') + 1));
    }
    rest = span_from(rest, host_end + 1);
    hide(text, rest);
    for (size_t start = 0, i = 0; i <= rest.n; i++) {
        if (i < rest.n && !strchr("/?&=#", rest.p[i]))
            continue;
        if (i - start >= PART_BYTES_MIN)
            hide(text, span_of(rest.p + start, i - start));
        start = i + 1;
    }
}

void redact(const struct receiver_request *r, char *text)
{
    if (r->kind == REQUEST_HTTP)
        hide_url(text, r->url);
    for (size_t i = 0; i < r->n_headers; i++) {
        struct span value = r->headers[i].value;
        hide(text, value);
        hide(text, span_from(value, span_find_char(value, ' ') + 1)); /* behind "Bearer" */
    }
    hide(text, r->password);
}
