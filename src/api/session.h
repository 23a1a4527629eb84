/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/session.h - private to api/: who asks, by the token that a program sends or the cookie that a
 * browser got for one.
 *
 * Role:      programs send "Authorization: Bearer TOKEN" with each request. People show the token
 *            once (login.h) and get a cookie, which tells role and end of the session and is signed
 *            with that role's token: nothing is kept here, another token ends the sessions of the
 *            old one, and those of one role cannot be made from the other's. So a logout takes the
 *            cookie from the browser; a copy of it holds until its end or another token.
 * Changes:   what a cookie may change needs the session's second secret beside it (csrf), which
 *            pages of other sites cannot read.
 * Timing:    tokens and signatures are compared in constant time.
 * Threading: pure, but for the system's random numbers.
 */
#ifndef API_SESSION_H
#define API_SESSION_H

#include "api/api.h"
#include "wire/http1.h"

enum { SESSION_MAC_HEX = 64, SESSION_VALUE_MAX = 160 };

enum session_role { SESSION_NONE, SESSION_READ, SESSION_WRITE, SESSION_ROLE_COUNT_ };
const char *session_role_name(enum session_role r); /* "none", "read", "write" */

enum session_way {
    SESSION_FREE, /* no tokens are needed here: everybody may everything */
    SESSION_BEARER,
    SESSION_COOKIE,
};

struct session {
    enum session_role role;
    enum session_way way;
    int64_t expires_s;              /* Unix time; of a cookie's, else 0 */
    uint64_t tokens;                /* number of the access that it was judged by */
    char csrf[SESSION_MAC_HEX + 1]; /* likewise, else "" */
};

/* Whether tokens are needed at all. */
bool session_is_needed(const struct api_access *a);

/* Who asks. Where a token is sent it decides, also when it is wrong. */
struct session session_of(const struct api_access *a, const struct http1_head *head, int64_t now_s);

enum session_role session_role_of(const struct api_access *a, struct span token);

/* The value of a new session's cookie. -EIO: no random numbers. */
int session_new(const struct api_access *a, enum session_role role, int64_t now_s,
                char ret_value[SESSION_VALUE_MAX]) WARN_UNUSED;

/* The session that a cookie of that value means; role NONE: none any more. */
struct session session_read(const struct api_access *a, struct span value, int64_t now_s);

/* The cookie's name. */
#define SESSION_COOKIE_NAME "inferometer_session"

#endif
