/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/message.h - one direction of an HTTP/1.x connection: bytes -> heads, body pieces, ends.
 *
 * Role:      joins http1 and chunked into the reader that servers and clients share. No I/O.
 * Memory:    only an incomplete head is kept (at most LIMIT_HEAD_BYTES, freed once parsed); body
 *            pieces are views into the input.
 * Threading: one owner.
 *
 * A reader serves one message after another: after MESSAGE_END call message_next again for the
 * next one (requests may be pipelined). Interim 1xx responses come as heads with status < 200 and
 * no END; the reader then goes on to the next head by itself. 101 ends HTTP on the connection: what
 * follows its head comes as body pieces until the connection ends.
 */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"
#include "wire/chunked.h"
#include "wire/http1.h"

enum message_role { MESSAGE_REQUESTS, MESSAGE_RESPONSES };

enum message_status {
    MESSAGE_TOO_LARGE = -3, /* head over LIMIT_HEAD_BYTES: 431 */
    MESSAGE_NO_MEMORY = -2,
    MESSAGE_ERROR = -1, /* malformed; m->error or m->is_bad_chunk says what */
    MESSAGE_MORE = 0,   /* all input consumed */
    MESSAGE_HEAD = 1,   /* *ret_head filled; its views are valid until the next call */
    MESSAGE_BODY = 2,   /* *ret_body holds body bytes (transfer coding removed) */
    MESSAGE_END = 3,    /* the message is complete; *in holds what follows it */
};

struct message_reader {
    enum message_role role;
    enum http1_error error;
    bool is_bad_chunk;     /* MESSAGE_ERROR came from the chunked coding */
    bool request_was_head; /* responses: set by the owner before the answer is read */
    uint64_t n_body_bytes; /* of the current message so far, transfer coding removed */
    struct buf _head;      /* incomplete head, or the one just returned */
    size_t _scanned;
    uint64_t _left; /* HTTP1_BODY_LENGTH */
    struct chunked_decoder _chunked;
    enum message_status _failure; /* returned again from then on; MESSAGE_MORE: none */
    int _state;
    unsigned _n_skipped;    /* empty lines passed over in front of a request */
    bool _is_delivered;     /* the last call returned a head */
    bool _is_after_interim; /* a 1xx head was returned, its final one was not */
};

void message_init(struct message_reader *m, enum message_role role);
void message_done(struct message_reader *m);

/*
 * Consumes from the front of *in; call again until MESSAGE_MORE (an END may come with nothing left
 * in *in). Only the out parameter that belongs to the result is set; *ret_head may also be written
 * on MESSAGE_ERROR. A negative result is final: every later call gives it again.
 */
enum message_status message_next(struct message_reader *m, struct span *in,
                                 struct http1_head *ret_head, struct span *ret_body);

/*
 * The peer ended the connection: MESSAGE_END when that is the regular end of an UNTIL_CLOSE body,
 * MESSAGE_MORE when no message was under way, MESSAGE_ERROR when one was cut.
 */
enum message_status message_eof(struct message_reader *m);

/* true between messages with nothing of the next one seen (empty lines do not count). */
bool message_is_idle(const struct message_reader *m);

#endif
