/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/requests.c - requests as clients of the API send them.
 */
#include <errno.h>

#include "base/jsonw.h"
#include "base/limits.h"
#include "doctor/doctor_private.h"

enum { HEAD_MAX = 64 * 1024, BODY_MAX = 16 * 1024 };

static bool is_through_proxy(const struct doctor *d)
{
    return d->proxy.host[0] != '\0' && !d->url.is_tls;
}

/* "host", "host:8000", "[::1]:8000" */
static struct span authority(struct doctor *d)
{
    const struct doctor_url *u = &d->url;
    const char *open = u->is_v6 ? "[" : "", *close = u->is_v6 ? "]" : "";

    if (!u->has_port)
        return doctor_text(d, "%s%.*s%s", open, SPAN_ARG(u->host), close);
    return doctor_text(d, "%s%.*s%s:%d", open, SPAN_ARG(u->host), close, u->port);
}

struct span doctor_shown_url(struct doctor *d)
{
    const struct doctor_url *u = &d->url;

    return doctor_text(d, "%s://%s%.*s%s:%d%.*s", u->is_tls ? "https" : "http", u->is_v6 ? "[" : "",
                       SPAN_ARG(u->host), u->is_v6 ? "]" : "", u->port, SPAN_ARG(u->path));
}

struct span doctor_path(struct doctor *d, const char *tail)
{
    return doctor_text(d, "%.*s%s%s", SPAN_ARG(d->url.path), d->api->prefix, tail);
}

/* Header lines of the key. */
static int key_put(const struct doctor *d, struct buf *b)
{
    if (d->key.value.n == 0 || d->key_is_withheld)
        return 0;
    if (d->key_is_bearer)
        return buf_printf(b, "Authorization: Bearer %.*s\r\n", SPAN_ARG(d->key.value));
    return buf_printf(b, "%s: %.*s\r\n", d->api->key_field, SPAN_ARG(d->key.value));
}

static int head_put(struct doctor *d, const struct request_options *o, struct buf *b)
{
    struct http_framing framing = {o->body.n > 0 ? HTTP1_BODY_LENGTH : HTTP1_BODY_NONE, o->body.n};
    struct span host = authority(d);
    struct span prefix = {"", 0};
    int r;

    if (is_through_proxy(d))
        prefix = doctor_text(d, "http://%.*s", SPAN_ARG(host));
    r = http_head_request(b, span_cstr(o->method), prefix, o->path);
    if (r == 0)
        r = buf_printf(b, "Host: %.*s\r\nUser-Agent: inferometer-doctor/" PROJECT_VERSION "\r\n",
                       SPAN_ARG(host));
    if (r == 0 && is_through_proxy(d) && d->proxy.authorization[0] != '\0')
        r = buf_printf(b, "Proxy-Authorization: %s\r\n", d->proxy.authorization);
    if (r == 0)
        r = buf_printf(b, "Accept: %s\r\nAccept-Encoding: %s\r\n%s",
                       o->is_stream ? "text/event-stream" : "*/*",
                       o->accepts_gzip ? "gzip" : "identity", d->api->fields);
    if (r == 0 && !o->without_key)
        r = key_put(d, b);
    if (r == 0 && o->body.n > 0)
        r = buf_printf(b, "Content-Type: application/json\r\n");
    return r == 0 ? http_head_end(b, framing) : r;
}

int64_t doctor_timeout_ns(const struct doctor *d)
{
    return d->ask->timeout_ns > 0 ? d->ask->timeout_ns : DOCTOR_TIMEOUT_NS;
}

void doctor_request(struct doctor *d, const struct request_options *o, struct doctor_answer *ret)
{
    struct buf head;
    int r;

    buf_init(&head, HEAD_MAX);
    r = head_put(d, o, &head);
    if (r == 0)
        r = doctor_net_request(&d->net, buf_span(&head), o->body, doctor_timeout_ns(d), d->arena,
                               ret);
    buf_done(&head);
    if (r == -EMSGSIZE) /* a key of many kilobytes */
        *ret = (struct doctor_answer){.error = r, .phase = HTTP_PHASE_EXCHANGE};
    else if (r < 0)
        d->is_out_of_memory = true;
    if (r == -ENOMEM)
        *ret = (struct doctor_answer){.error = r, .phase = HTTP_PHASE_EXCHANGE};
}

/* --- chat --- */

static void write_messages(struct jsonw *w, const char *text)
{
    jsonw_key(w, "messages");
    jsonw_begin_array(w);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "role", "user");
    jsonw_put_cstr(w, "content", text);
    jsonw_end_object(w);
    jsonw_end_array(w);
}

static int write_chat(const struct doctor *d, int n_tokens, struct buf *out)
{
    bool is_openai = !d->api->key_field;
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_str(&w, "model", d->model);
    jsonw_put_i64(&w,
                  is_openai && d->wants_completion_tokens ? "max_completion_tokens" : "max_tokens",
                  n_tokens);
    jsonw_put_bool(&w, "stream", true);
    if (is_openai && !d->drops_usage) {
        jsonw_key(&w, "stream_options");
        jsonw_begin_object(&w);
        jsonw_put_bool(&w, "include_usage", true);
        jsonw_end_object(&w);
    }
    write_messages(&w, "Count from 1 to 100, with blanks between the numbers.");
    jsonw_end_object(&w);
    return jsonw_error(&w);
}

void doctor_chat(struct doctor *d, int n_tokens, bool accepts_gzip, struct doctor_answer *ret)
{
    struct request_options o = {
        .method = "POST",
        .path = doctor_path(d, d->api->chat),
        .accepts_gzip = accepts_gzip,
        .is_stream = true,
    };
    struct buf body;

    buf_init(&body, BODY_MAX);
    if (write_chat(d, n_tokens, &body) < 0) {
        d->is_out_of_memory = true;
        *ret = (struct doctor_answer){.error = -ENOMEM};
    } else {
        o.body = buf_span(&body);
        doctor_request(d, &o, ret);
    }
    buf_done(&body);
}
