/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/inhibit.c - sources of each inhibition by their equal labels. Those that could be its
 * targets, too, are apart: they inhibit no alert of their own kind, however many they are. Those
 * that fire are in front, so that a look-up does not pass by the others.
 */
#include "alert/inhibit.h"

#include <errno.h>

#include "alert/fingerprint.h"
#include "alert/map.h"
#include "base/list.h"
#include "base/mem.h"

/* Sources of one inhibition that have the same equal labels. */
struct bucket {
    struct alert_map_node node;
    struct list plain, targets_too;
};

/* A source of one inhibition. */
struct inhibit_link {
    struct list node;
    struct list *list; /* of the bucket's two */
    struct bucket *bucket;
    struct inhibit_source *source;
    struct inhibit_link *next; /* of the same source */
    size_t rule;
};

struct inhibit {
    const struct alert_file *file;
    struct alert_map buckets[]; /* of each inhibition */
};

int inhibit_new(const struct alert_file *f, struct inhibit **ret)
{
    struct inhibit *ih = mem_zalloc(1, sizeof(*ih) + f->n_inhibitions * sizeof(struct alert_map));
    if (!ih)
        return -ENOMEM;
    ih->file = f;
    for (size_t i = 0; i < f->n_inhibitions; i++)
        alert_map_init(&ih->buckets[i]);
    *ret = ih;
    return 0;
}

static struct inhibit_link *link_of(struct list *node)
{
    return CONTAINER_OF(node, struct inhibit_link, node);
}

static void free_links(struct list *links)
{
    while (!list_is_empty(links)) {
        struct inhibit_link *link = link_of(links->next);
        link->source->_links = NULL;
        list_remove(&link->node);
        mem_free(link);
    }
}

static int free_bucket(void *ctx, struct alert_map_node *node)
{
    struct bucket *b = ALERT_MAP_ENTRY(node, struct bucket, node);
    (void)ctx;
    free_links(&b->plain);
    free_links(&b->targets_too);
    mem_free(b);
    return 0;
}

struct inhibit *inhibit_free(struct inhibit *ih)
{
    if (!ih)
        return NULL;
    for (size_t i = 0; i < ih->file->n_inhibitions; i++) {
        (void)alert_map_each(&ih->buckets[i], free_bucket, NULL); /* never ends early */
        alert_map_done(&ih->buckets[i]);
    }
    mem_free(ih);
    return NULL;
}

/* Empty ones go. */
static void put_bucket(struct inhibit *ih, size_t rule, struct bucket *b)
{
    if (!list_is_empty(&b->plain) || !list_is_empty(&b->targets_too))
        return;
    alert_map_remove(&ih->buckets[rule], &b->node);
    mem_free(b);
}

void inhibit_remove(struct inhibit *ih, struct inhibit_source *s)
{
    struct inhibit_link *next, *link = s->_links;
    for (; link; link = next) {
        next = link->next;
        list_remove(&link->node);
        put_bucket(ih, link->rule, link->bucket);
        mem_free(link);
    }
    s->_links = NULL;
}

static uint64_t equal_hash(const struct alert_inhibition *r, struct labels l)
{
    return alert_fingerprint_of(l, r->equal, r->n_equal);
}

static bool is_equal(const struct alert_inhibition *r, struct labels a, struct labels b)
{
    for (size_t i = 0; i < r->n_equal; i++) {
        if (!span_eq(labels_get(a, r->equal[i]), labels_get(b, r->equal[i])))
            return false;
    }
    return true;
}

/* Any of those in it: they are never both empty. */
static struct labels labels_of(const struct bucket *b)
{
    return link_of(list_is_empty(&b->plain) ? b->targets_too.next : b->plain.next)->source->labels;
}

