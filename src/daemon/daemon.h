/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/daemon.h - the gateway as a whole: workers, admin listener, log, wired together.
 *
 * Threading: N workers, one admin, one log writer, one resolver, started by daemon_start with every
 *            signal blocked; signals are the caller's (cli/serve.c).
 * Threading: all functions by the thread that called daemon_start.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <sys/types.h>

#include "api/api.h"
#include "base/attr.h"
#include "base/err.h"
#include "daemon/config.h"
#include "io/addr.h"
#include "metrics/metrics.h"

struct file_mistakes; /* daemon/named_files.h */
struct daemon;

/*
 * Opens the listeners and the log, starts everything. When it returns 0, clients are served. Takes
 * a reference to config. On failure nothing is left behind and *reterr says what to do.
 */
int daemon_start(struct config *config, struct daemon **ret, struct err *reterr) WARN_UNUSED;

/* Takes over what may change while running; refused as a whole when a restart key changed. reterrs:
 * mistakes of a file of rules or routes. */
int daemon_reload(struct daemon *d, struct config *config, struct file_mistakes *reterrs,
                  struct err *reterr) WARN_UNUSED;

/*
 * Reloads that the admin listener was asked for. The descriptor is readable when there is one to
 * take; who takes it answers it, and with it all that were asked before.
 */
int daemon_wake_fd(const struct daemon *d);
bool daemon_take_reload(struct daemon *d, uint64_t *ret_upto);
void daemon_answer_reload(struct daemon *d, const struct api_reloaded *answer);

/* What came of a reload, as JSON, for the status page. */
void daemon_tell_reload(struct daemon *d, wall_t at, struct span json);

/* The log file was renamed: open it anew. */
void daemon_reopen_log(struct daemon *d);

/*
 * Whether every loop has turned since the last call (the first: true). Call it at an interval in
 * which a loop has to turn; those that have not are named in the operator's log.
 */
bool daemon_beats(struct daemon *d);

/* The process that serves in place of this one from now on (key "handover"), or 0. */
pid_t daemon_successor(const struct daemon *d);

/* Not ready any more, but everything is served as before; no reload is taken any more. */
void daemon_leave(struct daemon *d);

/* The same, and new connections are left to the successor, or refused; open exchanges go on. */
void daemon_drain(struct daemon *d);
bool daemon_is_drained(const struct daemon *d);

/* Ends everything, also what is still open. NULL is allowed; returns NULL. */
struct daemon *daemon_stop(struct daemon *d);

const struct metrics *daemon_metrics(const struct daemon *d);

/* The configuration in force; valid until the next reload. */
const struct config *daemon_config(const struct daemon *d);

/* "127.0.0.1:8400" as bound; i-th data listener, or the admin listener. */
const char *daemon_listen_text(const struct daemon *d, size_t i); /* NULL behind the last */
const char *daemon_admin_text(const struct daemon *d);

#endif
