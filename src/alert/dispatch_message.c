/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_message.c - looks at one channel of a group: what is there to tell, and is it new?
 *
 * The order is Alertmanager's: inhibited ones are left out, then everything at times when the route
 * is quiet, then silenced ones; what remains is compared with what was told last.
 */
#include <errno.h>
#include <stdlib.h>

#include "alert/dispatch_impl.h"
#include "base/mem.h"

/* The alerts of a group that nobody keeps quiet. Lists are in the arena. */
struct audible {
    const struct dispatch_item **items;
    uint64_t *firing, *resolved; /* fingerprints, sorted */
    size_t n, n_firing, n_resolved;
    uint64_t *quiet_ends; /* of those that are kept quiet and have ended */
    size_t n_quiet_ends;
};

static int number_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_numbers(uint64_t *at, size_t n)
{
    if (n > 1)
        qsort(at, n, sizeof(*at), number_order);
}

static int listen(const struct dispatch *d, const struct dispatch_set *set,
                  const struct silences *s, int64_t now_ms, struct arena *a, struct audible *ret)
{
    struct audible v = {
        .items = arena_array(a, set->n_members, sizeof(struct dispatch_item *)),
        .firing = arena_array(a, set->n_members, sizeof(uint64_t)),
        .resolved = arena_array(a, set->n_members, sizeof(uint64_t)),
        .quiet_ends = arena_array(a, set->n_members, sizeof(uint64_t)),
    };
    if (!v.items || !v.firing || !v.resolved || !v.quiet_ends)
        return -ENOMEM;
    bool is_quiet = alert_route_muted_by(d->board->file, set->route, now_ms).n > 0;
    for (size_t i = 0; i < set->n_members; i++) {
        struct dispatch_item *item = set->members[i]->item;
        if (is_quiet || inhibit_find(d->board->inhibit, item->labels, now_ms) ||
            (s && silence_match(s, &item->silences, item->labels, now_ms))) {
            if (item->is_resolved)
                v.quiet_ends[v.n_quiet_ends++] = item->fingerprint;
            continue;
        }
        v.items[v.n++] = item;
        if (item->is_resolved)
            v.resolved[v.n_resolved++] = item->fingerprint;
        else
            v.firing[v.n_firing++] = item->fingerprint;
    }
    sort_numbers(v.firing, v.n_firing);
    sort_numbers(v.resolved, v.n_resolved);
    *ret = v;
    return 0;
}

/* Both sorted. */
static bool is_subset(const uint64_t *part, size_t n_part, const uint64_t *of, size_t n_of)
{
    size_t k = 0;
    for (size_t i = 0; i < n_part; i++) {
        while (k < n_of && of[k] < part[i])
            k++;
        if (k == n_of || of[k] != part[i])
            return false;
    }
    return true;
}

/* Why to tell again, or an empty text. */
static struct span reason_after(const struct dispatch_entry *e, const struct audible *v,
                                bool sends_resolved, int64_t repeat_ms, int64_t now_ms)
{
    if (!is_subset(v->firing, v->n_firing, e->log.firing, e->log.n_firing))
        return e->log.n_firing == 0 ? SPAN("first notification") : SPAN("new alerts added");
    if (v->n_firing == 0)
        return e->log.n_firing > 0 ? SPAN("all alerts resolved") : SPAN("");
    if (sends_resolved &&
        !is_subset(v->resolved, v->n_resolved, e->log.resolved, e->log.n_resolved))
        return SPAN("some alerts resolved");
    return e->log.told_ms < now_ms - repeat_ms ? SPAN("repeat interval elapsed") : SPAN("");
}

static struct span reason_of(const struct dispatch_entry *e, const struct audible *v,
                             bool sends_resolved, int64_t repeat_ms, int64_t now_ms)
{
    if (v->n == 0)
        return SPAN("");
    if (e && !e->is_gone)
        return reason_after(e, v, sends_resolved, repeat_ms, now_ms);
    return v->n_firing > 0 ? SPAN("first notification") : SPAN("");
}

/* --- the message --- */

struct alert_view dispatch_message_view(const struct dispatch_item *item)
{
    return (struct alert_view){
        .labels = item->labels,
        .annotations = item->text->annotations,
        .starts_ms = item->starts_ms,
        .ends_ms = item->is_resolved ? item->ends_ms : 0,
        .is_resolved = item->is_resolved,
        .fingerprint = item->fingerprint,
        .value = item->value,
        .generator_url = item->text->generator_url,
    };
}

/* By job and instance first, those that have none last; then by all labels. */
int dispatch_message_order(const struct alert_view *x, const struct alert_view *y)
{
    static const struct span first[] = {SPAN_INIT("job"), SPAN_INIT("instance")};
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        struct span a = labels_get(x->labels, first[i]), b = labels_get(y->labels, first[i]);
        if ((a.n == 0) != (b.n == 0))
            return a.n == 0 ? 1 : -1;
        int r = span_cmp(a, b);
        if (r != 0)
            return r;
    }
    return labels_cmp(x->labels, y->labels);
}

static int view_order(const void *a, const void *b)
{
    const struct alert_view *x = a, *y = b;
    if (x->is_resolved != y->is_resolved)
        return x->is_resolved ? 1 : -1;
    return dispatch_message_order(x, y);
}

static int copy_view(struct arena *a, struct alert_view *v)
{
    int r = labels_copy(a, v->labels, &v->labels);
    if (r == 0)
        r = labels_copy(a, v->annotations, &v->annotations);
    v->generator_url = arena_dup(a, v->generator_url);
    return r == 0 && !v->generator_url.p ? -ENOMEM : r;
}

static bool has_pair(struct labels l, const struct label *pair)
{
    return span_eq(labels_get(l, pair->name), pair->value);
}

