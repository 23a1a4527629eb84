/* SPDX-License-Identifier: Apache-2.0 */
#include "api/changes.h"

#include <errno.h>
#include <string.h>

#include "api/routes.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"

#define LOOK_NS NS_PER_S
/* What a number of JavaScript holds exactly; only whether it is another one matters. */
#define NUMBER_MASK ((UINT64_C(1) << 53) - 1)

struct changes {
    struct loop *loop;
    const struct api_sources *sources;
    void (*over)(struct changes_stream *s);
    struct list streams;
    struct timer timer;
    uint64_t n_changes;
    int64_t began_ms; /* tells one process from the next */
    struct buf text;
};

static struct api_versions versions_now(const struct changes *e)
{
    struct api_versions v = {0};

    if (e->sources->versions)
        e->sources->versions(e->sources->arg, &v);
    v.alerts += e->n_changes;
    v.incidents += e->n_changes;
    return v;
}

static uint64_t access_now(const struct changes *e)
{
    struct api_access a = {.number = 0};

    if (e->sources->access)
        e->sources->access(e->sources->arg, &a);
    return a.number;
}

static void versions_write(const struct changes *e, const struct api_versions *v, struct jsonw *w)
{
    const struct {
        const char *key;
        uint64_t n;
    } members[] = {
        {"process", (uint64_t)e->began_ms},
        {"now_ms", (uint64_t)(clock_real_ns() / NS_PER_MS)},
        {"requests", v->requests},
        {"alerts", v->alerts},
        {"incidents", v->incidents},
        {"targets", v->targets},
        {"config", v->config},
    };

    jsonw_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        jsonw_put_u64(w, members[i].key, members[i].n & NUMBER_MASK);
    jsonw_end_object(w);
}

/* One event into e->text. */
static int event_write(struct changes *e, const char *name, const struct api_versions *v)
{
    struct jsonw w;
    int r;

    buf_clear(&e->text);
    r = buf_printf(&e->text, "event: %s\ndata: ", name);
    jsonw_init(&w, &e->text);
    versions_write(e, v, &w);
    if (r == 0 && (r = jsonw_error(&w)) == 0)
        r = buf_append(&e->text, SPAN("\n\n"));
    return r;
}

static int stream_send(struct changes *e, struct changes_stream *s, const char *name,
                       const struct api_versions *v)
{
    int r = event_write(e, name, v);
    struct span text = buf_span(&e->text);

    s->_told = *v;
    s->_beat = mono_add(clock_mono(), CHANGES_BEAT_S * NS_PER_S);
    return r < 0 ? r : http_server_body(s->_conn, &text, 1, false);
}

static bool is_ended(const struct changes_stream *s, uint64_t access)
{
    return s->_access != access ||
           (s->_expires_s > 0 && s->_expires_s <= clock_real_ns() / NS_PER_S) ||
           http_server_queued_bytes(s->_conn) > CHANGES_UNREAD_MAX;
}

static void stream_look(struct changes *e, struct changes_stream *s, const struct api_versions *v,
                        uint64_t access)
{
    bool is_changed = memcmp(v, &s->_told, sizeof(*v)) != 0;
    int r = 0;

    if (is_ended(s, access))
        r = -EPIPE;
    else if (is_changed || mono_diff(clock_mono(), s->_beat) >= 0)
        r = stream_send(e, s, is_changed ? "changed" : "beat", v);
    if (r < 0) {
        changes_leave(s);
        e->over(s);
    }
}

static void on_timer(struct timer *t)
{
    struct changes *e = CONTAINER_OF(t, struct changes, timer);
    struct api_versions v = versions_now(e);
    uint64_t access = access_now(e);
    struct list *next;

    for (struct list *i = e->streams.next; i != &e->streams; i = next) {
        next = i->next;
        stream_look(e, CONTAINER_OF(i, struct changes_stream, _link), &v, access);
    }
    if (!list_is_empty(&e->streams))
        loop_timer_start(e->loop, &e->timer, LOOK_NS);
}

static size_t count(const struct changes *e)
{
    size_t n = 0;

    for (const struct list *i = e->streams.next; i != &e->streams; i = i->next)
        n++;
    return n;
}

int changes_new(struct loop *l, const struct api_sources *sources,
                void (*over)(struct changes_stream *s), struct changes **ret)
{
    struct changes *e = mem_zalloc(1, sizeof(*e));

    if (!e)
        return -ENOMEM;
    e->loop = l;
    e->sources = sources;
    e->over = over;
    e->began_ms = clock_real_ns() / NS_PER_MS;
    list_init(&e->streams);
    timer_init(&e->timer, on_timer);
    buf_init(&e->text, 4 * KIB);
    *ret = e;
    return 0;
}

struct changes *changes_free(struct changes *e)
{
    if (!e)
        return NULL;
    loop_timer_stop(e->loop, &e->timer);
    buf_done(&e->text);
    mem_free(e);
    return NULL;
}

int changes_join(struct changes *e, struct changes_stream *s, struct http_server_conn *c,
                 const struct session *who, struct span fields)
{
    struct api_versions v = versions_now(e);
    int r;

    if (count(e) >= CHANGES_STREAMS_MAX)
        return -EAGAIN;
    *s = (struct changes_stream){._conn = c, ._expires_s = who->expires_s, ._access = who->tokens};
    list_push_back(&e->streams, &s->_link);
    r = http_server_head(c, 200, (struct span){0}, fields,
                         (struct http_framing){HTTP1_BODY_UNTIL_CLOSE, 0}, NULL, 0, false);
    if (r == 0)
        r = stream_send(e, s, "state", &v);
    if (r < 0)
        changes_leave(s);
    else if (!timer_is_running(&e->timer))
        loop_timer_start(e->loop, &e->timer, LOOK_NS);
    return r;
}

void changes_leave(struct changes_stream *s)
{
    if (!s->_conn)
        return;
    list_remove(&s->_link);
    s->_conn = NULL;
}

void changes_note(struct changes *e)
{
    e->n_changes++;
}

void changes_handle(const struct api_request *req, struct api_answer *ret)
{
    ret->content_type = "text/event-stream";
    ret->fields = "X-Accel-Buffering: no\r\n"; /* nginx would hold events back */
    ret->is_events = span_eq(req->head->method, SPAN("GET"));
}
