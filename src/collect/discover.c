/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/discover.c - parts put together as a finding.
 */
#include "collect/discover.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collect/discover_private.h"

/* --- findings --- */

struct finding_impl {
    struct finding pub; /* first */
    atomic_uint n_refs;
    struct arena arena;
};

struct finding *finding_ref(struct finding *f)
{
    (void)atomic_fetch_add(&((struct finding_impl *)f)->n_refs, 1);
    return f;
}

struct finding *finding_unref(struct finding *pub)
{
    struct finding_impl *f = (struct finding_impl *)pub;

    if (f && atomic_fetch_sub(&f->n_refs, 1) == 1) {
        arena_done(&f->arena);
        mem_free(f);
    }
    return NULL;
}

static int discovered_cmp(const void *a, const void *b)
{
    const struct discovered *x = a, *y = b;
    int c = span_cmp(x->address, y->address);

    if (c == 0)
        c = labels_cmp(x->group, y->group);
    return c != 0 ? c : labels_cmp(x->meta, y->meta);
}

static int copy_one(struct arena *a, const struct discovered *from, struct discovered *to)
{
    to->address = arena_dup(a, from->address);
    if (!to->address.p || labels_copy(a, from->group, &to->group) < 0)
        return -ENOMEM;
    return labels_copy(a, from->meta, &to->meta);
}

static int fill(struct discover *d, struct finding_impl *f, size_t n)
{
    struct discovered *at = arena_array(&f->arena, n, sizeof(*at));
    size_t n_copied = 0;

    if (!at)
        return -ENOMEM;
    for (const struct discover_part *p = d->parts; p; p = p->next)
        for (size_t i = 0; i < p->n && n_copied < n; i++)
            if (copy_one(&f->arena, &p->at[i], &at[n_copied++]) < 0)
                return -ENOMEM;
    if (n > 1)
        qsort(at, n, sizeof(*at), discovered_cmp);
    f->pub = (struct finding){at, n};
    return 0;
}

static int put_together(struct discover *d, struct finding **ret)
{
    struct finding_impl *f = mem_zalloc(1, sizeof(*f));
    size_t n = 0;

    if (!f)
        return -ENOMEM;
    atomic_init(&f->n_refs, 1);
    arena_init(&f->arena, NULL);
    for (const struct discover_part *p = d->parts; p; p = p->next)
        n += p->n;
    if (n > FINDING_TARGETS_MAX) {
        discover_say(d, "%zu targets: only the first %d are taken", n, FINDING_TARGETS_MAX);
        n = FINDING_TARGETS_MAX;
    }
    if (fill(d, f, n) < 0) {
        (void)finding_unref(&f->pub);
        return -ENOMEM;
    }
    *ret = &f->pub;
    return 0;
}

static bool is_same(const struct finding *a, const struct finding *b)
{
    if (!a || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (discovered_cmp(&a->at[i], &b->at[i]) != 0)
            return false;
    return true;
}

/* --- discoveries --- */

static int discover_new(const struct scrape_files *files, const struct scrape_dns *dns,
                        struct discover **ret)
{
    struct discover *d = mem_zalloc(1, sizeof(*d));

    if (!d)
        return -ENOMEM;
    d->files = files;
    d->dns = dns;
    *ret = d;
    return 0;
}

int discover_of_files(const struct scrape_files *files, struct discover **ret)
{
    return discover_new(files, NULL, ret);
}

int discover_of_dns(const struct scrape_dns *dns, struct discover **ret)
{
    return discover_new(NULL, dns, ret);
}

static void part_free(struct discover_part *p)
{
    arena_done(&p->arena);
    buf_done(&p->text);
    mem_free(p);
}

struct discover *discover_free(struct discover *d)
{
    if (!d)
        return NULL;
    while (d->parts) {
        struct discover_part *p = d->parts;
        d->parts = p->next;
        part_free(p);
    }
    d->last = finding_unref(d->last);
    mem_free(d);
    return NULL;
}

void discover_ask(struct discover *d, const struct sockaddr_in *server)
{
    d->has_server = server != NULL;
    if (server)
        d->server = *server;
}

int64_t discover_refresh_ms(const struct discover *d)
{
    return d->files ? d->files->refresh_ms : d->dns->refresh_ms;
}

const char *discover_words(const struct discover *d)
{
    return d->words;
}

void discover_say(struct discover *d, const char *fmt, ...)
{
    va_list ap;

    if (d->words[0])
        return;
    va_start(ap, fmt);
    (void)vsnprintf(d->words, sizeof(d->words), fmt, ap);
    va_end(ap);
}

struct discover_part *discover_part_of(struct discover *d, struct span name)
{
    struct discover_part *p = d->parts, **end = &d->parts;

    while (p && !span_eq(p->name, name))
        p = p->next;
    if (!p) {
        p = mem_zalloc(1, sizeof(*p) + name.n);
        if (!p)
            return NULL;
        memcpy(p + 1, name.p, name.n);
        p->name = span_of(p + 1, name.n);
        arena_init(&p->arena, NULL);
        buf_init(&p->text, SCRAPE_FILE_BYTES_MAX + 1);
        while (*end)
            end = &(*end)->next;
        *end = p;
    }
    p->is_kept = true;
    return p;
}

int discover_labels(struct arena *a, struct label *pairs, size_t n, struct labels *ret)
{
    struct labels l;
    int r = labels_normalise(pairs, n, &l, NULL);

    return r < 0 ? r : labels_copy(a, l, ret);
}

static void drop_others(struct discover *d)
{
    for (struct discover_part **at = &d->parts; *at;) {
        struct discover_part *p = *at;
        if (p->is_kept) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        part_free(p);
    }
}

int discover_look(struct discover *d, struct finding **ret)
{
    struct finding *f = NULL;

    d->words[0] = '\0';
    for (struct discover_part *p = d->parts; p; p = p->next)
        p->is_kept = false;
    int r = d->files ? discover_files_look(d) : discover_dns_look(d);
    if (r == 0) {
        drop_others(d);
        r = put_together(d, &f);
    }
    if (r < 0)
        return r;
    if (is_same(d->last, f)) {
        (void)finding_unref(f);
        return 0;
    }
    (void)finding_unref(d->last);
    d->last = finding_ref(f);
    *ret = f;
    return 1;
}
