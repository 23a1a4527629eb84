/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/head.h - the newest samples of one series: a chunk that grows, and full ones that wait for
 * the disk.
 *
 * Shape:     a chunk is full when it has HEAD_SPAN_MS or HEAD_FULL_BYTES, and where a UTC day ends:
 *            no chunk has samples of two days. Full chunks wait in the series' list and in one
 *            queue over all series, both in the order in which they became full.
 * Errors:    -ENOMEM; the sample is not in then.
 * Threading: the owner writes under the lock of the series, under which others read.
 */
#ifndef TSDB_HEAD_H
#define TSDB_HEAD_H

#include "tsdb/tschunk.h"

#define HEAD_SPAN_MS (INT64_C(2) * 3600 * 1000)
enum { HEAD_FULL_BYTES = 4096 };

/* A chunk as it will be on disk, before it is compressed. */
struct full {
    struct full *next;       /* of the series */
    struct full *queue_next; /* of the queue */
    uint32_t id;
    uint64_t first_seq; /* the journal's row that has its first sample */
    int64_t t_first, t_last;
    struct bytes body;
};

struct full_queue {
    struct full *first, *last;
    size_t n;
};

struct head {
    struct tschunk chunk;
    uint64_t first_seq; /* of the chunk's first sample, while there is one */
    struct full *full_first, *full_last;
};

void head_done(struct head *h);

/* What is appended next would not fit into the chunk; tells the owner to head_cut before. */
bool head_is_full(const struct head *h, int64_t t_ms);
/* The chunk becomes a full one of id, if it has samples. */
int head_cut(struct head *h, uint32_t id, struct full_queue *queue) WARN_UNUSED;
int head_append(struct head *h, uint64_t seq, int64_t t_ms, double v,
                const struct fhist *hist) WARN_UNUSED;
/* The queue's first is on disk: it leaves the queue and its series, and is freed. */
void head_drop_first(struct head *h, struct full_queue *queue);

/* The oldest sample in memory; false: there is none. */
bool head_first(const struct head *h, int64_t *ret_t);
size_t head_bytes(const struct head *h);

#endif
