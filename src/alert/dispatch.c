/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch.c - alerts in, due messages out.
 */
#include "alert/dispatch.h"

#include <errno.h>

#include "alert/dispatch_impl.h"
#include "alert/fingerprint.h"
#include "base/mem.h"

enum {
    /* How long an alert that is resolved and told is known, so that it is not told again. Rules
     * repeat a resolution for 15 min. */
    QUIET_MS = 20 * 60 * 1000,
};

/* --- alerts --- */

static void item_free(struct dispatch_item *item)
{
    silence_memo_done(&item->silences);
    mem_free(item->text);
    mem_free(item);
}

size_t dispatch_labels_bytes(struct labels l)
{
    size_t n = l.n * sizeof(struct label);
    for (size_t i = 0; i < l.n; i++)
        n += l.at[i].name.n + l.at[i].value.n;
    return n;
}

struct span dispatch_put_span(char **at, struct span s)
{
    char *to = *at;
    if (s.n > 0)
        memcpy(to, s.p, s.n);
    *at += s.n;
    return span_of(to, s.n);
}

struct labels dispatch_put_labels(struct label *pairs, char **at, struct labels l)
{
    for (size_t i = 0; i < l.n; i++) {
        pairs[i].name = dispatch_put_span(at, l.at[i].name);
        pairs[i].value = dispatch_put_span(at, l.at[i].value);
    }
    return (struct labels){pairs, l.n};
}

static struct dispatch_text *text_new(const struct alert_notice *n)
{
    struct dispatch_text *t =
        mem_alloc(sizeof(*t) + dispatch_labels_bytes(n->annotations) + n->generator_url.n + 1);
    if (!t)
        return NULL;
    struct label *pairs = (void *)(t + 1);
    char *at = (void *)(pairs + n->annotations.n);
    t->annotations = dispatch_put_labels(pairs, &at, n->annotations);
    t->generator_url = dispatch_put_span(&at, n->generator_url);
    return t;
}

static struct dispatch_item *item_new(const struct alert_notice *n, uint64_t fingerprint)
{
    struct dispatch_item *item =
        mem_zalloc(1, sizeof(*item) + dispatch_labels_bytes(n->labels) + 1);
    if (!item)
        return NULL;
    struct label *pairs = (void *)(item + 1);
    char *at = (void *)(pairs + n->labels.n);
    item->labels = dispatch_put_labels(pairs, &at, n->labels);
    item->fingerprint = fingerprint;
    item->starts_ms = n->starts_ms;
    item->ends_ms = INT64_MIN;
    list_init(&item->quiet);
    return item;
}

static struct dispatch_item *item_find(const struct dispatch *d, struct labels l,
                                       uint64_t fingerprint)
{
    struct alert_map_node *node = alert_map_first(&d->items, fingerprint);
    for (; node; node = alert_map_next(node)) {
        struct dispatch_item *item = ALERT_MAP_ENTRY(node, struct dispatch_item, node);
        if (labels_eq(item->labels, l))
            return item;
    }
    return NULL;
}

static void item_drop(struct dispatch *d, struct dispatch_item *item)
{
    list_remove(&item->quiet);
    alert_map_remove(&d->items, &item->node);
    item_free(item);
}

static void drop_quiet(struct dispatch *d, int64_t now_ms)
{
    while (!list_is_empty(&d->quiet)) {
        struct dispatch_item *item = ALERT_MAP_ENTRY(d->quiet.next, struct dispatch_item, quiet);
        if (now_ms - item->quiet_ms < QUIET_MS)
            break;
        item_drop(d, item);
    }
}

static void set_source(struct dispatch_item *item)
{
    if (item->place)
        inhibit_set(&item->place->source, item->is_resolved ? INT64_MIN : item->ends_ms);
}

/* The same alert over again, or a later one: where their times overlap it began with the first, and
 * holds as long as the longer. */
