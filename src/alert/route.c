/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/route.h"

#include "alert/times.h"
#include "series/duration.h"

struct walk {
    struct labels labels;
    int (*visit)(void *ctx, const struct alert_route *r);
    void *ctx;
    int r;
};

/* Whether it or one below it takes them; at most ALERT_FILE_DEPTH_MAX deep. */
static bool walk_route(struct walk *w, const struct alert_route *r)
{
    bool is_taken = false;
    if (!matcher_matches_all(r->matchers, r->n_matchers, w->labels))
        return false;
    for (size_t i = 0; i < r->n_routes && w->r == 0; i++) {
        bool takes = walk_route(w, &r->routes[i]);
        is_taken = is_taken || takes;
        if (takes && !r->routes[i].goes_on)
            break;
    }
    if (!is_taken && w->r == 0)
        w->r = w->visit(w->ctx, r);
    return true;
}

int alert_route_each(const struct alert_file *f, struct labels labels,
                     int (*visit)(void *ctx, const struct alert_route *r), void *ctx)
{
    struct walk w = {labels, visit, ctx, 0};
    (void)walk_route(&w, f->route); /* it takes everything */
    return w.r;
}

int alert_route_group(const struct alert_route *r, struct labels labels, struct arena *a,
                      struct labels *ret)
{
    if (!r->group_by_all)
        return labels_only(a, labels, r->group_by, r->n_group_by, ret);
    *ret = labels;
    return 0;
}

struct span alert_route_muted_by(const struct alert_file *f, const struct alert_route *r,
                                 int64_t now_ms)
{
    bool is_active = r->n_active_times == 0;
    for (size_t i = 0; i < r->n_active_times && !is_active; i++)
        is_active = alert_times_contain(alert_file_times(f, r->active_times[i]), now_ms);
    if (!is_active)
        return r->active_times[0];
    for (size_t i = 0; i < r->n_mute_times; i++) {
        if (alert_times_contain(alert_file_times(f, r->mute_times[i]), now_ms))
            return r->mute_times[i];
    }
    return SPAN("");
}

static int explain(void *ctx, const struct alert_route *r)
{
    struct buf *out = ctx;
    int e = buf_printf(out, "%.*s\t%.*s\tgroup by ", SPAN_ARG(r->receiver), SPAN_ARG(r->key));
    if (e == 0 && r->group_by_all)
        e = buf_append(out, SPAN("all labels"));
    else if (e == 0 && r->n_group_by == 0)
        e = buf_append(out, SPAN("nothing"));
    for (size_t i = 0; i < r->n_group_by && e == 0 && !r->group_by_all; i++)
        e = buf_printf(out, "%s%.*s", i > 0 ? ", " : "", SPAN_ARG(r->group_by[i]));
    if (e == 0)
        e = buf_append(out, SPAN("; wait "));
    if (e == 0)
        e = duration_print(r->group_wait_ms, out);
    if (e == 0)
        e = buf_append(out, SPAN(", again "));
    if (e == 0)
        e = duration_print(r->group_interval_ms, out);
    if (e == 0)
        e = buf_append(out, SPAN(", repeat "));
    if (e == 0)
        e = duration_print(r->repeat_interval_ms, out);
    return e < 0 ? e : buf_append(out, SPAN("\n"));
}

int alert_route_explain(const struct alert_file *f, struct labels labels, struct buf *out)
{
    return alert_route_each(f, labels, explain, out);
}
