/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_impl.h - between the parts of dispatch.
 *
 * Shape:     alerts are found by their labels. Each has a place on the board: membership in one
 *            group for each route that takes it, and in the inhibitions. A group has a channel
 *            for each integration of its receiver. The board (groups, inhibitions) belongs to a
 *            file and is made anew when that changes; alerts and the log stay.
 * Versions:  each change of an alert takes the next number. A channel has settled up to the
 *            number at which it was looked at when all that was to tell was told; a resolved
 *            alert leaves a group once all its channels have settled its last change.
 * Heap:      groups by when something is due; indexed, so that one group moves in O(log n).
 * Threading: one owner.
 */
#ifndef ALERT_DISPATCH_IMPL_H
#define ALERT_DISPATCH_IMPL_H

#include "alert/dispatch.h"
#include "alert/inhibit.h"
#include "alert/map.h"
#include "alert/route.h"
#include "base/list.h"

/* What may differ from one notice to the next, in one block of memory. */
struct dispatch_text {
    struct labels annotations;
    struct span generator_url;
};

struct dispatch_place {
    struct inhibit_source source;
    struct dispatch_member *members;
    size_t n_members, n_routes;
};

struct dispatch_item {
    struct alert_map_node node; /* by fingerprint */
    struct labels labels;
    uint64_t fingerprint, version;
    int64_t starts_ms, ends_ms, updated_ms;
    double value;
    bool is_resolved;
    struct dispatch_text *text;
    struct silence_memo silences;
    struct dispatch_place *place;   /* NULL: in no group: resolved, and that is told */
    struct dispatch_place *_placed; /* on the board that is being made */
    struct list quiet;              /* without a place: in dispatch.quiet, oldest first */
    int64_t quiet_ms;
};

struct dispatch_member {
    struct dispatch_item *item;
    struct dispatch_set *group;
    size_t at;                    /* in the group */
    struct dispatch_member *next; /* of the same alert */
};

enum channel_state { CHANNEL_QUIET, CHANNEL_WAITING, CHANNEL_OUT };
struct dispatch_channel {
    enum channel_state state;
    int64_t due_ms;   /* CHANNEL_WAITING */
    uint64_t token;   /* the same for all its messages */
    uint64_t settled; /* version */
    bool is_again;    /* its group became due while a message was out */
};

/* A group. */
struct dispatch_set {
    struct alert_map_node node; /* by dispatch_set_hash */
    size_t heap_at;
    int64_t due_ms; /* what the heap goes by */
    uint64_t order; /* of creation: who is first among those due at once */
    const struct alert_route *route;
    struct labels labels;
    struct span key;
    struct dispatch_member **members;
    size_t n_members, cap;
    int64_t next_ms; /* when its channels are looked at */
    char *texts;     /* of labels and key */
    size_t n_channels;
    struct dispatch_channel channels[];
};

struct dispatch_board {
    struct alert_file *file; /* referenced */
    struct inhibit *inhibit;
    struct alert_map sets;
    struct dispatch_set **heap;
    size_t n_heap, heap_cap;
};

/* What was told: a block with its texts and numbers. */
struct dispatch_entry {
    struct alert_map_node node; /* by group key, receiver, integration */
    struct dispatch_log log;
    struct list changed; /* in dispatch.changed, or by itself */
    uint64_t *firing;    /* the same as log.firing */
    bool is_gone;
};

/* A message that is on its way. */
struct dispatch_out {
    struct alert_map_node node; /* by token */
    struct alert_file *file;    /* referenced */
    struct dispatch_set *set;   /* NULL: it is gone */
    size_t channel;
    uint64_t version;
    struct dispatch_entry *entry; /* counts once it is told */
};

struct dispatch {
    struct dispatch_board *board;
    char *url;
    struct span external_url; /* the same */
    struct alert_map items, entries, outs;
    struct list quiet;
    struct list changed; /* entries that were not visited since */
    size_t n_placed;
    uint64_t version, token, order;
    int64_t seen_ms;  /* the latest time that was told us; 0: none yet */
    int64_t swept_ms; /* when old entries were looked for */
};

/* --- dispatch.c: copies in one block of memory --- */
size_t dispatch_labels_bytes(struct labels l); /* with their pairs */
struct span dispatch_put_span(char **at, struct span s);
/* Pairs at *pairs, their texts at *at. */
struct labels dispatch_put_labels(struct label *pairs, char **at, struct labels l);

/* --- dispatch_clock.c --- */
void dispatch_clock(struct dispatch *d, int64_t now_ms); /* before anything that goes by the time */

/* --- dispatch_heap.c --- */
void dispatch_heap_add(struct dispatch_board *b, struct dispatch_set *set); /* there is room */
int dispatch_heap_reserve(struct dispatch_board *b) WARN_UNUSED;            /* for one more */
void dispatch_heap_remove(struct dispatch_board *b, struct dispatch_set *set);
/* After a change of due_ms. */
void dispatch_heap_restore(struct dispatch_board *b, struct dispatch_set *set);

/* --- dispatch_board.c --- */
int dispatch_board_new(struct alert_file *file, struct dispatch_board **ret) WARN_UNUSED;
struct dispatch_board *dispatch_board_free(struct dispatch_board *b); /* not the places */

/* Puts an alert into the groups that it should be in and is not; *to may hold some already.
 * -ENOMEM: it is where it was. */
int dispatch_board_place(struct dispatch *d, struct dispatch_board *b, struct dispatch_item *item,
                         struct dispatch_place **to, int64_t now_ms) WARN_UNUSED;
void dispatch_board_unplace(struct dispatch_board *b, struct dispatch_place **place);
/* After a change of next_ms or of a channel. */
void dispatch_board_move(struct dispatch_board *b, struct dispatch_set *set);
/* After changes of many. */
void dispatch_board_reheap(struct dispatch_board *b);
/* Takes resolved alerts that all channels have settled out of a group; frees it with the last. */
void dispatch_board_settle(struct dispatch *d, struct dispatch_set *set, int64_t now_ms);

/* --- dispatch_log.c --- */
struct dispatch_entry *dispatch_entry_find(const struct dispatch *d, struct span group_key,
                                           struct span receiver, int integration);
/* A copy that counts from dispatch_entry_put on. */
int dispatch_entry_new(const struct dispatch_log *l, struct dispatch_entry **ret) WARN_UNUSED;
void dispatch_entry_put(struct dispatch *d, struct dispatch_entry *e);
/* It ended and nobody was told, on purpose: when it fires again, that is new. */
void dispatch_entry_forget(struct dispatch *d, struct dispatch_entry *e, uint64_t fingerprint);
/* It is not as it was visited last. */
void dispatch_entry_mark(struct dispatch *d, struct dispatch_entry *e);
void dispatch_entry_sweep(struct dispatch *d, int64_t now_ms);
void dispatch_entry_free_all(struct dispatch *d);

/* --- dispatch_message.c --- */
/* Looks at a channel: 1: a message in *ret; 0: nothing to tell; -ENOMEM: as before. */
int dispatch_message_make(struct dispatch *d, struct dispatch_set *set, size_t channel,
                          const struct silences *s, int64_t now_ms, struct arena *a,
                          struct dispatch_due *ret) WARN_UNUSED;
struct alert_view dispatch_message_view(const struct dispatch_item *item);
int dispatch_message_order(const struct alert_view *x, const struct alert_view *y);
void dispatch_out_free(struct dispatch *d, struct dispatch_out *out);

#endif
