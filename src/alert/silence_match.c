/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence_match.c - whether an alert is silenced. Silences that ask for a value are found by
 * it; the others are looked at one by one. What that found is remembered with the alert, so that a
 * look at all alerts does not cost silences times alerts.
 */
#include "alert/fingerprint.h"
#include "alert/silence_impl.h"
#include "base/mem.h"

uint64_t silence_hash(struct span a, struct span b)
{
    return alert_fingerprint_add(alert_fingerprint_add(ALERT_FINGERPRINT_NONE, a), b);
}

void silence_memo_done(struct silence_memo *memo)
{
    mem_free(memo->matching);
    *memo = (struct silence_memo){.n = 0};
}

static bool remember(struct silence_memo *memo, const struct silence_entry *e)
{
    for (size_t i = 0; i < memo->n; i++) {
        if (memo->matching[i] == e->by_id.hash)
            return true; /* it was changed */
    }
    if (memo->n == memo->cap) {
        size_t cap = memo->cap ? 2 * memo->cap : 4;
        uint64_t *matching = mem_realloc(memo->matching, cap * sizeof(*matching));
        if (!matching)
            return false;
        memo->matching = matching;
        memo->cap = cap;
    }
    memo->matching[memo->n++] = e->by_id.hash;
    return true;
}

static bool is_match(const struct silence_entry *e, struct labels l)
{
    return matcher_matches_all(e->s.matchers, e->s.n_matchers, l);
}

/* An active one of those that are remembered. */
static const char *match_known(const struct silences *s, struct silence_memo *memo, struct labels l,
                               int64_t now_ms)
{
    for (size_t i = memo->n; i-- > 0;) {
        struct alert_map_node *node = alert_map_first(&s->by_id, memo->matching[i]);
        const struct silence_entry *e =
            node ? ALERT_MAP_ENTRY(node, struct silence_entry, by_id) : NULL;
        enum silence_state state = e ? silence_state(&e->s, now_ms) : SILENCE_EXPIRED;
        if (state == SILENCE_EXPIRED)
            memo->matching[i] = memo->matching[--memo->n];
        else if (state == SILENCE_ACTIVE && is_match(e, l)) /* another id may have that hash */
            return e->s.id;
    }
    return NULL;
}

struct look {
    struct silence_memo *memo;
    struct labels l;
    int64_t now_ms;
    const char *id;
    bool is_forgotten; /* there was no memory for one */
};

static void look_at(struct look *k, const struct silence_entry *e)
{
    enum silence_state state = silence_state(&e->s, k->now_ms);
    if (e->number <= k->memo->seen || state == SILENCE_EXPIRED || !is_match(e, k->l))
        return;
    if (state == SILENCE_ACTIVE)
        k->id = e->s.id;
    if (!remember(k->memo, e))
        k->is_forgotten = true;
}

/* Those that ask for this value; hashes of others may be the same. */
static void look_at_value(struct look *k, const struct silences *s, const struct label *pair)
{
    struct alert_map_node *node =
        alert_map_first(&s->by_value, silence_hash(pair->name, pair->value));
    for (; node; node = alert_map_next(node)) {
        const struct silence_entry *e = ALERT_MAP_ENTRY(node, struct silence_entry, by_value);
        if (span_eq(e->asks_for->name, pair->name))
            look_at(k, e);
    }
}

/* An active one of those that came or were changed since the last look. */
static const char *match_new(const struct silences *s, struct silence_memo *memo, struct labels l,
                             int64_t now_ms)
{
    struct look k = {.memo = memo, .l = l, .now_ms = now_ms};
    size_t n_known = memo->n;
    for (size_t i = 0; i < l.n && s->by_value.n > 0; i++)
        look_at_value(&k, s, &l.at[i]);
    for (struct list *at = s->loose.prev; at != &s->loose; at = at->prev) {
        const struct silence_entry *e = CONTAINER_OF(at, struct silence_entry, loose);
        if (e->number <= memo->seen)
            break;
        look_at(&k, e);
    }
    if (k.is_forgotten)
        memo->n = n_known; /* the next look begins where this one did */
    else
        memo->seen = s->number;
    return k.id;
}

const char *silence_match(const struct silences *s, struct silence_memo *memo, struct labels l,
                          int64_t now_ms)
{
    const char *id = match_known(s, memo, l, now_ms);
    return id || memo->seen == s->number ? id : match_new(s, memo, l, now_ms);
}
