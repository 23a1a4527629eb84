/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_cause.h - everything that can be wrong on the way from a client to an engine: one
 * table.
 *
 * Role:      a row is a cause with its name for programs, how bad it is, what to do about it, and
 *            how it is connected with others: what kind of failure it is, and of which kinds it may
 *            be the reason. So a 401 behind a key in quotation marks is put down to the marks.
 * Threading: constant.
 */
#ifndef DOCTOR_DOCTOR_CAUSE_H
#define DOCTOR_DOCTOR_CAUSE_H

#include <stddef.h>

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_SUSPECT, /* fine, unless something fails that it would explain; not in a report */
    DOCTOR_SKIP,    /* not tried, or explained by another */
    DOCTOR_WARN,
    DOCTOR_FAIL,
};
const char *doctor_level_name(enum doctor_level l); /* "OK", "SKIP", "WARN", "FAIL" */

/* Kinds of failures. */
enum doctor_about {
    ABOUT_AUTH = 1,   /* the key was not taken */
    ABOUT_PATH = 2,   /* there is nothing at that path */
    ABOUT_REACH = 4,  /* no connection */
    ABOUT_TLS = 8,    /* no trust, or no TLS at all */
    ABOUT_MODEL = 16, /* the model is not there */
    ABOUT_BUFFER = 32 /* the stream is held back */
};

