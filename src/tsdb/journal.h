/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/journal.h - everything appended between two commits as one row of bytes.
 *
 * Role:      what makes a commit durable before its samples are in chunks; read when the program
 *            starts.
 * Shape:     a record per sample: id and time as differences to the record before, then the value
 *            on its own, so that a row can be read without knowing anything else.
 * Errors:    -ENOMEM, the journal is as before then; reading: -EBADMSG.
 * Threading: one owner; pure.
 */
#ifndef TSDB_JOURNAL_H
#define TSDB_JOURNAL_H

#include "tsdb/histrec.h"

struct journal {
    struct bytes out;
    uint64_t n; /* samples */
    uint32_t last_id;
    int64_t last_t;
    struct histrec hist;
};

void journal_clear(struct journal *j); /* memory is kept */
void journal_done(struct journal *j);
/* hist NULL: the float v. */
int journal_add(struct journal *j, uint32_t id, int64_t t_ms, double v,
                const struct fhist *hist) WARN_UNUSED;

/* Calls visit for each sample of a row; hist is valid during the call. What visit returns < 0 ends
 * it. */
int journal_replay(struct span row,
                   int (*visit)(void *ctx, uint32_t id, int64_t t_ms, double v,
                                const struct fhist *hist),
                   void *ctx) WARN_UNUSED;

#endif
