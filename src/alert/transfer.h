/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/transfer.h - one request as a handle of libcurl, and what came back.
 *
 * Role:      what both ways of sending (transport.c) share. Private to transport*.c and transfer.c.
 */
#ifndef ALERT_TRANSFER_H
#define ALERT_TRANSFER_H

#include <curl/curl.h>

#include "alert/transport.h"
#include "base/list.h"

struct transfer {
    struct list node; /* of the transport */
    const struct receiver_request *request;
    transport_done done;
    void *ctx, *tag;
    CURL *easy;
    CURLcode setup; /* the first option that was refused */
    struct arena arena;
    struct curl_slist *headers, *to;
    struct span unsent; /* of a mail */
    struct buf answer;  /* at most TRANSPORT_ANSWER_MAX */
    bool is_cut;        /* there was more */
    char error[CURL_ERROR_SIZE];
    struct receiver_reply reply; /* transfer_end; words and body live in here */
    char words[CURL_ERROR_SIZE + 64];
};

/* Once per process, before anything else of libcurl's. */
int transfer_global_init(void) WARN_UNUSED;

int transfer_new(const struct receiver_request *r, struct transfer **ret) WARN_UNUSED;
struct transfer *transfer_free(struct transfer *t); /* NULL is allowed; returns NULL */

/* Fills reply from how libcurl ended it. easy: its handle, which t may have given away. */
void transfer_end(struct transfer *t, CURL *easy, CURLcode code);

#endif
