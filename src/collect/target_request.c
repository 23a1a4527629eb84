/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/target_request.c - what a scrape asks for, and as whom.
 */
#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "base/num.h"
#include "collect/target_private.h"

enum { SECRET_MAX = 64 * 1024, SLACK_MAX_MS = 50, SLACK_PART = 50 };

static const char accepted[] = "application/openmetrics-text;version=1.0.0,"
                               "application/openmetrics-text;version=0.0.1;q=0.75,"
                               "text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

static struct span trim(struct span s)
{
    while (s.n > 0 && strchr(" \t\r\n\v\f", s.p[0]))
        s = span_from(s, 1);
    while (s.n > 0 && strchr(" \t\r\n\v\f", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* What the file says, or the text from the job. Lives until the next request. */
static int read_secret(struct target *t, struct span text, struct span file, struct span *ret,
                       struct err *reterr)
{
    buf_clear(&t->secret);
    if (file.n == 0) {
        *ret = text;
        return 0;
    }
    int r = file_read(file.p, SECRET_MAX, &t->secret);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        (void)err_set(reterr, r, "credentials could not be read from \"%s\": %s", file.p,
                      err_str(r));
        err_hint(reterr, "the file has to be there and readable for this process");
        return r;
    }
    *ret = trim(buf_span(&t->secret));
    return 0;
}

static int add_authorization(struct target *t, struct web_request *to, struct err *reterr)
{
    const struct scrape_auth *a = &t->job->auth;
    struct span secret, value;
    struct buf head;

    if (a->type.n == 0)
        return 0;
    int r = read_secret(t, a->credentials, a->credentials_file, &secret, reterr);
    if (r < 0)
        return r;
    buf_init(&head, 2 * SECRET_MAX);
    r = buf_printf(&head, "%.*s ", SPAN_ARG(a->type));
    if (r == 0)
        r = buf_append(&head, secret);
    buf_done(&t->secret);
    t->secret = head;
    if (r < 0)
        return -ENOMEM;
    value = buf_span(&t->secret);
    t->headers[to->n_headers++] = (struct web_header){SPAN("Authorization"), value};
    return 0;
}

/* So that it is over when the next one is due. */
static int64_t timeout_of(const struct target *t)
{
    int64_t slack_ms = t->interval_ms / SLACK_PART;
    int64_t most_ms = t->interval_ms - (slack_ms > SLACK_MAX_MS ? SLACK_MAX_MS : slack_ms);

    return t->timeout_ms < most_ms || most_ms < 1 ? t->timeout_ms : most_ms;
}

static bool is_here(struct span url)
{
    struct span host = span_from(url, span_find(url, SPAN("://")) + 3);

    host = span_of(host.p, span_find_char(host, '/'));
    if (span_find_char(host, '@') < host.n)
        host = span_from(host, span_find_char(host, '@') + 1);
    if (span_starts_with(host, SPAN("[::1]")))
        return true;
    host = span_of(host.p, span_find_char(host, ':'));
    if (span_eq_nocase(host, SPAN("localhost")))
        return true;
    for (size_t i = 0; i < host.n; i++)
        if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'))
            return false;
    return span_starts_with(host, SPAN("127."));
}

/* On this machine bytes cost less than packing them: engines compress in the process that answers
 * requests, vLLM on the thread that does. And the environment's proxies lead elsewhere. */
static void ask_here(struct web_request *q)
{
    q->coding = WEB_CODING_PLAIN;
    if (q->link.proxy_url.n == 0)
        q->link.proxy_url = SPAN("none");
}

int target_request(struct target *t, struct web_request *ret, struct err *reterr)
{
    const struct scrape_job *j = t->job;
    struct web_request q = {
        .url = t->url,
        .headers = t->headers,
        .user = j->auth.user,
        .link = j->link,
        .timeout_ms = timeout_of(t),
        .answer_max = j->limits.body_bytes > 0 ? j->limits.body_bytes : TARGET_BODY_MAX,
        .follows_redirects = j->follows_redirects,
        .coding = WEB_CODING_ANY,
        .keeps_connection = true,
    };
    char text[32];

    if (is_here(t->url))
        ask_here(&q);

    t->headers[q.n_headers++] = (struct web_header){SPAN("Accept"), span_cstr(accepted)};
    t->headers[q.n_headers++] = (struct web_header){SPAN("User-Agent"), SPAN("inferometer")};
    size_t n = num_format_double((double)t->timeout_ms / 1e3, text);
    (void)span_copy(span_of(text, n), t->timeout, sizeof(t->timeout));
    t->headers[q.n_headers++] =
        (struct web_header){SPAN("X-Prometheus-Scrape-Timeout-Seconds"), span_cstr(t->timeout)};
    int r = add_authorization(t, &q, reterr);
    if (r == 0 && j->auth.type.n == 0)
        r = read_secret(t, j->auth.password, j->auth.password_file, &q.password, reterr);
    if (r == 0)
        *ret = q;
    return r;
}