static struct labels side(const struct alert_view *v, bool are_annotations)
{
    return are_annotations ? v->annotations : v->labels;
}

/* The pairs that all have. */
static int common(struct arena *a, const struct alert_view *at, size_t n, bool are_annotations,
                  struct labels *ret)
{
    struct labels first = side(&at[0], are_annotations);
    struct label *pairs = arena_array(a, first.n, sizeof(*pairs));
    size_t n_pairs = 0;
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < first.n; i++) {
        size_t k = 1;
        while (k < n && has_pair(side(&at[k], are_annotations), &first.at[i]))
            k++;
        if (k == n)
            pairs[n_pairs++] = first.at[i];
    }
    *ret = (struct labels){pairs, n_pairs};
    return 0;
}

static int message_alerts(const struct audible *v, bool sends_resolved, struct arena *a,
                          struct alert_message *m)
{
    struct alert_view *views = arena_array(a, v->n, sizeof(*views));
    size_t n = 0;
    int r = 0;
    if (!views)
        return -ENOMEM;
    for (size_t i = 0; i < v->n && r == 0; i++) {
        if (v->items[i]->is_resolved && !sends_resolved)
            continue;
        views[n] = dispatch_message_view(v->items[i]);
        r = copy_view(a, &views[n++]);
    }
    if (r < 0)
        return r;
    qsort(views, n, sizeof(*views), view_order);
    m->alerts = views;
    m->n = n;
    m->n_firing = v->n_firing;
    r = common(a, views, n, false, &m->common_labels);
    return r < 0 ? r : common(a, views, n, true, &m->common_annotations);
}

static int message_fill(const struct dispatch *d, const struct dispatch_set *set,
                        const struct audible *v, bool sends_resolved, struct span reason,
                        struct arena *a, struct alert_message *ret)
{
    struct alert_message m = {
        .receiver = arena_dup(a, set->route->receiver),
        .group_key = arena_dup(a, set->key),
        .external_url = arena_dup(a, d->external_url),
        .reason = reason,
    };
    if (!m.receiver.p || !m.group_key.p || !m.external_url.p)
        return -ENOMEM;
    int r = labels_copy(a, set->labels, &m.group_labels);
    if (r == 0)
        r = labels_copy(a, set->route->labels, &m.route_labels);
    if (r == 0)
        r = message_alerts(v, sends_resolved, a, &m);
    if (r == 0)
        *ret = m;
    return r;
}

/* --- what is out --- */

void dispatch_out_free(struct dispatch *d, struct dispatch_out *out)
{
    alert_map_remove(&d->outs, &out->node);
    mem_free(out->entry);
    alert_file_unref(out->file);
    mem_free(out);
}

static int out_new(struct dispatch *d, struct dispatch_set *set, size_t channel,
                   struct dispatch_entry *entry)
{
    struct dispatch_out *out = mem_zalloc(1, sizeof(*out));
    if (!out)
        return -ENOMEM;
    out->file = alert_file_ref(d->board->file);
    out->set = set;
    out->channel = channel;
    out->version = d->version;
    out->entry = entry;
    set->channels[channel].state = CHANNEL_OUT;
    alert_map_add(&d->outs, &out->node, set->channels[channel].token);
    return 0;
}

static void settle(struct dispatch *d, struct dispatch_channel *c)
{
    c->state = CHANNEL_QUIET;
    c->settled = d->version;
}

static int entry_for(const struct dispatch_set *set, int integration, const struct audible *v,
                     struct dispatch_entry **ret)
{
    struct dispatch_log l = {
        .group_key = set->key,
        .receiver = set->route->receiver,
        .integration = integration,
        .firing = v->firing,
        .resolved = v->resolved,
        .n_firing = v->n_firing,
        .n_resolved = v->n_resolved,
    };
    return dispatch_entry_new(&l, ret);
}

/* Nothing to tell: those that ended while they were kept quiet are not firing for it any more. */
static int tell_nothing(struct dispatch *d, struct dispatch_channel *c, struct dispatch_entry *e,
                        const struct audible *v)
{
    for (size_t i = 0; e && i < v->n_quiet_ends; i++)
        dispatch_entry_forget(d, e, v->quiet_ends[i]);
    settle(d, c);
    return 0;
}

int dispatch_message_make(struct dispatch *d, struct dispatch_set *set, size_t channel,
                          const struct silences *s, int64_t now_ms, struct arena *a,
                          struct dispatch_due *ret)
{
    const struct alert_integration *in = &set->route->to->integrations[channel];
    struct dispatch_channel *c = &set->channels[channel];
    struct dispatch_entry *entry = NULL;
    struct audible v = {0};
    int r = listen(d, set, s, now_ms, a, &v);
    if (r < 0)
        return r;
    struct dispatch_entry *last =
        dispatch_entry_find(d, set->key, set->route->receiver, in->log_number);
    struct span reason =
        reason_of(last, &v, in->send_resolved, set->route->repeat_interval_ms, now_ms);
    if (reason.n == 0)
        return tell_nothing(d, c, last, &v);
    r = entry_for(set, in->log_number, &v, &entry);
    if (r < 0)
        return r;
    if (v.n_firing == 0 && !in->send_resolved) { /* told to nobody, but known */
        entry->log.told_ms = now_ms;
        dispatch_entry_put(d, entry);
        settle(d, c);
        return 0;
    }
    struct dispatch_due due = {.receiver = set->route->to, .integration = in};
    r = message_fill(d, set, &v, in->send_resolved, reason, a, &due.message);
    if (r == 0)
        r = out_new(d, set, channel, entry);
    if (r < 0) {
        mem_free(entry);
        return r;
    }
    due.token = c->token;
    *ret = due;
    return 1;
}
