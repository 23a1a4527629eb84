/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/redact.h - words of others, without the secrets of the request that they may repeat.
 *
 * Secrets:   what stands behind a URL's host and before it, values of header fields, passwords. The
 *            beginning of one at the end of the text is one, too: answers are shown cut.
 * Limits:    what has less than six bytes could be anything, and stays.
 * Threading: pure.
 */
#ifndef ALERT_REDACT_H
#define ALERT_REDACT_H

#include "alert/receiver.h"

/* Puts '*' over them. */
void redact(const struct receiver_request *r, char *text);

#endif
