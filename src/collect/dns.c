/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/dns.c - the C library's resolver asked for one type of records.
 *
 * Its state is made for each lookup, so that a new resolv.conf counts at once.
 */
#include "collect/dns.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>

#include "base/mem.h"

enum { ANSWER_MAX = 64 * 1024, NAME_MAX_BYTES = 1025, RDATA_FIXED_SRV = 6, RDATA_FIXED_MX = 2 };

static const ns_type types[] = {
    [SCRAPE_DNS_SRV] = ns_t_srv,
    [SCRAPE_DNS_A] = ns_t_a,
    [SCRAPE_DNS_AAAA] = ns_t_aaaa,
    [SCRAPE_DNS_MX] = ns_t_mx,
};

static int read_name(ns_msg *msg, const unsigned char *at, struct arena *a, struct span *ret)
{
    char name[NAME_MAX_BYTES];

    if (dn_expand(ns_msg_base(*msg), ns_msg_end(*msg), at, name, sizeof(name)) < 0)
        return -EBADMSG;
    struct span s = span_cstr(name);
    while (s.n > 0 && s.p[s.n - 1] == '.')
        s.n--;
    *ret = arena_dup(a, s);
    return ret->p ? 0 : -ENOMEM;
}

static int read_address(const ns_rr *rr, struct arena *a, struct span *ret)
{
    bool is_v6 = ns_rr_type(*rr) == ns_t_aaaa;
    char text[INET6_ADDRSTRLEN];

    if (ns_rr_rdlen(*rr) != (is_v6 ? sizeof(struct in6_addr) : sizeof(struct in_addr)) ||
        !inet_ntop(is_v6 ? AF_INET6 : AF_INET, ns_rr_rdata(*rr), text, sizeof(text)))
        return -EBADMSG;
    *ret = arena_dup(a, span_cstr(text));
    return ret->p ? 0 : -ENOMEM;
}

static int read_record(ns_msg *msg, const ns_rr *rr, struct arena *a, struct dns_record *ret)
{
    const unsigned char *data = ns_rr_rdata(*rr);

    switch (ns_rr_type(*rr)) {
    case ns_t_srv:
        if (ns_rr_rdlen(*rr) <= RDATA_FIXED_SRV)
            return -EBADMSG;
        ret->port = (uint16_t)(data[4] << 8 | data[5]);
        return read_name(msg, data + RDATA_FIXED_SRV, a, &ret->target);
    case ns_t_mx:
        if (ns_rr_rdlen(*rr) <= RDATA_FIXED_MX)
            return -EBADMSG;
        return read_name(msg, data + RDATA_FIXED_MX, a, &ret->target);
    default:
        return read_address(rr, a, &ret->target);
    }
}

int dns_answer_read(const unsigned char *answer, int n_answer, enum scrape_dns_type type,
                    struct arena *a, struct dns_record **ret, size_t *ret_n)
{
    struct dns_record *records;
    ns_msg msg;
    size_t n = 0;

    if (ns_initparse(answer, n_answer, &msg) < 0)
        return -EBADMSG;
    records = arena_zalloc(a, ns_msg_count(msg, ns_s_an), sizeof(*records));
    if (!records)
        return -ENOMEM;
    for (int i = 0; i < ns_msg_count(msg, ns_s_an); i++) {
        ns_rr rr;
        if (ns_parserr(&msg, ns_s_an, i, &rr) < 0)
            return -EBADMSG;
        if (ns_rr_type(rr) != types[type]) /* a CNAME on the way */
            continue;
        int r = read_record(&msg, &rr, a, &records[n]);
        if (r < 0)
            return r;
        n += records[n].target.n > 0; /* "." of a service that is not offered */
    }
    *ret = records;
    *ret_n = n;
    return 0;
}

static int fail(struct err *reterr, struct span name, const char *why)
{
    char shown[ERR_LIST_SHOWN_MAX];

    (void)err_set(reterr, -EAGAIN, "\"%s\" could not be looked up: %s", err_list_shown(name, shown),
                  why);
    err_hint(reterr, "look at /etc/resolv.conf and the name server that it names");
    return -EAGAIN;
}

static int ask(struct __res_state *state, struct span name, enum scrape_dns_type type,
               unsigned char *answer, struct arena *a, struct dns_record **ret, size_t *ret_n,
               struct err *reterr)
{
    struct span text = arena_dup(a, name); /* ends with a NUL */

    if (!text.p)
        return -ENOMEM;
    int n = res_nsearch(state, text.p, ns_c_in, types[type], answer, ANSWER_MAX);
    if (n < 0 && (state->res_h_errno == HOST_NOT_FOUND || state->res_h_errno == NO_DATA)) {
        *ret = NULL;
        *ret_n = 0;
        return 0;
    }
    if (n < 0)
        return fail(reterr, name, "no name server answered");
    int r = dns_answer_read(answer, n < ANSWER_MAX ? n : ANSWER_MAX, type, a, ret, ret_n);
    return r == -EBADMSG ? fail(reterr, name, "the answer of the name server cannot be read") : r;
}

int dns_lookup(struct span name, enum scrape_dns_type type, const struct sockaddr_in *server,
               struct arena *a, struct dns_record **ret, size_t *ret_n, struct err *reterr)
{
    struct __res_state state;
    unsigned char *answer = mem_alloc(ANSWER_MAX);

    if (!answer)
        return -ENOMEM;
    memset(&state, 0, sizeof(state));
    if (res_ninit(&state) < 0) {
        mem_free(answer);
        return fail(reterr, name, "the resolver cannot be set up");
    }
    if (server) {
        state.nsaddr_list[0] = *server;
        state.nscount = 1;
    }
    state.retrans = DNS_WAIT_S;
    state.retry = 2;
    int r = ask(&state, name, type, answer, a, ret, ret_n, reterr);
    res_nclose(&state);
    mem_free(answer);
    return r;
}
