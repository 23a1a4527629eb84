/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web/redirect.h - URLs taken apart: where an answer sends a request on to, and another name for
 * the host.
 *
 * Role:      private to transfer.c. (libcurl would follow by itself, but send every header along.)
 * Errors:    -ENOMEM; -EINVAL, -EBADMSG: no URL; -EPROTONOSUPPORT: neither http nor https.
 * Threading: pure.
 */
#ifndef WEB_REDIRECT_H
#define WEB_REDIRECT_H

#include "web/web.h"

struct redirect {
    struct span url;   /* to send the request to; NUL behind it */
    struct span shown; /* the same without user and password */
    bool is_home;      /* the first one's host, and port; or from http to https there */
};
/* first: the URL of the request, from: the one that answered with location; C strings. */
int redirect_resolve(const char *first, const char *from, const char *location, struct arena *a,
                     struct redirect *ret) WARN_UNUSED;

/* An https URL whose host goes by another name. */
struct renamed {
    struct span url;        /* with that name as the host */
    struct span connect_to; /* for CURLOPT_CONNECT_TO: the host all the same */
    struct span host;       /* what the header says: the host, too */
};
/* Of http: all of them are empty. */
int redirect_rename(const char *url, struct span name, struct arena *a,
                    struct renamed *ret) WARN_UNUSED;

#endif
