/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web/handle.h - a handle of libcurl: the options set on it, what it kept of an answer, how it
 * ended.
 *
 * Role:      what requests over HTTP (transfer.c) and mails (alert/smtp.c) have in common.
 * Errors:    the first option that fails stays in setup; those after it are not set.
 * Threading: one owner; web_handle_global any thread.
 */
#ifndef WEB_HANDLE_H
#define WEB_HANDLE_H

#include <curl/curl.h>

#include "base/arena.h"
#include "base/buf.h"
#include "web/web.h"

struct web_handle {
    CURL *easy; /* NULL: was given away */
    CURLcode setup;
    struct arena arena; /* texts that are set */
    size_t answer_max;
    struct buf answer; /* at most that */
    bool is_cut;       /* there was more */
    char error[CURL_ERROR_SIZE];
    char words[CURL_ERROR_SIZE + 64];
};

/* Of libcurl, once per process and before anything else. */
int web_handle_global(void) WARN_UNUSED;
/* libcurl was refused memory on this thread since the last web_handle_init, whatever it made of
 * that. */
bool web_handle_lacked_memory(void);

/* At most answer_max bytes of an answer are kept. setup says whether it worked. */
void web_handle_init(struct web_handle *h, size_t answer_max);
void web_handle_done(struct web_handle *h);
/* As after web_handle_init, but with the memory and the connections that it has. */
void web_handle_reset(struct web_handle *h);
/* Another answer_max, before anything is answered. */
void web_handle_bound(struct web_handle *h, size_t answer_max);
/* Of what was set so far: 0, -ENOMEM, -EINVAL. */
int web_handle_setup(const struct web_handle *h);

#define WEB_HANDLE_SET(h, option, value)                                                           \
    do {                                                                                           \
        if ((h)->setup == CURLE_OK)                                                                \
            (h)->setup = curl_easy_setopt((h)->easy, option, value);                               \
    } while (0)
/* What every handle has: bounds, words, where the answer goes. owner: its CURLINFO_PRIVATE. */
void web_handle_basics(struct web_handle *h, int64_t timeout_ms, void *owner);
void web_handle_link(struct web_handle *h, const struct web_link *link);
/* s as a C string; NULL, with setup set, where it is more than one line or there is no memory. */
const char *web_handle_text(struct web_handle *h, struct span s);
/* An empty s is not set. */
void web_handle_set_text(struct web_handle *h, CURLoption option, struct span s);
/* A line more; NULL is what web_handle_text gives. */
void web_handle_add(struct web_handle *h, struct curl_slist **list, const char *line);

/* A part of the answer; false: it does not fit any more, or there is no memory. */
bool web_handle_keep(struct web_handle *h, struct span part);

int web_handle_error(CURLcode code); /* negative errno, 0 for CURLE_OK */
/* One line for people, without secrets; in h. */
struct span web_handle_words(struct web_handle *h, CURLcode code);

#endif