static struct bucket *find_bucket(const struct inhibit *ih, size_t rule, struct labels l)
{
    const struct alert_inhibition *r = &ih->file->inhibitions[rule];
    struct alert_map_node *node = alert_map_first(&ih->buckets[rule], equal_hash(r, l));
    for (; node; node = alert_map_next(node)) {
        struct bucket *b = ALERT_MAP_ENTRY(node, struct bucket, node);
        if (is_equal(r, labels_of(b), l))
            return b;
    }
    return NULL;
}

static struct bucket *get_bucket(struct inhibit *ih, size_t rule, struct labels l)
{
    struct bucket *b = find_bucket(ih, rule, l);
    if (b || !(b = mem_zalloc(1, sizeof(*b))))
        return b;
    list_init(&b->plain);
    list_init(&b->targets_too);
    alert_map_add(&ih->buckets[rule], &b->node, equal_hash(&ih->file->inhibitions[rule], l));
    return b;
}

static int add_link(struct inhibit *ih, size_t rule, struct inhibit_source *s)
{
    const struct alert_inhibition *r = &ih->file->inhibitions[rule];
    struct inhibit_link *link = mem_zalloc(1, sizeof(*link));
    struct bucket *b = link ? get_bucket(ih, rule, s->labels) : NULL;
    if (!b) {
        mem_free(link);
        return -ENOMEM;
    }
    bool is_target = matcher_matches_all(r->target, r->n_target, s->labels);
    *link = (struct inhibit_link){.list = is_target ? &b->targets_too : &b->plain,
                                  .bucket = b,
                                  .source = s,
                                  .next = s->_links,
                                  .rule = rule};
    s->_links = link;
    list_push_back(link->list, &link->node);
    return 0;
}

int inhibit_add(struct inhibit *ih, struct inhibit_source *s)
{
    int r = 0;
    s->_links = NULL;
    for (size_t i = 0; i < ih->file->n_inhibitions && r == 0; i++) {
        const struct alert_inhibition *rule = &ih->file->inhibitions[i];
        if (matcher_matches_all(rule->source, rule->n_source, s->labels))
            r = add_link(ih, i, s);
    }
    if (r < 0)
        inhibit_remove(ih, s);
    else
        inhibit_set(s, s->until_ms);
    return r;
}

void inhibit_set(struct inhibit_source *s, int64_t until_ms)
{
    s->until_ms = until_ms;
    for (struct inhibit_link *link = s->_links; link; link = link->next) {
        list_remove(&link->node);
        if (until_ms == INT64_MIN)
            list_push_back(link->list, &link->node);
        else
            list_push_front(link->list, &link->node);
    }
}

static const struct inhibit_source *first_firing(const struct list *links, int64_t now_ms)
{
    for (struct list *i = links->next; i != links; i = i->next) {
        const struct inhibit_source *s = link_of(i)->source;
        if (s->until_ms == INT64_MIN)
            return NULL; /* nor do those behind it */
        if (s->until_ms > now_ms)
            return s;
    }
    return NULL;
}

static const struct inhibit_source *find_in(const struct inhibit *ih, size_t rule, struct labels l,
                                            int64_t now_ms)
{
    const struct alert_inhibition *r = &ih->file->inhibitions[rule];
    if (ih->buckets[rule].n == 0 || !matcher_matches_all(r->target, r->n_target, l))
        return NULL;
    const struct bucket *b = find_bucket(ih, rule, l);
    const struct inhibit_source *s = b ? first_firing(&b->plain, now_ms) : NULL;
    if (s || !b || matcher_matches_all(r->source, r->n_source, l))
        return s; /* both of one kind do not inhibit each other */
    return first_firing(&b->targets_too, now_ms);
}

const struct inhibit_source *inhibit_find(const struct inhibit *ih, struct labels l, int64_t now_ms)
{
    for (size_t i = 0; i < ih->file->n_inhibitions; i++) {
        const struct inhibit_source *s = find_in(ih, i, l, now_ms);
        if (s)
            return s;
    }
    return NULL;
}
