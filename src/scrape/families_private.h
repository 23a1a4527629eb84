/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/families_private.h - a page on its way to families. Private to families*.c.
 *
 * Everything is found by sorting: a page that is made to collide costs no more than another one.
 */
#ifndef SCRAPE_FAMILIES_PRIVATE_H
#define SCRAPE_FAMILIES_PRIVATE_H

#include "scrape/families.h"

/* What comments say of one name. */
struct families_decl {
    struct span name;   /* as declared */
    struct span family; /* what its family is called */
    enum metric_type type;
    bool has_type;
    struct span help, unit;
    size_t line; /* of the first of them */
};

struct families_ref {
    struct span family;
    enum metric_type type; /* where nothing is declared */
    struct family_sample sample;
};

struct families_reading {
    struct families *out;
    const char *where;
    enum text_format format;
    struct arena scratch;
    struct families_decl *decls; /* as they came; sorted and joined later */
    size_t n_decls, decls_cap;
    struct families_ref *refs;
    size_t n_refs, refs_cap;
};

/* A mistake (or advice) at a line; to be filled. */
struct err *families_advise(struct families_reading *r, size_t line);

/* Sorts declarations and joins those of one name; families' names of samples are found with it. */
int families_declare(struct families_reading *r) WARN_UNUSED;
/* Which family a sample is of. */
void families_assign(const struct families_reading *r, struct families_ref *ref);
/* Histograms of a family, whose samples are there. */
int families_hists(struct families_reading *r, struct page_family *family) WARN_UNUSED;

#endif
