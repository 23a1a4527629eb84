/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_http.h - what kinds of receivers that are posted JSON have in common.
 *
 * Role:      their keys (url, timeout, language, http_config), the request, and what an answer
 *            means: by its HTTP status, and where a kind answers 200 whatever happened, by the code
 *            in its body.
 * Errors:    as alert/receiver.h says.
 */
#ifndef ALERT_RECEIVER_HTTP_H
#define ALERT_RECEIVER_HTTP_H

#include "alert/http_config.h"
#include "alert/letter.h"

struct http_receiver {
    struct secret url;
    struct secret token; /* what the URL ends with, where it is given alone */
    int language;        /* enum letter_language */
    int64_t timeout_ms;
    struct http_config http;
};

/* Rows for a table of options whose struct begins with a struct http_receiver. */
#define HTTP_RECEIVER_KEYS                                                                         \
    {.key = "send_resolved", .type = OPTION_PASSED},                                               \
        {.key = "http_config", .type = OPTION_PASSED},                                             \
        {.key = "url", .type = OPTION_SECRET_URL, .offset = offsetof(struct http_receiver, url)},  \
        {.key = "url_file",                                                                        \
         .type = OPTION_SECRET_FILE,                                                               \
         .offset = offsetof(struct http_receiver, url)},                                           \
    {                                                                                              \
        .key = "timeout", .type = OPTION_DURATION,                                                 \
        .offset = offsetof(struct http_receiver, timeout_ms)                                       \
    }
#define HTTP_RECEIVER_LANGUAGE                                                                     \
    {                                                                                              \
        .key = "language", .type = OPTION_WORD,                                                    \
        .offset = offsetof(struct http_receiver, language), .words = LETTER_LANGUAGES              \
    }

/* All of read but checks of a kind's own: config has size bytes and begins with a struct
 * http_receiver; *ret is in the arena, zeroed, then filled. */
int http_receiver_read(const struct options *o, const struct yaml_node *map,
                       const struct yaml_node *global, const struct option *table, size_t size,
                       void **ret) WARN_UNUSED;
void http_receiver_print(const struct option *table, const struct http_receiver *h,
                         struct yamlw *w);
/* -EINVAL, listed, where neither url nor token is there; names: for the message. */
int http_receiver_need_url(const struct options *o, const struct yaml_node *map,
                           const struct http_receiver *h, const char *names) WARN_UNUSED;

/*
 * The request but for its body. prefix: what a token is put behind ("https://host/send?key="); a
 * URL from a file is checked.
 */
int http_receiver_begin(const struct http_receiver *h, const char *prefix, struct arena *a,
                        struct receiver_request *ret, struct err *reterr) WARN_UNUSED;
/* Body, header fields and the rest; json's error counts, too. */
int http_receiver_end(const struct http_receiver *h, const struct jsonw *json,
                      const struct buf *body, struct arena *a, struct receiver_request *ret,
                      struct err *reterr) WARN_UNUSED;

/* Why a transfer came to no answer, with what to do about it. */
void http_receiver_unreached(const struct receiver_reply *r, struct err *ret_why);
/* What an HTTP status says. */
enum verdict http_receiver_judge(const struct receiver_reply *r, int64_t *ret_wait_ms,
                                 struct err *ret_why);

/* A code that a kind answers within 200. */
struct answer_code {
    int64_t code;
    enum verdict verdict;
    int64_t wait_ms; /* of VERDICT_LATER; -1: back-off */
    const char *what, *hint;
};
struct answer_codes {
    const char *code_key, *text_key;
    const struct answer_code *at;
    size_t n;
};
/* 0 is success; one that is not in the table: VERDICT_LATER. */
enum verdict http_receiver_judge_code(const struct answer_codes *codes,
                                      const struct receiver_reply *r, int64_t *ret_wait_ms,
                                      struct err *ret_why);

/* The beginning of an answer for a message to people, on one line; "" without memory. dst is always
 * terminated. */
struct span http_receiver_said(struct span body, char *dst, size_t cap);

#endif
