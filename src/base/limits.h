/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/limits.h - every maximum of the program, with its reason. Those marked (config) are only
 * the defaults of a configuration key.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stddef.h>

#define KIB ((size_t)1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

/* HTTP head: 64 KiB holds the largest cookie and token headers seen; more is answered 431. */
#define LIMIT_HEAD_BYTES (64 * KIB)

/* An answer that the gateway makes itself: a list of all models. */
#define LIMIT_ANSWER_LOCAL_BYTES (256 * KIB)

/* An API key, as it stands in a header. */
#define LIMIT_CREDENTIAL_BYTES (4 * KIB)
/* Header fields in one head; keeps the parsed form on the stack. */
#define LIMIT_HEAD_FIELDS 128
/* One read from a socket into the loop's shared buffer. */
#define LIMIT_READ_BYTES (64 * KIB)
/* TLS: the largest record, and what is encrypted before it is sent in one call: the answer to one
 * read, with room for what records add. */
#define LIMIT_RECORD_BYTES (16 * KIB)
#define LIMIT_WRITE_BYTES  (LIMIT_READ_BYTES + 8 * KIB)
/* Reads of one socket per turn, so that one fast sender cannot starve the others. */
#define LIMIT_READS_PER_TURN 4

/* Part of a request body that is held, planned on and can be sent again (config). */
#define LIMIT_REQUEST_WINDOW_BYTES (1 * MIB)
/* Largest request body accepted: 28 MiB image prompts exist (config). */
#define LIMIT_REQUEST_BODY_BYTES (64 * MIB)
/* Bytes waiting for one slow peer before reading from the other side pauses. */
#define LIMIT_SEND_HIGH_BYTES (64 * KIB)
#define LIMIT_SEND_LOW_BYTES  (16 * KIB)

/* One SSE or NDJSON event held for parsing; a larger one is passed on and not observed. */
#define LIMIT_EVENT_BYTES (4 * MIB)
/* Decoding a copy of a content-coded answer ends, and with it the observation, beyond these: bytes
 * in all, and times what came in once there are enough to judge. */
#define LIMIT_DECODED_BYTES      (256 * MIB)
#define LIMIT_DECODED_RATIO      200
#define LIMIT_DECODED_FREE_BYTES (1 * MIB)
/* Decoded from one read: what a worker may spend on it while others wait. */
#define LIMIT_DECODED_READ_BYTES (2 * MIB)
/* An error body pasted into an event stream; the longest seen has some 500 bytes. */
#define LIMIT_STRAY_BYTES (16 * KIB)
/* A partial event held back while our own usage chunk may still have to be removed. */
#define LIMIT_HELD_EVENT_BYTES (64 * KIB)
/* Non-stream answer kept whole for reading usage; a larger one is passed on and not read. */
#define LIMIT_ANSWER_BYTES (4 * MIB)

/* The file of gateway keys: some 300 bytes a key, 100,000 keys. */
#define LIMIT_KEYFILE_BYTES (64 * MIB)

/* Metrics (definitions: "Labels"). */
#define LIMIT_LABEL_VALUES 200   /* per label (config) */
#define LIMIT_SERIES       10000 /* over all families (config) */

/* Records waiting for the log thread: 10 s of a stalled disk at 10k requests/s. */
#define LIMIT_RECORD_QUEUE 100000

#endif
