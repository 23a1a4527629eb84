/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/mailer.h - a thread for each mail under way.
 *
 * Why:       libcurl says QUIT and waits for the answer inside of whatever call ends a connection;
 *            a mail server that does not answer holds up that thread and nobody else, for 2 s.
 * Threading: everything from one thread; on_waiting is called from others.
 */
#ifndef ALERT_MAILER_H
#define ALERT_MAILER_H

#include "alert/smtp.h"

struct mailer;

/* on_waiting: mailer_take has something. */
int mailer_new(void (*on_waiting)(void *ctx), void *ctx, struct mailer **ret) WARN_UNUSED;
/* Breaks off what is under way; NULL is allowed, returns NULL. */
struct mailer *mailer_free(struct mailer *m);

/* From then on mail is the mailer's, until mailer_take. */
int mailer_start(struct mailer *m, struct smtp *mail) WARN_UNUSED;
/* One that ended, with its reply; NULL: none. */
struct smtp *mailer_take(struct mailer *m);

#endif
