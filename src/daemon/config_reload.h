/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_reload.h - one attempt to take over a changed configuration, and what came of it.
 *
 * Role:      SIGHUP and POST /-/reload do the same: read file and flags again, take over what may
 *            change, or say everything that is in the way. The report is for the operator's log,
 *            for the answer, and for the status page.
 * Memory:    a report is about 70 KiB, a plain value; places of `mistakes` borrow from args.
 * Threading: the main thread.
 */
#ifndef DAEMON_CONFIG_RELOAD_H
#define DAEMON_CONFIG_RELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "daemon/alarms.h"
#include "daemon/config.h"
#include "daemon/config_args.h"
#include "daemon/daemon.h"

/* Of a report as text or JSON. */
enum { CONFIG_RELOAD_TEXT_MAX = 256 * 1024 };

struct config_reload_report {
    wall_t at;
    bool is_taken;
    const char *file;                     /* NULL: flags and defaults only */
    const char *changed[CONFIG_KEYS_MAX]; /* keys that took effect */
    size_t n_changed;
    const char *restart[CONFIG_KEYS_MAX]; /* changed keys that need a restart */
    size_t n_restart;
    struct err err;               /* !is_taken: why, in one line */
    struct err_list mistakes;     /* of file and flags */
    struct file_mistakes in_file; /* of a file of rules or routes */
};

/* Tries it and counts it. A failed attempt leaves the running configuration as it is. */
void config_reload_try(struct daemon *d, const struct config_args *args,
                       struct config_reload_report *ret);

/* To the operator's log; mistakes each with its place. */
void config_reload_log(const struct config_reload_report *r);

/* One JSON object and a line end; -ENOMEM, -EMSGSIZE. */
int config_reload_to_json(const struct config_reload_report *r, struct buf *out) WARN_UNUSED;

/* The same for people: lines as err_list_print writes them. */
int config_reload_to_text(const struct config_reload_report *r, struct buf *out) WARN_UNUSED;

#endif
