/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_private.h - private to doctor/: what the steps of one run share.
 *
 * Out of memory is sticky: texts become empty, results are left out, and doctor_run says so.
 */
#ifndef DOCTOR_DOCTOR_PRIVATE_H
#define DOCTOR_DOCTOR_PRIVATE_H

#include "doctor/doctor.h"
#include "doctor/doctor_net.h"
#include "doctor/doctor_page.h"
#include "doctor/doctor_status.h"
#include "doctor/doctor_stream.h"
#include "doctor/doctor_url.h"
#include "doctor/doctor_vendor.h"
#include "io/proxy.h"

enum { DOCTOR_OF_STEP_MAX = 24, DOCTOR_RESULTS_MAX = DOCTOR_OF_STEP_MAX * STEP_COUNT_ };
enum { DOCTOR_MODELS_MAX = 2000, DOCTOR_RULE_FILES_MAX = 64 };

/* A kind of API: how clients ask. */
struct doctor_api {
    const char *name;
    const char *models, *chat; /* behind the base URL */
    const char *prefix;        /* what clients put between the base URL and those: "/v1", "" */
    const char *key_field;     /* header of the key; NULL: Authorization, Bearer */
    const char *fields;        /* more header lines */
    const char *dialect;
};

/* The base URL in use, and the key. */
struct doctor_setting {
    struct span value;
    const char *name; /* the variable or flag that it is from; NULL: none */
    bool is_argument; /* given on the command line: may leave /v1 out */
};

struct doctor {
    const struct doctor_ask *ask;
    struct arena *arena;
    bool is_out_of_memory;

    struct doctor_result results[DOCTOR_RESULTS_MAX];
    bool concerns[DOCTOR_RESULTS_MAX]; /* is about the URL or the key in use */
    size_t n_results;
    enum doctor_step step; /* under way */
    size_t n_of_step;      /* its results, also those that are left out */

    const struct doctor_api *api;
    struct doctor_setting base, key;
    struct doctor_url url; /* of base, where has_url; path without /v1 where that is not part */
    bool has_url;
    bool key_is_bearer;   /* ANTHROPIC_AUTH_TOKEN: whatever the API's key_field */
    bool key_is_withheld; /* another vendor's, and nobody said to send it */
    struct proxy proxy;   /* host "": none */

    struct doctor_net net;            /* pool, loop: set up by the first step on the network */
    struct resolver_answer addresses; /* of the server, or of the proxy */
    struct doctor_answer connected;
    struct doctor_answer models; /* GET of the list */
    struct span model_ids[DOCTOR_MODELS_MAX];
    size_t n_models;
    struct span owner;            /* "owned_by" of the first model: which engine */
    struct span model;            /* in use; empty: none is known */
    int64_t ttft_1_ns;            /* of the stream of one token; -1 */
    struct doctor_stream shape;   /* of the stream of one token */
    bool is_coded;                /* it was compressed and could not be read */
    bool is_steady;               /* a longer stream came as it was made */
    bool drops_usage;             /* the server refuses stream_options */
    bool wants_completion_tokens; /* max_completion_tokens instead of max_tokens */
    struct doctor_page page;
};

/* --- results.c --- */

/* Adds a result to the step under way; text as by printf. concerns: the URL or key in use is what
 * it is about, so that it may explain what fails later. */
void doctor_add(struct doctor *d, enum doctor_cause cause, bool concerns, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* The same, of the URL or key in use, where it only matters if something fails that it explains. */
void doctor_suspect(struct doctor *d, enum doctor_cause cause, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* As doctor_add with a remedy of its own. */
void doctor_add_remedy(struct doctor *d, enum doctor_cause cause, struct span remedy,
                       const char *fmt, ...) PRINTF_LIKE(4, 5);
void doctor_ok(struct doctor *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
void doctor_skip(struct doctor *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Says how many results were left out, behind the last one. */
void doctor_end_step(struct doctor *d);
/* In the arena; empty without memory. */
struct span doctor_text(struct doctor *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "sk-a... (51 characters)"; of eight characters or fewer only how many. */
struct span doctor_masked(struct doctor *d, struct span secret);
bool doctor_has_failed(const struct doctor *d, enum doctor_step step);
/* Suspicions that nothing came of are taken out; sets *ret. */
int doctor_report_make(struct doctor *d, struct doctor_report *ret) WARN_UNUSED;

/* --- the steps --- */
void doctor_step_url(struct doctor *d);
void doctor_step_key(struct doctor *d);
void doctor_step_variables(struct doctor *d);
void doctor_step_settings(struct doctor *d);
void doctor_step_proxy(struct doctor *d);
void doctor_step_dns(struct doctor *d);
void doctor_step_tcp(struct doctor *d);
void doctor_step_tls(struct doctor *d);
void doctor_step_http(struct doctor *d);
void doctor_step_clock(struct doctor *d);
void doctor_step_models(struct doctor *d);
void doctor_step_stream(struct doctor *d);
void doctor_step_usage(struct doctor *d);
void doctor_step_buffering(struct doctor *d);
void doctor_step_gzip(struct doctor *d);
void doctor_step_metrics(struct doctor *d);
void doctor_step_buckets(struct doctor *d);
void doctor_step_rules(struct doctor *d);

/* --- between steps --- */

/* choose.c: the API, the URL and the key that count. */
void doctor_choose(struct doctor *d);
/* A variable that is set and not empty; else an empty span. */
struct span doctor_variable(const struct doctor *d, const char *name);

/* check.c: what is odd about a URL or a key, wherever it is from; each is a result. True: there was
 * something. */
bool doctor_check_url(struct doctor *d, const char *where, struct span value, bool is_in_use);
bool doctor_check_key(struct doctor *d, const char *where, struct span value,
                      enum doctor_vendor wanted, bool is_in_use);

/* requests.c: one request to the server in use, with the key; the path is behind the base URL's own
 * one; body empty: GET. */
struct request_options {
    const char *method; /* "GET", "POST" */
    struct span path;   /* whole: base path and what is behind it */
    struct span body;
    bool accepts_gzip, is_stream, without_key;
};
void doctor_request(struct doctor *d, const struct request_options *o, struct doctor_answer *ret);
int64_t doctor_timeout_ns(const struct doctor *d); /* of one request */
/* The base URL, without credentials. */
struct span doctor_shown_url(struct doctor *d);
/* Path of the base URL with that behind it: "/v1" + "/models". */
struct span doctor_path(struct doctor *d, const char *tail);
/* A streamed chat request; n_tokens at most. */
void doctor_chat(struct doctor *d, int n_tokens, bool accepts_gzip, struct doctor_answer *ret);

/* status.c: an answer that is no success, as a result. */
void doctor_tell_status(struct doctor *d, const struct doctor_answer *a, struct span path);
/* reach.c: a request that brought no answer, as a result. */
void doctor_tell_failure(struct doctor *d, const struct doctor_answer *a);

#endif
