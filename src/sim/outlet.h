/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/outlet.h - the way of one answer's bytes to its client: one write per event, or whatever the
 * switches make of it (several events in a write, several writes for an event, gzip, slow head).
 *
 * Truth:     every event is stamped directly before the write that completes it.
 * Pieces:    while outlet_is_busy, nothing else may be sent: outlet_piece at t_piece sends the
 *            next.
 * Errors:    negative: the connection is broken, the request must be ended.
 */
#ifndef SIM_OUTLET_H
#define SIM_OUTLET_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "http/server.h"
#include "sim/chunk.h"
#include "sim/switches.h"
#include "sim/truth.h"

struct z_stream_s;

enum { OUTLET_FIELDS_MAX = 512 };

struct outlet {
    mono_t t_headers;  /* before the write of the head's last byte */
    mono_t t_piece;    /* when the next piece is due */
    size_t hold_bytes; /* events are held until so many bytes are there; 0: they are not */
    struct http_server_conn *_conn;
    struct truth_entry *_truth; /* borrowed */
    const struct switches *_switches;
    struct z_stream_s *_gzip;
    struct buf _pending;   /* events of a batch, pieces, the head to be dribbled */
    size_t _first_pending; /* their first event in the truth */
    int64_t _n_pending;    /* events */
    int64_t _n_pieces;     /* still to be sent of _pending */
    int64_t _piece_gap_ns;
    struct http_framing _framing;
    int _status;
    bool _is_head_out, _is_head_piece, _is_last_piece, _is_plain;
    char _fields[OUTLET_FIELDS_MAX]; /* of the head that goes out with the first write */
};

void outlet_init(struct outlet *o, struct http_server_conn *c, const struct switches *s,
                 struct truth_entry *truth);
void outlet_done(struct outlet *o);

/* fields: rendered header lines, copied. The head is sent, dribbled, or kept for the first write.
 */
int outlet_head(struct outlet *o, int status, const char *fields, struct http_framing framing,
                bool must_wait) WARN_UNUSED;

int outlet_event(struct outlet *o, enum truth_kind kind, int64_t n_tokens,
                 const struct chunk *chunk, bool is_last) WARN_UNUSED;

/* The whole body of an answer whose head was announced with its length. */
int outlet_body(struct outlet *o, struct span body) WARN_UNUSED;

int outlet_head_now(struct outlet *o) WARN_UNUSED; /* a head that was kept */
/* The beginning of that body; the rest never comes, so the result does not matter. */
void outlet_part(struct outlet *o, struct span part);

int outlet_flush(struct outlet *o) WARN_UNUSED; /* events of an unfinished batch */
int outlet_end(struct outlet *o) WARN_UNUSED;   /* regular end of a chunked body */

bool outlet_is_busy(const struct outlet *o);
int outlet_piece(struct outlet *o) WARN_UNUSED;

/* One whole body compressed into out. */
int outlet_gzip(struct span body, struct buf *out) WARN_UNUSED;

#endif