static void item_take(struct dispatch *d, struct dispatch_item *item, const struct alert_notice *n,
                      struct dispatch_text *text, int64_t now_ms)
{
    bool was_firing = !item->is_resolved && item->text;
    bool overlaps = item->text && n->starts_ms <= item->ends_ms && n->ends_ms >= item->starts_ms;
    if (!overlaps || n->starts_ms < item->starts_ms)
        item->starts_ms = n->starts_ms;
    if (n->is_resolved || !was_firing || !overlaps || n->ends_ms > item->ends_ms)
        item->ends_ms = n->ends_ms;
    item->is_resolved = n->is_resolved;
    item->value = n->value;
    item->updated_ms = now_ms;
    item->version = ++d->version;
    if (text) {
        mem_free(item->text);
        item->text = text;
    }
    set_source(item);
}

static bool has_text(const struct dispatch_item *item, const struct alert_notice *n)
{
    return item->text && labels_eq(item->text->annotations, n->annotations) &&
           span_eq(item->text->generator_url, n->generator_url);
}

/* A resolution that is known. */
static bool is_known_end(const struct dispatch_item *item, const struct alert_notice *n)
{
    return item->text && item->is_resolved && n->is_resolved && n->ends_ms <= item->ends_ms;
}

int dispatch_put(struct dispatch *d, const struct alert_notice *n, int64_t now_ms)
{
    uint64_t fingerprint = alert_fingerprint(n->labels);
    struct dispatch_text *text = NULL;
    dispatch_clock(d, now_ms);
    drop_quiet(d, now_ms);
    struct dispatch_item *item = item_find(d, n->labels, fingerprint), *made = NULL;
    if (item && is_known_end(item, n))
        return 0;
    if (!item && !(item = made = item_new(n, fingerprint)))
        return -ENOMEM;
    if (!has_text(item, n) && !(text = text_new(n))) {
        mem_free(made);
        return -ENOMEM;
    }
    bool was_placed = item->place != NULL;
    int64_t starts_ms = item->starts_ms;
    if (!was_placed)
        item->starts_ms = n->starts_ms; /* what a new group goes by */
    if (dispatch_board_place(d, d->board, item, &item->place, now_ms) < 0) {
        item->starts_ms = starts_ms;
        mem_free(text);
        mem_free(made);
        return -ENOMEM;
    }
    if (made)
        alert_map_add(&d->items, &item->node, fingerprint);
    if (!was_placed) {
        list_remove(&item->quiet);
        d->n_placed++;
    }
    item_take(d, item, n, text, now_ms);
    return 0;
}

/* --- messages --- */

int64_t dispatch_next_ms(const struct dispatch *d)
{
    return d->board->n_heap > 0 ? d->board->heap[0]->due_ms : INT64_MAX;
}

/* Those that were not told again in time have ended. */
static void end_expired(struct dispatch *d, struct dispatch_set *set, int64_t now_ms)
{
    for (size_t i = 0; i < set->n_members; i++) {
        struct dispatch_item *item = set->members[i]->item;
        if (item->is_resolved || item->ends_ms > now_ms)
            continue;
        item->is_resolved = true;
        item->version = ++d->version;
        set_source(item);
    }
}

/* group_wait or group_interval is over. */
static void tick(struct dispatch_set *set, int64_t now_ms)
{
    set->next_ms = now_ms + set->route->group_interval_ms;
    for (size_t i = 0; i < set->n_channels; i++) {
        struct dispatch_channel *c = &set->channels[i];
        if (c->state == CHANNEL_OUT)
            c->is_again = true;
        if (c->state != CHANNEL_QUIET)
            continue;
        c->state = CHANNEL_WAITING;
        c->due_ms = now_ms;
    }
}

/* One group that is due: 1: a message; 0: one channel less to look at, or none; -ENOMEM. */
static int look_at(struct dispatch *d, struct dispatch_set *set, const struct silences *s,
                   int64_t now_ms, struct arena *a, struct dispatch_due *ret)
{
    int r = 0;
    if (set->next_ms <= now_ms)
        tick(set, now_ms);
    end_expired(d, set, now_ms);
    for (size_t i = 0; i < set->n_channels && r == 0; i++) {
        struct dispatch_channel *c = &set->channels[i];
        if (c->state == CHANNEL_WAITING && c->due_ms <= now_ms)
            r = dispatch_message_make(d, set, i, s, now_ms, a, ret);
    }
    if (r < 0)
        dispatch_board_move(d->board, set);
    else
        dispatch_board_settle(d, set, now_ms);
    return r;
}

