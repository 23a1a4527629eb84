/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_ask.h"

#include <errno.h>

#include "base/clock.h"
#include "cli/dialog.h"

enum { FORM_MAX = 4096 };

static int ask(const struct talk_place *at, const char *path, const char *query, struct buf *body,
               struct err *reterr)
{
    struct buf form;
    buf_init(&form, FORM_MAX);
    int r = query ? talk_add(&form, SPAN("query"), span_cstr(query)) : 0;
    const struct talk_question q = {.path = path,
                                    .accept = query ? NULL : "*/*",
                                    .form = buf_span(&form),
                                    .method = query ? NULL : "GET",
                                    .patience_s = TOP_ASK_PATIENCE_S};
    if (r < 0)
        (void)err_set(reterr, r, "%s", err_str(r));
    else
        r = dialog_get(at, q, body, NULL, reterr);
    buf_done(&form);
    return r;
}

int top_ask_history(const struct talk_place *at, struct top_feed *f, struct err *reterr)
{
    struct buf body;
    buf_init(&body, TALK_ANSWER_MAX);
    int r = ask(at, "/api/v1/query", top_feed_question, &body, reterr);
    if (r == 0)
        r = top_feed_history(f, buf_span(&body));
    else if (r == -EREMOTEIO)
        r = 0; /* it keeps none, or there is too much of it */
    if (r == -EPROTO || r == -ENOMEM)
        (void)talk_misread(at, 200, "history", r, reterr);
    buf_done(&body);
    return r;
}

static int ask_metrics(const struct talk_place *at, struct top_feed *f, struct buf *body,
                       struct err *reterr)
{
    int r = ask(at, "/metrics", NULL, body, reterr);
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
    struct buf body;
    buf_init(&body, TALK_ANSWER_MAX);
    int r = ask_metrics(at, f, &body, reterr);
    if (r == 0)
        top_lists_reset(l);
    for (size_t i = 0; i < ARRAY_LEN(lists) && r == 0; i++) {
        struct err why = {0};
        buf_clear(&body);
        if (ask(at, lists[i].path, lists[i].query, &body, &why) == 0)
            (void)lists[i].take(l, buf_span(&body)); /* empty where that fails */
    }
    buf_done(&body);
    return r;
}
