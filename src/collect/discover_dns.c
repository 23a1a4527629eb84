/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/discover_dns.c - targets in DNS.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "collect/discover_private.h"
#include "collect/dns.h"

enum { TEXT_MAX = 1100 }; /* a name in DNS has no more than 255 bytes, escaped 1,020 */

/* A text in a. */
static int put(struct arena *a, struct span *ret, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int put(struct arena *a, struct span *ret, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    *ret = arena_dup(a, span_cstr(text));
    return ret->p ? 0 : -ENOMEM;
}

static int take_record(struct arena *a, const struct scrape_dns *dns, struct span name,
                       const struct dns_record *rec, struct discovered *ret)
{
    bool is_srv = dns->type == SCRAPE_DNS_SRV, is_v6 = dns->type == SCRAPE_DNS_AAAA;
    unsigned port = is_srv ? rec->port : dns->port;
    struct label pairs[] = {
        {SPAN("__meta_dns_name"), name},
        {SPAN("__meta_dns_srv_record_target"), SPAN("")},
        {SPAN("__meta_dns_srv_record_port"), SPAN("")},
        {SPAN("__meta_dns_mx_record_target"), SPAN("")},
    };
    int r = put(a, &ret->address, is_v6 ? "[%.*s]:%u" : "%.*s:%u", SPAN_ARG(rec->target), port);

    ret->group = (struct labels){NULL, 0};
    if (r == 0 && is_srv)
        r = put(a, &pairs[1].value, "%.*s.", SPAN_ARG(rec->target));
    if (r == 0 && is_srv)
        r = put(a, &pairs[2].value, "%u", port);
    if (r == 0 && dns->type == SCRAPE_DNS_MX)
        r = put(a, &pairs[3].value, "%.*s.", SPAN_ARG(rec->target));
    return r == 0 ? discover_labels(a, pairs, ARRAY_LEN(pairs), &ret->meta) : r;
}

static int take_records(struct discover *d, struct discover_part *p,
                        const struct dns_record *records, size_t n)
{
    struct discovered *at;
    struct arena a;
    int r = 0;

    arena_init(&a, NULL);
    at = arena_array(&a, n, sizeof(*at));
    if (!at)
        r = -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++)
        r = take_record(&a, d->dns, p->name, &records[i], &at[i]);
    if (r < 0) {
        arena_done(&a);
        return r;
    }
    arena_done(&p->arena);
    p->arena = a;
    p->at = at;
    p->n = n;
    return 0;
}

static int look_up(struct discover *d, struct span name)
{
    struct discover_part *p = discover_part_of(d, name);
    struct dns_record *records = NULL;
    struct err err = {.text = ""};
    struct arena scratch;
    size_t n = 0;

    if (!p)
        return -ENOMEM;
    arena_init(&scratch, NULL);
    int r = dns_lookup(name, d->dns->type, d->has_server ? &d->server : NULL, &scratch, &records,
                       &n, &err);
    if (r == 0)
        r = take_records(d, p, records, n);
    arena_done(&scratch);
    if (r == -EAGAIN) {
        discover_say(d, "%s; its targets are as they were", err.text);
        r = 0;
    }
    return r;
}

int discover_dns_look(struct discover *d)
{
    int r = 0;

    for (size_t i = 0; i < d->dns->n && r == 0; i++)
        r = look_up(d, d->dns->names[i]);
    return r;
}
