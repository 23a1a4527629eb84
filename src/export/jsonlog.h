/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/jsonlog.h - the request log: one JSON line per record, written by a thread of its own.
 *
 * Promise:   a pushed record is in the file within 1 s, as long as the disk takes it.
 * Full disk: nothing is thrown away until as many records wait as the queue has room for: the
 *            thread keeps what it has, tries again twice a second, and reports on the operator log.
 *            What comes then is lost and counted: STAT_DROP_LOG_WRITE while writing fails, else
 *            STAT_DROP_LOG_QUEUE. on_record does not wait for the file: it sees what comes while
 *            that refuses, too, and what is lost to the file for want of room.
 * Lines:     a line of which only a part could be written is completed later; when the file was
 *            changed meanwhile, it is written whole into the new one. A file that ends inside a
 *            line (after a crash) gets a line end first. So every line that follows is whole.
 * Memory:    capacity records (about 2 KiB each, up to 3 KiB more with a timeline and labels), as
 *            many again where they come faster than the thread takes them from the queue while
 *            writing fails; a batch of at most 1 MiB, and what export/row_pool.h keeps.
 * Threading: push and reopen: any thread. They never wait for the disk.
 */
#ifndef EXPORT_JSONLOG_H
#define EXPORT_JSONLOG_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"
#include "record/record.h"

struct jsonlog;

struct jsonlog_config {
    const char *path; /* appended to, created with mode 0640; "-": standard output; "": no file */
    size_t capacity;  /* records that may wait; LIMIT_RECORD_QUEUE */
    /* Sees every line, without its end, before it is written; on the log's thread. May be NULL. */
    void (*on_line)(void *arg, struct span line);
    void *on_line_arg;
    /* Sees every record before its line is made, once, within 100 ms also while writing fails; on
     * the log's thread. May be NULL. */
    void (*on_record)(void *arg, const struct record *r);
    void *on_record_arg;
};

int jsonlog_new(const struct jsonlog_config *config, struct jsonlog **ret,
                struct err *reterr) WARN_UNUSED;

/*
 * Writes what is queued, for at most 2 s while writing fails, then ends the thread and frees the
 * log. Nobody may push any more. NULL is allowed. Returns NULL.
 */
struct jsonlog *jsonlog_free(struct jsonlog *log);

/* Takes a copy; a record that cannot be queued is lost and counted. */
void jsonlog_push(struct jsonlog *log, const struct record *r);

/* After the file was renamed (log rotation): opens the path anew within 200 ms. */
void jsonlog_reopen(struct jsonlog *log);

#endif
