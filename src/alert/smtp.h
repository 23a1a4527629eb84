/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/smtp.h - one mail as a handle of libcurl, and what came back.
 *
 * Role:      private to transport.c and mailer.c; web/handle.h has what it shares with HTTP.
 */
#ifndef ALERT_SMTP_H
#define ALERT_SMTP_H

#include "alert/transport.h"
#include "web/handle.h"

struct smtp {
    const struct receiver_request *request;
    transport_done done;
    void *ctx, *tag;
    struct web_handle handle; /* its answer: the lines that refuse something */
    struct curl_slist *to;
    struct span unsent;
    struct receiver_reply reply; /* smtp_end; words and body live in here */
};

int smtp_new(const struct receiver_request *r, struct smtp **ret) WARN_UNUSED;
struct smtp *smtp_free(struct smtp *m); /* NULL is allowed; returns NULL */

/* Fills reply from how libcurl ended it. easy: its handle, which was given away. */
void smtp_end(struct smtp *m, CURL *easy, CURLcode code);

#endif
