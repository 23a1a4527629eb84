/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web/web.h - requests of the control plane over HTTP: many at once, none waiting for another.
 *
 * Role:      libcurl's multi interface in one place, for webhooks, scrapes, probes: TLS, proxies,
 *            redirects and compression are its job. (The byte path has a client of its own,
 *            src/http.)
 * Bounds:    a request's timeout is that of all of it: names, connecting, TLS, answer. A name
 *            server that hangs is left behind. Of an answer at most answer_max bytes are kept,
 *            counted as decoded.
 * Secrets:   URLs, headers and bodies are never in words or the log.
 * Memory:    of libcurl from base/mem.h (that of OpenSSL and the resolver not).
 * Threading: everything from one thread, but web_wake. SIGPIPE has to be ignored.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/span.h"

enum { WEB_TIMEOUT_MS = 10 * 1000, WEB_ANSWER_MAX = 64 * 1024 };

struct web_header {
    struct span name, value;
};
/* TLS and the way there; empty: the system's trust, no certificate, no proxy but the environment's.
 * ca_file stands in place of the system's trust. server_name: for TLS, in place of the host of the
 * URL, which is connected to and asked for all the same. */
struct web_link {
    bool skips_verification;
    struct span ca_file, cert_file, key_file, server_name;
    struct span proxy_url; /* "none": not the environment's either */
};
/* gzip, deflate, br, zstd as libcurl has them. */
enum web_coding {
    WEB_CODING_AS_SENT, /* nothing is said of it, nothing decoded */
    WEB_CODING_ANY,     /* asked for and decoded */
    WEB_CODING_PLAIN,   /* none is asked for; decoded where the server does it all the same */
};
struct web_request {
    bool is_post;
    struct span url; /* http(s):// */
    struct span body, content_type;
    const struct web_header *headers;
    size_t n_headers;
    struct span user, password; /* Basic; empty: none. */
    struct web_link link;
    int64_t timeout_ms; /* 0: WEB_TIMEOUT_MS */
    size_t answer_max;  /* 0: WEB_ANSWER_MAX */
    /* Up to 5, to http and https only. To another host, another port, or from https to http goes
     * nothing of headers, user, password, certificate. */
    bool follows_redirects;
    enum web_coding coding;
    bool keeps_connection; /* for the next request to that host */
};

struct web_reply {
    /*
     * Of the transfer; 0: an answer came. -EHOSTUNREACH: no such name. -ECONNREFUSED: no
     * connection. -ECONNRESET: it ended too early. -ETIMEDOUT. -EKEYREJECTED: a certificate, ours
     * or theirs. -EPROTO: no TLS. -EINVAL: no URL. -EBADMSG: no HTTP, or wrongly compressed.
     * -EMSGSIZE: headers above 64 KiB. -ELOOP, -EPROTONOSUPPORT: redirects, too many or to
     * elsewhere. -ENOMEM, -EIO.
     */
    int error;
    struct span words; /* what went wrong there, for people; no secrets */
    int status;
    struct span body, content_type;
    bool is_cut;            /* there was more than answer_max */
    int64_t retry_after_ms; /* -1: none */
    /* Since the start, each, of the last redirect; -1: it did not come to that, or the connection
     * had been kept. */
    int64_t name_ns, connect_ns, tls_ns, first_byte_ns, total_ns;
    struct span redirected_to; /* where that was, when it is another URL; no user, no password */
};

struct web;
/* What came of a request, called by web_turn; the reply is valid during the call. */
typedef void (*web_done)(void *ctx, void *tag, const struct web_reply *reply);

int web_new(struct web **ret) WARN_UNUSED;
/* Breaks off what is under way: done is not called for it. NULL is allowed; returns NULL. */
struct web *web_free(struct web *w);

/* r and what it points to have to stay until done (which may start another). -EINVAL: it cannot be
 * sent as it is. */
int web_start(struct web *w, const struct web_request *r, web_done done, void *ctx,
              void *tag) WARN_UNUSED;
/* Moves requests on; waits up to wait_ms for something to do. */
void web_turn(struct web *w, int64_t wait_ms);
/* Ends that wait. Any thread. */
void web_wake(struct web *w);
size_t web_n(const struct web *w); /* under way */

#endif