int dispatch_next(struct dispatch *d, const struct silences *s, int64_t now_ms, struct arena *a,
                  struct dispatch_due *ret)
{
    int r = 0;
    dispatch_clock(d, now_ms);
    drop_quiet(d, now_ms);
    dispatch_entry_sweep(d, now_ms);
    while (r == 0 && dispatch_next_ms(d) <= now_ms)
        r = look_at(d, d->board->heap[0], s, now_ms, a, ret);
    return r;
}

static struct dispatch_out *out_find(const struct dispatch *d, uint64_t token)
{
    struct alert_map_node *node = alert_map_first(&d->outs, token);
    return node ? ALERT_MAP_ENTRY(node, struct dispatch_out, node) : NULL;
}

void dispatch_told(struct dispatch *d, uint64_t token, int64_t now_ms)
{
    struct dispatch_out *out = out_find(d, token);
    if (!out)
        return;
    struct dispatch_set *set = out->set;
    out->entry->log.told_ms = now_ms;
    dispatch_entry_put(d, out->entry);
    out->entry = NULL;
    if (set) {
        struct dispatch_channel *c = &set->channels[out->channel];
        c->state = c->is_again ? CHANNEL_WAITING : CHANNEL_QUIET;
        c->is_again = false;
        c->due_ms = now_ms;
        c->settled = out->version;
    }
    dispatch_out_free(d, out);
    if (set)
        dispatch_board_settle(d, set, now_ms);
}

void dispatch_failed(struct dispatch *d, uint64_t token, int64_t retry_ms)
{
    struct dispatch_out *out = out_find(d, token);
    if (!out)
        return;
    struct dispatch_set *set = out->set;
    if (set) {
        struct dispatch_channel *c = &set->channels[out->channel];
        c->state = CHANNEL_WAITING;
        c->is_again = false;
        c->due_ms = retry_ms;
    }
    dispatch_out_free(d, out);
    if (set)
        dispatch_board_move(d->board, set);
}

/* --- life --- */

int dispatch_set_url(struct dispatch *d, struct span external_url)
{
    char *url = mem_strndup(external_url.p, external_url.n);
    if (!url)
        return -ENOMEM;
    mem_free(d->url);
    d->url = url;
    d->external_url = span_of(url, external_url.n);
    return 0;
}

int dispatch_new(struct alert_file *file, struct span external_url, struct dispatch **ret)
{
    struct dispatch *d = mem_zalloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    list_init(&d->quiet);
    list_init(&d->changed);
    alert_map_init(&d->items);
    alert_map_init(&d->entries);
    alert_map_init(&d->outs);
    int r = dispatch_set_url(d, external_url);
    if (r == 0)
        r = dispatch_board_new(file, &d->board);
    if (r < 0) {
        mem_free(d->url);
        mem_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

static int free_item(void *ctx, struct alert_map_node *node)
{
    struct dispatch_item *item = ALERT_MAP_ENTRY(node, struct dispatch_item, node);
    (void)ctx;
    mem_free(item->place);
    item_free(item);
    return 0;
}

static int free_out(void *ctx, struct alert_map_node *node)
{
    dispatch_out_free(ctx, ALERT_MAP_ENTRY(node, struct dispatch_out, node));
    return 0;
}

struct dispatch *dispatch_free(struct dispatch *d)
{
    if (!d)
        return NULL;
    dispatch_board_free(d->board);
    (void)alert_map_each(&d->items, free_item, NULL); /* never end early */
    (void)alert_map_each(&d->outs, free_out, d);
    dispatch_entry_free_all(d);
    alert_map_done(&d->items);
    alert_map_done(&d->outs);
    mem_free(d->url);
    mem_free(d);
    return NULL;
}
