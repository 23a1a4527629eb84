/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_ask.h"

#include <errno.h>

#include "base/clock.h"
#include "cli/dialog.h"
#include "top/screen.h"

enum { FORM_MAX = 4096 };

/* Some questions, and until when all of their answers are waited for. */
struct look {
    const struct talk_place *at;
    mono_t until;
};

static struct look look_begin(const struct talk_place *at)
{
    return (struct look){at, mono_add(clock_mono(), TOP_ASK_PATIENCE_S * NS_PER_S)};
}

static int ask(const struct look *l, const char *path, const char *query, struct buf *body,
               struct err *reterr)
{
    int64_t left_ns = mono_diff(l->until, clock_mono());
    struct buf form;
    buf_init(&form, FORM_MAX);
    int r = query ? talk_add(&form, SPAN("query"), span_cstr(query)) : 0;
    const struct talk_question q = {.path = path,
                                    .accept = query ? NULL : "*/*",
                                    .form = buf_span(&form),
                                    .method = query ? NULL : "GET",
                                    .patience_ns = left_ns > NS_PER_MS ? left_ns : NS_PER_MS,
                                    .must_stop = top_screen_is_interrupted};
    if (r < 0)
        (void)err_set(reterr, r, "%s", err_str(r));
    else
        r = dialog_get(l->at, q, body, NULL, reterr);
    buf_done(&form);
    return r;
}

int top_ask_history(const struct talk_place *at, struct top_feed *f, struct err *reterr)
{
    const struct look look = look_begin(at);
    struct buf body;
    buf_init(&body, TALK_ANSWER_MAX);
    int r = ask(&look, "/api/v1/query", top_feed_question, &body, reterr);
    if (r == 0)
        r = top_feed_history(f, buf_span(&body));
    else if (r == -EREMOTEIO)
        r = 0; /* it keeps none, or there is too much of it */
    if (r == -EPROTO || r == -ENOMEM)
        (void)talk_misread(at, 200, "history", r, reterr);
    buf_done(&body);
    return r;
}

static int ask_metrics(const struct look *l, struct top_feed *f, struct buf *body,
                       struct err *reterr)
{
    int r = ask(l, "/metrics", NULL, body, reterr);
    if (r < 0)
        return r;
    r = top_feed_page(f, buf_span(body), clock_wall().us / 1000);
    return r < 0 ? err_set(reterr, r, "%s", err_str(r)) : 0;
}

int top_ask_now(const struct talk_place *at, struct top_feed *f, struct top_lists *l,
                struct err *reterr)
{
    const struct {
        const char *path, *query;
        int (*take)(struct top_lists *l, struct span json);
    } lists[] = {
        {"/api/v1/status", NULL, top_lists_status},
        {"/api/v1/inflight", NULL, top_lists_flights},
        {"/api/v1/alerts", NULL, top_lists_alerts},
        {"/api/v1/query", top_lists_question, top_lists_engines},
    };
    const struct look look = look_begin(at);
    struct buf body;
    buf_init(&body, TALK_ANSWER_MAX);
    int r = ask_metrics(&look, f, &body, reterr);
    if (r == 0)
        top_lists_reset(l);
    for (size_t i = 0; i < ARRAY_LEN(lists) && r == 0; i++) {
        struct err why = {0};
        buf_clear(&body);
        if (ask(&look, lists[i].path, lists[i].query, &body, &why) == 0)
            (void)lists[i].take(l, buf_span(&body)); /* empty where that fails */
    }
    buf_done(&body);
    return r;
}
