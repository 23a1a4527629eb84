/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web/transfer.h - one request over HTTP as a handle of libcurl, over all its redirects.
 *
 * Role:      private to web.c. A handle is prepared, run by whoever has it, and then says whether
 *            that was the answer or whether it is prepared for where that sent it on to.
 */
#ifndef WEB_TRANSFER_H
#define WEB_TRANSFER_H

#include "base/list.h"
#include "web/handle.h"
#include "web/redirect.h"

enum {
    TRANSFER_REDIRECTS_MAX = 5,
    TRANSFER_HEADERS_MAX = 64 * 1024,
    TRANSFER_KEPT_BYTES = 256 * 1024,
};

struct transfer {
    struct list node; /* of web.c */
    const struct web_request *request;
    web_done done;
    void *ctx, *tag;
    struct web_handle handle;
    struct curl_slist *headers, *connect_to;
    struct arena places; /* URLs */
    const char *first;   /* the request's URL */
    struct redirect at;  /* where it goes now */
    int n_redirects;
    bool is_post;
    size_t n_header_bytes; /* of all answers */
    int64_t before_us;     /* of redirects */
    struct web_reply reply;
};

int transfer_new(struct transfer **ret) WARN_UNUSED;
/* Made ready for a request. -EINVAL: it cannot be sent as it is. */
int transfer_begin(struct transfer *t, const struct web_request *r) WARN_UNUSED;
/* Forgets the request and its answer, credentials included, and is as new; false: it has much more
 * memory than the next one may need. */
bool transfer_rest(struct transfer *t);
struct transfer *transfer_free(struct transfer *t); /* NULL is allowed; returns NULL */

/* libcurl ended with code. true: t->reply is set; false: it goes on, as it is set up now. */
bool transfer_end(struct transfer *t, CURLcode code) WARN_UNUSED;
/* t->reply for what came to nothing; words stay as long as t. */
void transfer_fail(struct transfer *t, int error, struct span words);

#endif
