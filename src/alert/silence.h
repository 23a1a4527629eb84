/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence.h - silences: what is not told, from when to when, by whom, and why.
 *
 * Shape:     as Alertmanager's API v2 has them: id (UUID), matchers (at least one that does not
 *            match the empty text), startsAt, endsAt, createdBy, comment; state expired, active,
 *            pending. A change of what has begun makes a new one and ends the old one. Expired
 *            ones are kept 5 days.
 * Errors:    -EINVAL with a text and a hint; -ENOENT; -ENOSPC: more than SILENCES_MAX.
 * Threading: one owner.
 */
#ifndef ALERT_SILENCE_H
#define ALERT_SILENCE_H

#include "base/err.h"
#include "base/jsonw.h"
#include "series/matcher.h"

enum { SILENCES_MAX = 10000 };

struct silence {
    char id[37];
    const struct matcher *matchers;
    size_t n_matchers;
    int64_t starts_ms, ends_ms, updated_ms;
    struct span created_by, comment;
};

enum silence_state { SILENCE_EXPIRED, SILENCE_ACTIVE, SILENCE_PENDING };
enum silence_state silence_state(const struct silence *one, int64_t now_ms);

struct silences;
int silences_new(struct silences **ret) WARN_UNUSED;
struct silences *silences_free(struct silences *s);

/* JSON as of POST /api/v2/silences; *ret is the one that counts now, valid until the next call. */
int silences_set(struct silences *s, struct span json, int64_t now_ms, const struct silence **ret,
                 struct err *reterr) WARN_UNUSED;
int silences_expire(struct silences *s, struct span id, int64_t now_ms) WARN_UNUSED;
/* From the last run; one that is there already stays. */
int silences_restore(struct silences *s, const struct silence *one) WARN_UNUSED;
/* Forgets those that ended 5 days ago; calls gone for each. */
void silences_clean(struct silences *s, int64_t now_ms, void (*gone)(void *ctx, const char *id),
                    void *ctx);

/*
 * What is known of one set of labels: which silences match it. Zeroed at first, and for one keeper
 * of silences. Whoever sees the clock step back ends it, and begins anew.
 */
struct silence_memo {
    uint64_t seen;      /* silences up to this number were looked at */
    uint64_t *matching; /* of those that match and have not expired, hashes of their ids */
    size_t n, cap;
};
void silence_memo_done(struct silence_memo *memo); /* as zeroed */

/* The id of an active one that these labels match, or NULL. Cheap with many silences: at first they
 * are found by a value that they ask for; later only those are looked at that are new. */
const char *silence_match(const struct silences *s, struct silence_memo *memo, struct labels l,
                          int64_t now_ms);
/* NULL: none with that id. */
const struct silence *silences_get(const struct silences *s, struct span id);
size_t silences_n(const struct silences *s);
const struct silence *silences_at(const struct silences *s, size_t i);
void silence_write(const struct silence *one, int64_t now_ms, struct jsonw *w);

#endif
