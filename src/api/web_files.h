/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/web_files.h - private to api/: the pages for people that were built from web/.
 *
 * Role:      index.html at / and everywhere under /ui/ (the page reads its path itself), what it
 *            loads under /assets/. The files hold nothing secret: data comes from the API alone.
 * Language:  the cookie "inferometer_lang" (en, zh-CN), else Accept-Language.
 * Caching:   index.html is asked for again each time (ETag); files with a hash in their names stay.
 * Coding:    gzip only; who says that they do not take it gets 406.
 * Threading: the listener's loop.
 */
#ifndef API_WEB_FILES_H
#define API_WEB_FILES_H

#include "api/language.h"
#include "api/routes.h"

/* Header lines: everything comes from here, nothing is inline, no page of another site shows us in
 * a frame or learns where a reader was. Forms need a referrer of the same site: browsers send
 * "Origin: null" without one. */
#define WEB_FILES_SECURITY                                                                         \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "           \
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; "              \
    "frame-ancestors 'none'\r\nReferrer-Policy: same-origin\r\n"

/* Whether this build has them. */
bool web_files_are_there(void);

/* Whether a page is asked for, and not what programs read. */
bool web_files_are_wanted(const struct http1_head *head);

/* The reader's language. */
enum language web_files_language(const struct http1_head *head);

/* A file that the build made an array of. type: static. */
void web_files_answer(struct span bytes, const char *type, struct api_answer *ret);

/* GET /: the page, or for programs and in a build without it the state (status_handle_page). */
void web_files_handle_index(const struct api_request *req, struct api_answer *ret);
void web_files_handle_app(const struct api_request *req, struct api_answer *ret);
void web_files_handle_asset(const struct api_request *req, struct api_answer *ret);

#endif
