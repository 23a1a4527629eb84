/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/http_steps.c - the first answer: is the API there, at that path, with that key; which
 * clock it has.
 */
#include <errno.h>
#include <stdlib.h>

#include "doctor/doctor_private.h"

enum { SKEW_S = 5 };

/* --- telling --- */

static struct dialect_answer read_answer(const struct doctor *d, const struct doctor_answer *a)
{
    struct dialect_answer said;

    dialect_answer_init(&said);
    if (!doctor_is_page(a))
        dialect_by_name(span_cstr(d->api->dialect))->answer(&said, a->body);
    return said;
}

/* ", answered by nginx", ", error invalid_api_key": types and codes only, never a text. */
static struct span details(struct doctor *d, const struct doctor_answer *a)
{
    const char *advice, *hop = doctor_hop(a, &advice);
    struct dialect_answer said = read_answer(d, a);

    return doctor_text(d, "%s%s%s%s", hop ? ", answered by " : "", hop ? hop : "",
                       said.error[0] ? ", error " : "", said.error);
}

/* Without what may be secret in it. */
static struct span shown_location(const struct doctor_answer *a)
{
    struct span to = doctor_answer_field(a, SPAN("Location"));

    to.n = span_find_char(to, '?');
    return span_find_char(to, '@') < to.n ? SPAN("(an address with credentials)") : to;
}

static void tell_redirect(struct doctor *d, const struct doctor_answer *a, struct span path)
{
    struct span to = shown_location(a);

    doctor_add_remedy(
        d, CAUSE_HTTP_REDIRECT,
        doctor_text(d, "%s (%.*s)", doctor_causes[CAUSE_HTTP_REDIRECT].remedy, SPAN_ARG(to)),
        "%.*s: status %d sends to %.*s", SPAN_ARG(path), a->status, SPAN_ARG(to));
}

void doctor_tell_status(struct doctor *d, const struct doctor_answer *a, struct span path)
{
    enum doctor_cause cause = doctor_status_cause(a);
    struct span more = details(d, a);

    if (doctor_answer_field(a, SPAN("X-Squid-Error")).n > 0)
        doctor_add(d, CAUSE_PROXY_REFUSED, true, "%.*s: status %d from the proxy, not the server",
                   SPAN_ARG(path), a->status);
    else if (cause == CAUSE_HTTP_REDIRECT)
        tell_redirect(d, a, path);
    else if (cause == CAUSE_HTTP_503 && span_find(a->body, SPAN("oading model")) < a->body.n)
        doctor_add_remedy(d, cause, SPAN("wait until the model is loaded"),
                          "%.*s: status 503, the model is being loaded", SPAN_ARG(path));
    else
        doctor_add(d, cause, true, "%.*s: status %d%.*s", SPAN_ARG(path), a->status,
                   SPAN_ARG(more));
}

/* --- asking --- */

static void get(struct doctor *d, struct span path, struct doctor_answer *ret)
{
    struct request_options o = {.method = "GET", .path = path};

    doctor_request(d, &o, ret);
}

/* Plain HTTP to a port for TLS: the server hangs up, or sends an alert. */
static bool speaks_tls(struct doctor *d)
{
    struct doctor_target to = {.host = d->url.host,
                               .port = d->url.port,
                               .is_tls = true,
                               .is_unverified = true,
                               .proxy = d->proxy};
    struct doctor_net net;
    struct doctor_answer a;
    struct err err;
    bool is_tls = false;

    if (d->url.is_tls || doctor_net_open(&net, &to, &err) < 0)
        return false;
    if (doctor_net_request(&net, (struct span){"", 0}, (struct span){"", 0}, 5 * NS_PER_S, d->arena,
                           &a) < 0)
        d->is_out_of_memory = true;
    else
        is_tls = a.error == 0;
    doctor_net_close(&net);
    return is_tls;
}

/* --- other paths --- */

/* The base path with the version added or taken off; empty: there is no such one. */
static struct span other_path(struct doctor *d, bool *ret_is_added)
{
    struct span path = d->url.path;
    bool is_openai = !d->api->key_field;

    *ret_is_added = is_openai && !doctor_url_has_version(path);
    if (*ret_is_added)
        return doctor_text(d, "%.*s/v1", SPAN_ARG(path));
    if (!doctor_url_has_version(path))
        return (struct span){"", 0};
    while (path.n > 0 && path.p[path.n - 1] != '/')
        path.n--;
    path.n -= path.n > 0;
    return doctor_text(d, "%.*s", SPAN_ARG(path));
}

/* Something that knows this API answered. */
static bool is_api(const struct doctor_answer *a)
{
    return a->has_head && a->error == 0 && !doctor_is_page(a) &&
           ((a->status >= 200 && a->status < 300) || a->status == 401 || a->status == 403);
}

