/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/discover_private.h - between discover.c and the two kinds.
 *
 * A discovery has parts (a file, a name), each with what it said last.
 */
#ifndef COLLECT_DISCOVER_PRIVATE_H
#define COLLECT_DISCOVER_PRIVATE_H

#include "base/buf.h"
#include "collect/discover.h"

struct discover_part {
    struct discover_part *next;
    struct span name; /* path, or name in DNS */
    struct arena arena;
    const struct discovered *at;
    size_t n;
    struct buf text; /* of a file: what it said */
    bool is_kept;    /* in the look that goes on */
};
struct discover {
    const struct scrape_files *files; /* one of the two */
    const struct scrape_dns *dns;
    struct discover_part *parts;
    struct finding *last;
    bool has_server;
    struct sockaddr_in server;
    char words[300];
};

/* Of that name, new or not, which is kept. NULL: -ENOMEM. */
struct discover_part *discover_part_of(struct discover *d, struct span name);
/* The first mistake of a look is told. */
void discover_say(struct discover *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A label set of these pairs in a; values are copied, empty ones left out. */
int discover_labels(struct arena *a, struct label *pairs, size_t n, struct labels *ret) WARN_UNUSED;

/* Look at all parts: -ENOMEM, or 0 with mistakes told. */
int discover_files_look(struct discover *d) WARN_UNUSED;
int discover_dns_look(struct discover *d) WARN_UNUSED;

#endif
