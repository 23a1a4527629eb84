/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap/policy.h - what the byte path may ask: where to, with which edits, what to remove, how to
 * refuse.
 *
 * Order:     plan, then for each attempt aim, answer_head, wants_filter, filter*; plan_done.
 *
 * Role:      seam between gateway/ (knows bytes and HTTP) and policy/ (knows dialects). The path
 *            asks; policy answers from what it is given and keeps no reference to it.
 * Failing:   plan fails closed where it decides about access (a refusal), and open where it only
 *            helps measuring; the filter fails open (bytes pass unchanged).
 * Threading: one policy object per worker; all calls on that worker's thread.
 */
#ifndef TAP_POLICY_H
#define TAP_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"
#include "tap/tap.h"
#include "wire/http1.h"

enum { POLICY_EDITS_MAX = 4, POLICY_CANDIDATES_MAX = 8 };

/* Replace `remove` bytes at offset `at` of the window by insert (valid as long as the aim). */
struct policy_edit {
    size_t at;
    size_t remove;
    struct span insert;
};

struct policy_request {
    const struct http1_head *head; /* valid during the call */
    struct span window;            /* the body so far */
    bool is_complete;              /* window is the whole body */
    mono_t now;
    int64_t now_s;         /* Unix time */
    mono_t (*clock)(void); /* for what takes time in the plan; NULL: is not told */
};

struct policy; /* the worker's policy object */

/* Dialect knowledge of one exchange, opaque to the path; lives until plan_done. */
struct policy_exchange;

/* What holds for the whole request. */
struct policy_plan {
    struct policy_exchange *exchange; /* NULL with a refusal for want of memory */
    enum tap_reason refusal;          /* TAP_REASON_NONE: go on */
    const char *refusal_text;         /* static or owned by exchange */
    uint32_t retry_after_s;           /* with TAP_REASON_REJECTED; 0: not told */
    struct tap_identity identity;     /* owned by exchange; also of who is refused */
    bool is_answered;                 /* no upstream is needed: answer_body has it all */
    const char *warning;              /* for the operator, once; static; NULL: none */
    /* Indices into the gateway's upstreams, in the order of choice; 1 at least, but for a refusal
     * and what is answered here. */
    size_t n_candidates;
    uint16_t candidates[POLICY_CANDIDATES_MAX];
    int admission_class; /* 0 interactive, 1 batch */
    struct span tenant;  /* whose share of a queue it takes; copied */
    uint32_t estimated_tokens;
    bool is_stream;          /* the client asked for a stream */
    bool is_repeatable;      /* done twice it harms nobody: may be tried again though it was sent */
    bool wants_identity;     /* ask the upstream for an uncoded answer */
    struct tap_planned told; /* for the tap; `at` and the upstream are set by the path */
};

/*
 * What one attempt needs, for the upstream it goes to. Valid until the next aim or plan_done of
 * this exchange.
 */
struct policy_aim {
    struct span target; /* path and query to ask for, before the upstream's own base */
    size_t n_edits;     /* sorted by at, not overlapping */
    struct policy_edit edits[POLICY_EDITS_MAX];
    bool drops_credentials;      /* the client's stay here */
    struct span credential_name; /* the header that is set instead; empty: none */
    struct span credential;      /* its value: secret */
    bool is_usage_injected;
    const char *model; /* as this upstream calls it, where that is not as asked; else NULL */
};

struct policy_aim_request {
    const struct http1_head *head;
    struct span window; /* as it was planned */
    bool is_complete;
    size_t upstream;
    bool is_plain; /* without the edit that an upstream refused */
};

/* Verdict about an upstream's answer head, before anything went to the client. */
enum policy_verdict {
    POLICY_PASS,         /* pass it on */
    POLICY_REPEAT_PLAIN, /* the upstream refused our edit: once more without it */
};

struct policy_ops {
    /* Always fills *ret. */
    void (*plan)(struct policy *p, const struct policy_request *req, struct policy_plan *ret);
    /* The body of a plan that is_answered, as JSON, with status 200. 0 or -errno. */
    int (*answer_body)(struct policy *p, struct policy_exchange *x, struct buf *out);
    /* Before each attempt. Fills *ret; -ENOMEM, -EMSGSIZE. */
    int (*aim)(struct policy *p, struct policy_exchange *x, const struct policy_aim_request *req,
               struct policy_aim *ret);
    enum policy_verdict (*answer_head)(struct policy *p, struct policy_exchange *x,
                                       const struct http1_head *head);
    /* Whether the body of this answer must go through filter (something may have to be removed).
     * Asked once per answer, behind answer_head. Content-Length is dropped when true. */
    bool (*wants_filter)(struct policy *p, struct policy_exchange *x,
                         const struct http1_head *head);
    /* Bytes in -> bytes to pass on, appended as spans to out (valid until the next call on x).
     * Returns how many spans (<= max, at least 3 must fit) were written; *in is advanced; call
     * again while *in is not empty. is_last: no more follows, give up what was held back. */
    size_t (*filter)(struct policy *p, struct policy_exchange *x, struct span *in, bool is_last,
                     struct span *out, size_t max);
    /* The body of a refusal in the dialect's own form; x may be NULL (then by head, may be NULL).
     * Sets *ret_status and *ret_content_type (static). 0 or -errno. */
    int (*refusal_body)(struct policy *p, struct policy_exchange *x, const struct http1_head *head,
                        enum tap_reason reason, const char *text, int *ret_status,
                        const char **ret_content_type, struct buf *out);
    void (*plan_done)(struct policy *p, struct policy_exchange *x);
};

#endif