#define DOCTOR_CAUSES(X)                                                                           \
    X(NO_CAUSE)                                                                                    \
    /* base URL */                                                                                 \
    X(URL_NONE)                                                                                    \
    X(URL_SCHEME)                                                                                  \
    X(URL_BAD)                                                                                     \
    X(URL_STRAY)                                                                                   \
    X(URL_QUOTES)                                                                                  \
    X(URL_DOUBLED_V1)                                                                              \
    X(URL_ENDPOINT)                                                                                \
    X(URL_SLASH)                                                                                   \
    X(URL_QUERY)                                                                                   \
    X(URL_LISTEN)                                                                                  \
    X(URL_NO_V1)                                                                                   \
    X(URL_EXTRA_V1)                                                                                \
    X(URL_IS_KEY)                                                                                  \
    X(URLS_DIFFER)                                                                                 \
    X(URL_UNUSED)                                                                                  \
    /* key */                                                                                      \
    X(KEY_UNSET)                                                                                   \
    X(KEY_NONE)                                                                                    \
    X(KEY_NEWLINE)                                                                                 \
    X(KEY_STRAY)                                                                                   \
    X(KEY_QUOTES)                                                                                  \
    X(KEY_BEARER)                                                                                  \
    X(KEY_UNEXPANDED)                                                                              \
    X(KEY_PLACEHOLDER)                                                                             \
    X(KEY_VENDOR)                                                                                  \
    X(KEY_IS_LOGIN)                                                                                \
    X(KEY_IS_URL)                                                                                  \
    X(KEY_AND_TOKEN)                                                                               \
    X(KEYS_DIFFER)                                                                                 \
    X(OAUTH_AND_KEY)                                                                               \
    /* settings files */                                                                           \
    X(SETTINGS_BROKEN)                                                                             \
    X(SETTINGS_OVERRIDE)                                                                           \
    X(SETTINGS_DIFFER)                                                                             \
    X(SETTINGS_ENV_UNSET)                                                                          \
    X(LOGIN_OVERRIDES)                                                                             \
    X(LOGIN_TO_OTHER)                                                                              \
    X(KEY_REJECTED)                                                                                \
    X(HELPER_AND_KEY)                                                                              \
    /* proxies */                                                                                  \
    X(PROXY_UNUSABLE)                                                                              \
    X(PROXY_TWINS)                                                                                 \
    X(PROXY_LOOPBACK)                                                                              \
    X(PROXY_UPPER)                                                                                 \
    X(PROXY_EXCEPTION)                                                                             \
    X(PROXY_USED)                                                                                  \
    X(PROXY_LOGIN)                                                                                 \
    X(PROXY_REFUSED)                                                                               \
    X(PROXY_DOWN)                                                                                  \
    /* network */                                                                                  \
    X(DNS_NO_NAME)                                                                                 \
    X(DNS_TROUBLE)                                                                                 \
    X(TCP_REFUSED)                                                                                 \
    X(TCP_TIMEOUT)                                                                                 \
    X(TCP_UNREACHABLE)                                                                             \
    X(TCP_FAILED)                                                                                  \
    X(TCP_FIRST_ADDRESS)                                                                           \
    X(TLS_PLAIN_SERVER)                                                                            \
    X(TLS_EXPIRED)                                                                                 \
    X(TLS_EXPIRES)                                                                                 \
    X(TLS_NAME)                                                                                    \
    X(TLS_ISSUER)                                                                                  \
    X(TLS_OTHER)                                                                                   \
    X(CLOCK_SKEW)                                                                                  \
    /* answers */                                                                                  \
    X(HTTP_TO_TLS)                                                                                 \
    X(HTTP_NOT)                                                                                    \
    X(HTTP_SILENT)                                                                                 \
    X(HTTP_401)                                                                                    \
    X(HTTP_401_PROXY)                                                                              \
    X(HTTP_402)                                                                                    \
    X(HTTP_403)                                                                                    \
    X(HTTP_403_WALL)                                                                               \
    X(HTTP_404)                                                                                    \
    X(HTTP_405)                                                                                    \
    X(HTTP_REDIRECT)                                                                               \
    X(HTTP_429)                                                                                    \
    X(HTTP_400)                                                                                    \
    X(HTTP_501)                                                                                    \
    X(HTTP_502)                                                                                    \
    X(HTTP_503)                                                                                    \
    X(HTTP_504)                                                                                    \
    X(HTTP_5XX)                                                                                    \
    X(HTTP_PAGE)                                                                                   \
    X(HTTP_ERROR_IN_200)                                                                           \
    X(MODELS_UNREADABLE)                                                                           \
    X(MODELS_EMPTY)                                                                                \
    X(MODEL_UNKNOWN)                                                                               \
    X(MODEL_UNTOLD)                                                                                \
    /* streams */                                                                                  \
    X(STREAM_NOT)                                                                                  \
    X(STREAM_TYPE)                                                                                 \
    X(STREAM_ERROR)                                                                                \
    X(STREAM_CUT)                                                                                  \
    X(STREAM_BAD_JSON)                                                                             \
    X(STREAM_NO_OUTPUT)                                                                            \
    X(STREAM_NO_DONE)                                                                              \
    X(STREAM_NO_CHOICES)                                                                           \
    X(STREAM_FILTER)                                                                               \
    X(USAGE_REFUSED)                                                                               \
    X(USAGE_MISSING)                                                                               \
    X(USAGE_WRONG)                                                                                 \
    X(BUFFERED)                                                                                    \
    X(BUFFERED_PART)                                                                               \
    X(GZIP_UNASKED)                                                                                \
    X(GZIP_BUFFERS)                                                                                \
    /* metrics and rules */                                                                        \
    X(METRICS_OFF)                                                                                 \
    X(METRICS_HIDDEN)                                                                              \
    X(METRICS_NOT)                                                                                 \
    X(METRICS_LOG_STATS)                                                                           \
    X(METRICS_UNKNOWN)                                                                             \
    X(METRICS_MISSING)                                                                             \
    X(METRICS_MISTAKES)                                                                            \
    X(BUCKETS_SMALL)                                                                               \
    X(CONFIG_MISTAKE)                                                                              \
    X(RULES_MISTAKE)                                                                               \
    X(FOR_SHORT)                                                                                   \
    X(RANGE_SHORT)                                                                                 \
    X(METRIC_UNKNOWN_NAME)

enum doctor_cause {
#define X(name) CAUSE_##name,
    DOCTOR_CAUSES(X)
#undef X
        CAUSE_COUNT_
};

struct doctor_cause_info {
    const char *id; /* "key_quotes" */
    enum doctor_level level;
    unsigned is_a;     /* bits of enum doctor_about: this is such a failure */
    unsigned explains; /* it may be the reason of such failures */
    const char *remedy;
};
extern const struct doctor_cause_info doctor_causes[CAUSE_COUNT_];

#endif
