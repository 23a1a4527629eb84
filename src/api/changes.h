/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/changes.h - private to api/: GET /api/v1/events, which tells pages that something has
 * changed.
 *
 * Role:      a stream of server-sent events: "state" at its beginning, "changed" when a number is
 *            another one (struct api_versions; looked at once a second while anybody listens),
 *            "beat" every CHANGES_BEAT_S. Data is JSON. What has changed pages ask as always.
 * Limits:    CHANGES_STREAMS_MAX at once; who reads so slowly that CHANGES_UNREAD_MAX bytes wait is
 *            let go. A stream ends with its session, and when tokens are others.
 * Threading: the listener's loop.
 */
#ifndef API_CHANGES_H
#define API_CHANGES_H

#include "api/session.h"
#include "http/server.h"

enum { CHANGES_STREAMS_MAX = 64, CHANGES_BEAT_S = 15, CHANGES_UNREAD_MAX = 16 * 1024 };

struct changes;
struct changes_stream {
    struct list _link;
    struct http_server_conn *_conn;
    struct api_versions _told;
    int64_t _expires_s; /* 0: does not */
    uint64_t _access;   /* of which access it was let in */
    mono_t _beat;
};

/* sources outlive it. over: the stream is to be ended; it has left already. */
int changes_new(struct loop *l, const struct api_sources *sources,
                void (*over)(struct changes_stream *s), struct changes **ret) WARN_UNUSED;
struct changes *changes_free(struct changes *e);

/* Begins the answer. -EAGAIN: too many listen; otherwise the connection's errors. */
int changes_join(struct changes *e, struct changes_stream *s, struct http_server_conn *c,
                 const struct session *who, struct span fields) WARN_UNUSED;
void changes_leave(struct changes_stream *s); /* zeroed, or left already: nothing */

/* Somebody changed something through this listener. */
void changes_note(struct changes *e);

#endif
