/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/metricpage_series.c - series of a page by their bytes, and names of samples.
 */
#include <errno.h>

#include "base/mem.h"
#include "collect/metricpage_private.h"

enum { BUCKETS_MIN = 64, REFUSED_MAX = 1000 };

static uint64_t hash_of(struct span s)
{
    uint64_t h = s.n * UINT64_C(0x9e3779b97f4a7c15), word;

    while (s.n >= sizeof(word)) {
        memcpy(&word, span_take(&s, sizeof(word)).p, sizeof(word));
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    word = 0;
    if (s.n > 0)
        memcpy(&word, s.p, s.n);
    h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ (h >> 32);
}

/* --- names --- */

static struct metricpage_name *find_name(const struct metricpage_table *t, struct span name,
                                         uint64_t hash)
{
    struct metricpage_name *n =
        t->n_name_buckets > 0 ? t->names[hash & (t->n_name_buckets - 1)] : NULL;

    while (n && (n->hash != hash || !span_eq(n->name, name)))
        n = n->next;
    return n;
}

static int grow_names(struct metricpage_table *t)
{
    size_t n = t->n_name_buckets > 0 ? 2 * t->n_name_buckets : BUCKETS_MIN;
    struct metricpage_name **buckets = mem_zalloc(n, sizeof(struct metricpage_name *));

    if (!buckets)
        return -ENOMEM;
    for (size_t i = 0; i < t->n_name_buckets; i++)
        while (t->names[i]) {
            struct metricpage_name *one = t->names[i];
            t->names[i] = one->next;
            one->next = buckets[one->hash & (n - 1)];
            buckets[one->hash & (n - 1)] = one;
        }
    mem_free(t->names);
    t->names = buckets;
    t->n_name_buckets = n;
    return 0;
}

static int name_of(struct metricpage_table *t, struct span name, struct metricpage_name **ret)
{
    uint64_t hash = hash_of(name);
    struct metricpage_name *n = find_name(t, name, hash);

    if (!n) {
        if (t->n_names >= t->n_name_buckets && grow_names(t) < 0)
            return -ENOMEM;
        n = mem_alloc(sizeof(*n) + name.n);
        if (!n)
            return -ENOMEM;
        *n = (struct metricpage_name){.hash = hash, .name = span_of(n->text, name.n)};
        memcpy(n->text, name.p, name.n);
        n->next = t->names[hash & (t->n_name_buckets - 1)];
        t->names[hash & (t->n_name_buckets - 1)] = n;
        t->n_names++;
    }
    *ret = n;
    return 0;
}

/* --- entries --- */

struct metricpage_entry *metricpage_table_find(const struct metricpage_table *t, struct span bytes)
{
    uint64_t hash = hash_of(bytes);
    struct metricpage_entry *e =
        t->n_entry_buckets > 0 ? t->entries[hash & (t->n_entry_buckets - 1)] : NULL;

    while (e && (e->hash != hash || !span_eq(e->bytes, bytes)))
        e = e->next;
    return e;
}

static int grow_entries(struct metricpage_table *t)
{
    size_t n = t->n_entry_buckets > 0 ? 2 * t->n_entry_buckets : BUCKETS_MIN;
    struct metricpage_entry **buckets = mem_zalloc(n, sizeof(struct metricpage_entry *));

    if (!buckets)
        return -ENOMEM;
    for (size_t i = 0; i < t->n_entry_buckets; i++)
        while (t->entries[i]) {
            struct metricpage_entry *one = t->entries[i];
            t->entries[i] = one->next;
            one->next = buckets[one->hash & (n - 1)];
            buckets[one->hash & (n - 1)] = one;
        }
    mem_free(t->entries);
    t->entries = buckets;
    t->n_entry_buckets = n;
    return 0;
}

static void entry_free(struct metricpage_entry *e)
{
    present_let_go(e->series);
    if (e->name)
        e->name->n_entries--;
    mem_free(e);
}

static int over_limit(struct metricpage *p, const char *what, size_t is, uint64_t limit)
{
    return metricpage_refuse(p, -E2BIG, "%s: %zu, the job's limit is %llu", what, is,
                             (unsigned long long)limit);
}

static int check_limits(struct metricpage *p, struct labels l)
{
    const struct scrape_limits *max = &p->job->limits;

    if (max->labels > 0 && l.n > max->labels)
        return over_limit(p, "labels of a series", l.n, max->labels);
    for (size_t i = 0; i < l.n; i++) {
        if (max->name_bytes > 0 && l.at[i].name.n > max->name_bytes)
            return over_limit(p, "bytes of a label's name", l.at[i].name.n, max->name_bytes);
        if (max->value_bytes > 0 && l.at[i].value.n > max->value_bytes)
            return over_limit(p, "bytes of a label's value", l.at[i].value.n, max->value_bytes);
    }
    return 0;
}

/* Labels behind relabelling. 1: it stays; 0: it is dropped. */
static int relabel(struct metricpage *p, struct labels own, struct span written, struct labels *ret)
{
    struct labels l;
    int r = metricpage_labels_written(p->job, p->labels, own, written, &p->scratch, &l);

    if (r == 0)
        r = relabel_apply(p->job->metric_relabel, l, &p->scratch, ret);
    if (r == -E2BIG)
        return metricpage_refuse(p, r, "a label is too long for metric_relabel_configs");
    if (r <= 0 || ret->n == 0)
        return r < 0 ? r : 0;
    if (!labels_is_metric_name(labels_name(*ret)))
        return metricpage_refuse(p, -EINVAL,
                                 "metric_relabel_configs leave a series without a name");
    r = check_limits(p, *ret);
    return r < 0 ? r : 1;
}

static int fill(struct metricpage *p, struct metricpage_entry *e)
{
    struct labels own, labels = {NULL, 0};
    int r = text_labels(e->bytes, &p->scratch, &own, &e->mistake);

    if (r < 0)
        return r == -EINVAL ? 0 : r;
    r = name_of(&p->table, labels_name(own), &e->name);
    if (r < 0)
        return r;
    e->name->n_entries++;
    r = relabel(p, own, e->bytes, &labels);
    if (r > 0)
        r = present_hold(&p->live, labels, &e->series);
    return r;
}

int metricpage_entry_new(struct metricpage *p, const struct text_item *item,
                         struct metricpage_entry **ret)
{
    struct metricpage_table *t = &p->table;

    if (t->n_entries >= t->n_entry_buckets && grow_entries(t) < 0)
        return -ENOMEM;
    struct metricpage_entry *e = mem_alloc(sizeof(*e) + item->series.n);
    if (!e)
        return -ENOMEM;
    *e = (struct metricpage_entry){.hash = hash_of(item->series)};
    e->bytes = span_of(e->text, item->series.n);
    memcpy(e->text, item->series.p, item->series.n);
    int r = fill(p, e);
    if (r < 0) {
        entry_free(e);
        return r;
    }
    e->next = t->entries[e->hash & (t->n_entry_buckets - 1)];
    t->entries[e->hash & (t->n_entry_buckets - 1)] = e;
    t->n_entries++;
    *ret = e;
    return 0;
}

/* --- all of them --- */

static uint64_t last_seen(const struct metricpage_entry *e)
{
    return e->round > e->kept ? e->round : e->kept;
}

/* Those without a series, but those of the last page that was kept: when they go, that counts. */
static void forget_names(struct metricpage_table *t)
{
    for (size_t i = 0; i < t->n_name_buckets; i++)
        for (struct metricpage_name **at = &t->names[i]; *at;) {
            struct metricpage_name *n = *at;
            if (n->n_entries > 0 || n->n_kept > 0) {
                at = &n->next;
                continue;
            }
            *at = n->next;
            mem_free(n);
            t->n_names--;
        }
}

/* Series that no page had since that round; first out of the order of lines, then for good. */
static void forget(struct metricpage_table *t, uint64_t round)
{
    for (size_t i = 0; i < t->n_entry_buckets; i++)
        for (struct metricpage_entry *e = t->entries[i]; e; e = e->next)
            if (e->follower && last_seen(e->follower) < round)
                e->follower = NULL;
    for (size_t i = 0; i < t->n_entry_buckets; i++)
        for (struct metricpage_entry **at = &t->entries[i]; *at;) {
            struct metricpage_entry *e = *at;
            if (last_seen(e) >= round) {
                at = &e->next;
                continue;
            }
            *at = e->next;
            entry_free(e);
            t->n_entries--;
        }
    forget_names(t);
}

void metricpage_table_keep(struct metricpage_table *t, uint64_t round)
{
    for (size_t i = 0; i < t->n_name_buckets; i++)
        for (struct metricpage_name *n = t->names[i]; n; n = n->next) {
            n->n_kept = n->round == round ? n->n : 0;
            n->has_new = false;
        }
    if (round % PAGE_FORGET == 0)
        forget(t, round - PAGE_FORGET + 1);
    t->n_kept = t->n_entries;
}

/* As Prometheus does it. */
void metricpage_table_refuse(struct metricpage_table *t, uint64_t round)
{
    if (t->n_entries > 2 * t->n_kept + REFUSED_MAX)
        forget(t, round);
}

void metricpage_table_use(struct metricpage_table *t, const struct families_selection *f)
{
    for (size_t i = 0; i < t->n_name_buckets; i++)
        for (struct metricpage_name *n = t->names[i]; n; n = n->next)
            n->is_used = false;
    for (size_t i = 0; i < f->n_slots; i++) {
        struct span name = labels_name(f->slots[i].labels);
        struct metricpage_name *n = find_name(t, name, hash_of(name));
        if (n)
            n->is_used = true;
    }
}

void metricpage_table_clear(struct metricpage_table *t)
{
    for (size_t i = 0; i < t->n_name_buckets; i++)
        for (struct metricpage_name *n = t->names[i]; n; n = n->next)
            n->n_kept = 0;
    forget(t, UINT64_MAX);
    t->n_kept = 0;
}

void metricpage_table_done(struct metricpage_table *t)
{
    metricpage_table_clear(t);
    mem_free(t->entries);
    mem_free(t->names);
    *t = (struct metricpage_table){.entries = NULL};
}
