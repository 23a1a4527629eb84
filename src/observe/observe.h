/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/observe.h - one exchange = dialect state + timing state + record; implements tap/tap.h.
 *
 * Role:      turns what the path tells into measurements and one record, and hands them to
 *            observe/sink.h the instant they exist.
 * Failing:   open. A coding that cannot be undone, events over the limit, lack of memory: the
 *            exchange is marked unobserved{reason}; HTTP-level stamps, sizes and the outcome go on.
 * Memory:    one allocation per exchange (struct tap, about 7 KiB, from a free list of the
 *            observer), plus held partial events while a stream's events straddle reads, plus a
 *            copy of non-stream answers that arrive in several reads (LIMIT_ANSWER_BYTES), plus the
 *            decoder of a content-coded answer (coding/coding.h). No allocation per streamed event.
 * Threading: one observer per worker.
 */
#ifndef OBSERVE_OBSERVE_H
#define OBSERVE_OBSERVE_H

#include "base/attr.h"
#include "observe/sink.h"
#include "tap/tap.h"

struct observer;

struct observer_config {
    uint32_t
        timeline_every; /* keep every n-th stream's timeline, beside slow and failed ones; 0: no */
    int64_t runaway_tokens; /* a stream of more completion tokens has run away; 0: none has */
    int64_t runaway_ns;     /* one that has gone on for longer since it was sent; 0: none has */
};

/* sink and ops outlive the observer. -ENOMEM. */
int observer_new(const struct observer_config *config, const struct sink_ops *ops, void *sink,
                 struct observer **ret) WARN_UNUSED;
/* On the worker's thread. */
void observer_reload(struct observer *o, const struct observer_config *config);
struct observer *observer_free(struct observer *o);

/* The tap implementation; its watcher argument is the struct observer. */
extern const struct tap_ops observe_tap;

/*
 * Exchanges open now, for /api/v1/inflight: a copy is taken under the observer's lock and visited
 * without it. Any thread. What is beyond the memory to copy is left out.
 */
struct observe_inflight {
    char request_id[RECORD_ID_MAX];
    char model[RECORD_NAME_MAX];
    char upstream[RECORD_NAME_MAX];
    const char *endpoint;
    bool is_stream; /* asked for */
    mono_t t_accept, t_first_token, t_last_token;
    mono_t t_stalled; /* silent since then, by the last look; not set: not stalled */
    uint32_t n_output_events;
};
void observer_each_inflight(struct observer *o,
                            void (*visit)(void *ctx, const struct observe_inflight *f), void *ctx);

/*
 * Looks at everything that is open, about once a second, on the worker's thread: which streams are
 * stalled right now (STAT_STREAMS_STALLED, t_stalled above), which have run away, and what waits
 * for which upstream (look_waiting). Calls found (NULL is allowed) with each stalled one and each
 * that has run away, as long as it is so; it may end that exchange, and no other.
 */
enum look_finding { LOOK_STALLED, LOOK_RUNAWAY };
typedef void look_found(void *ctx, struct exchange *x, enum look_finding what,
                        int64_t silent_ns /* of a stalled one; 0: it is not, and has run away */);
void look_around(struct observer *o, mono_t now, look_found *found, void *ctx);

/*
 * Requests of one worker that were sent to an upstream and whose answer is not over, as of the last
 * look. Left out are those whose client does not read, and those of no dialect: a list of models is
 * answered by an engine that hangs, too. For the same reason heads, comments and errors are no sign
 * of life.
 */
struct observe_waiting {
    mono_t t_look;   /* not set: there was none */
    mono_t t_oldest; /* when the oldest of them was sent; not set: there is none */
    mono_t t_heard;  /* the last sign of life: output of a stream, or body of another answer (below
                        status 400), finished ones included; not set: none yet */
    uint32_t n;
    uint32_t n_streams; /* of them, asked for as streams */
};

/* By the upstream's index; n: at most TAP_UPSTREAMS_MAX. Any thread. */
void look_waiting(struct observer *o, struct observe_waiting *ret, size_t n);

#endif
