/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/histrec.h - native histograms of a series as few bytes: the layout once, then differences.
 *
 * Role:      inner coding of chunks and of the journal.
 * Memory:    one histogram's buckets per struct histrec.
 * Errors:    -ENOMEM; histrec_get: -EBADMSG for bytes that no histrec_put wrote.
 * Threading: one owner.
 */
#ifndef TSDB_HISTREC_H
#define TSDB_HISTREC_H

#include "series/fhist.h"
#include "tsdb/tscolumn.h"

/* The histogram before. Zeroed: none. */
struct histrec {
    struct fhist h; /* arrays are owned, hint and sum of no meaning while writing */
    struct tscolumn sum;
    bool is_whole; /* all counts are whole numbers */
    bool has_layout;
};

void histrec_done(struct histrec *r);

/* Appends h to out; after an error both are as before. */
int histrec_put(struct histrec *r, struct bytes *out, const struct fhist *h) WARN_UNUSED;
/* r->h is then the histogram, until the next call. */
int histrec_get(struct histrec *r, struct varint_in *in) WARN_UNUSED;

#endif
