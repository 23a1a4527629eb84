/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keywatch.h - the keys in force, as the key file says; and what to do when it changes.
 *
 * Role:      keyfile.h read at start, at a reload, and whenever the file or its pepper is another
 *            one. A file that cannot be read never opens the gateway: the keys read before stay.
 * Logging:   how many keys there are, and every mistake.
 * Threading: the caller's lock (daemon.c) is held for all of it; rings are shared by reference.
 */
#ifndef DAEMON_KEYWATCH_H
#define DAEMON_KEYWATCH_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "daemon/keyfile.h"
#include "policy/key_use.h"

/* What one reading gave. */
struct keywatch_reading {
    char *path;           /* NULL: no file, and no keys are needed */
    struct keyring *ring; /* NULL only then */
    struct keyfile_mark mark;
};

struct keywatch {
    struct keywatch_reading now;
    struct keyfile_mark failed; /* what could not be read, so that it is told once */
    struct key_use *use;
};

/* -ENOMEM. */
int keywatch_init(struct keywatch *w) WARN_UNUSED;
void keywatch_done(struct keywatch *w); /* zeroed is fine */

/* Reads the file at path ("": none). Nothing is in force until keywatch_take, which takes it over;
 * keywatch_drop frees it instead. */
int keywatch_read(struct keywatch *w, const char *path, struct keywatch_reading *ret,
                  struct err *reterr) WARN_UNUSED;
void keywatch_take(struct keywatch *w, struct keywatch_reading *r);
void keywatch_drop(struct keywatch_reading *r);

/* Whether the file has changed and was read: w->now.ring is a new one. */
bool keywatch_look(struct keywatch *w);

/* What was read last did not reach everybody: keywatch_look reads it again. */
void keywatch_again(struct keywatch *w);

#endif