static void tell_other(struct doctor *d, bool is_added, struct span was, int status)
{
    enum doctor_cause cause = is_added ? CAUSE_URL_NO_V1 : CAUSE_URL_EXTRA_V1;

    doctor_add_remedy(
        d, cause,
        doctor_text(d, "%s: %.*s", doctor_causes[cause].remedy, SPAN_ARG(doctor_shown_url(d))),
        "%.*s: status %d, and the API is at %.*s", SPAN_ARG(was), status,
        SPAN_ARG(doctor_path(d, d->api->models)));
}

/* The API is at another path: adopted where the URL was given without /v1, else told. */
static bool try_other(struct doctor *d, struct span was)
{
    struct doctor_url url = d->url;
    struct doctor_answer a, first = d->models;
    bool is_added;
    struct span path = other_path(d, &is_added);

    if (path.n == 0 && !doctor_url_has_version(url.path))
        return false;
    d->url.path = path;
    get(d, doctor_path(d, d->api->models), &a);
    if (!is_api(&a)) {
        d->url = url;
        return false;
    }
    d->models = a;
    if (!d->base.is_argument || !is_added || url.path.n > 0)
        tell_other(d, is_added, was, first.status);
    return true;
}

static bool is_missing(enum doctor_cause cause)
{
    return cause == CAUSE_HTTP_404 || cause == CAUSE_HTTP_405 || cause == CAUSE_HTTP_PAGE ||
           cause == CAUSE_HTTP_REDIRECT || cause == CAUSE_HTTP_501;
}

/* A server without a list of models may have the rest: what it says there counts. True: told. */
static bool try_chat(struct doctor *d)
{
    struct doctor_answer a;

    d->model = d->ask->model;
    if (d->model.n == 0)
        return false;
    doctor_chat(d, 1, false, &a);
    if (doctor_is_model_unknown(&a)) {
        doctor_add(d, CAUSE_MODEL_UNKNOWN, true,
                   "there is no list of models, and the server does not know \"%.*s\"",
                   SPAN_ARG(d->model));
        return true;
    }
    if (!a.has_head || a.error < 0 || is_missing(doctor_status_cause(&a)))
        return false;
    if (doctor_status_cause(&a) == CAUSE_NO_CAUSE)
        doctor_ok(d, "it answers; there is no list of models");
    else
        doctor_tell_status(d, &a, doctor_path(d, d->api->chat));
    return true;
}

static void judge(struct doctor *d, struct span path)
{
    enum doctor_cause cause = doctor_status_cause(&d->models);
    const char *advice, *hop = doctor_hop(&d->models, &advice);
    struct dialect_answer said;

    if (is_missing(cause) && try_other(d, path)) {
        if (doctor_has_failed(d, STEP_HTTP))
            return;
        path = doctor_path(d, d->api->models);
        cause = doctor_status_cause(&d->models);
    }
    if (cause == CAUSE_HTTP_404 && try_chat(d))
        return;
    if (cause != CAUSE_NO_CAUSE) {
        doctor_tell_status(d, &d->models, path);
        return;
    }
    said = read_answer(d, &d->models);
    if (said.has_error) {
        doctor_add(d, CAUSE_HTTP_ERROR_IN_200, true, "%.*s: status %d with an error in it%s%s",
                   SPAN_ARG(path), d->models.status, said.error[0] ? ": " : "", said.error);
        return;
    }
    doctor_ok(d, "%.*s answers in %.1f ms%s%s", SPAN_ARG(path),
              (double)mono_diff(d->models.t_end, d->models.t_sent) / 1e6, hop ? ", through " : "",
              hop ? hop : "");
}

void doctor_step_http(struct doctor *d)
{
    struct span path = doctor_path(d, d->api->models);
    struct doctor_answer *a = &d->models;

    get(d, path, a);
    if (a->has_head && a->error == 0)
        judge(d, path);
    else if (a->phase == HTTP_PHASE_EXCHANGE && speaks_tls(d))
        doctor_add(d, CAUSE_HTTP_TO_TLS, true, "no answer to plain HTTP, and the port speaks TLS");
    else if (a->has_head)
        doctor_add(d, CAUSE_HTTP_NOT, true, "%.*s: the answer is not complete: %s", SPAN_ARG(path),
                   a->why ? a->why : err_str(a->error));
    else
        doctor_tell_failure(d, a);
}

void doctor_step_clock(struct doctor *d)
{
    int64_t skew_s;

    if (!doctor_skew(&d->models, &skew_s))
        doctor_skip(d, "the server does not tell its time");
    else if (llabs(skew_s) > SKEW_S)
        doctor_add(d, CAUSE_CLOCK_SKEW, true, "the clock here is %lld s %s the server's",
                   llabs(skew_s), skew_s > 0 ? "ahead of" : "behind");
    else
        doctor_ok(d, "they agree to the second or so");
}
