/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/reach_steps.c - name, connection, TLS: to the server, or to the proxy in front of it.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "doctor/doctor_private.h"

enum { DIAL_S = 5, DAY_S = 24 * 3600, SKEW_TLS_S = 300 };

static bool has_proxy(const struct doctor *d)
{
    return d->proxy.host[0] != '\0';
}

static struct doctor_target target_of(const struct doctor *d)
{
    return (struct doctor_target){
        .host = d->url.host,
        .port = d->url.port,
        .is_tls = d->url.is_tls,
        .ca_file = d->ask->ca_file,
        .proxy = d->proxy,
    };
}

/* --- name --- */

static void tell_name(struct doctor *d, const char *host, int error)
{
    if (error == -ENOENT)
        doctor_add(d, has_proxy(d) ? CAUSE_PROXY_DOWN : CAUSE_DNS_NO_NAME, true,
                   "%sthere is no name \"%s\"", has_proxy(d) ? "the proxy's: " : "", host);
    else
        doctor_add(d, CAUSE_DNS_TROUBLE, true, "\"%s\" could not be looked up: %s", host,
                   error == -EAGAIN ? "no name server answered, or it failed itself"
                                    : err_str(error));
}

void doctor_step_dns(struct doctor *d)
{
    struct doctor_target to = target_of(d);
    struct span host = has_proxy(d) ? span_cstr(d->proxy.host) : d->url.host;
    uint16_t port = has_proxy(d) ? d->proxy.port : d->url.port;
    char name[ADDR_HOST_MAX], shown[ADDR_TEXT_MAX];
    struct err err = {0};
    int r = doctor_net_open(&d->net, &to, &err);

    (void)span_copy(host, name, sizeof(name));
    if (r < 0) {
        doctor_add(d, CAUSE_TLS_OTHER, true, "%s", err.text[0] ? err.text : err_str(r));
        return;
    }
    if (addr_from_literal(host, port, &d->addresses.addrs[0])) {
        d->addresses.n_addrs = 1;
        doctor_ok(d, "%s is an address", name);
        return;
    }
    r = doctor_net_name(&d->net, name, port, doctor_timeout_ns(d), &d->addresses);
    if (r < 0) {
        tell_name(d, name, r);
        return;
    }
    addr_format(&d->addresses.addrs[0], shown);
    doctor_ok(d, "%s has %d address%s, the first is %s", name, d->addresses.n_addrs,
              d->addresses.n_addrs == 1 ? "" : "es", shown);
}

/* --- connection --- */

static enum doctor_cause cause_of_connect(int error)
{
    switch (error) {
    case -ECONNREFUSED:
        return CAUSE_TCP_REFUSED;
    case -ETIMEDOUT:
        return CAUSE_TCP_TIMEOUT;
    case -EHOSTUNREACH:
    case -ENETUNREACH:
        return CAUSE_TCP_UNREACHABLE;
    default:
        return CAUSE_TCP_FAILED;
    }
}

void doctor_step_tcp(struct doctor *d)
{
    char shown[ADDR_TEXT_MAX];
    int first_error = 0;
    bool is_open = false;
    mono_t begin = clock_mono();

    for (int i = 0; i < d->addresses.n_addrs && !is_open; i++) {
        int r = doctor_net_connection(&d->net, &d->addresses.addrs[i], DIAL_S * NS_PER_S);
        is_open = r == 0;
        if (i == 0)
            first_error = r;
    }
    addr_format(&d->addresses.addrs[0], shown);
    if (!is_open && has_proxy(d))
        doctor_add(d, CAUSE_PROXY_DOWN, true, "the proxy %s: %s", shown, err_str(first_error));
    else if (!is_open)
        doctor_add(d, cause_of_connect(first_error), true, "%s: %s", shown, err_str(first_error));
    else if (first_error < 0)
        doctor_add(d, CAUSE_TCP_FIRST_ADDRESS, true,
                   "%s: %s; another of the name's %d addresses can be reached", shown,
                   err_str(first_error), d->addresses.n_addrs);
    else
        doctor_ok(d, "%s answers in %.1f ms", shown, (double)mono_diff(clock_mono(), begin) / 1e6);
}

/* --- TLS --- */

static enum doctor_cause cause_of_tls(const char *why)
{
    static const struct {
        const char *words;
        enum doctor_cause cause;
    } table[] = {
        {"does not speak TLS", CAUSE_TLS_PLAIN_SERVER},
        {"plain HTTP to a port", CAUSE_TLS_PLAIN_SERVER},
        {"has expired", CAUSE_TLS_EXPIRED},
        {"not valid yet", CAUSE_TLS_EXPIRED},
        {"another name", CAUSE_TLS_NAME},
        {"another address", CAUSE_TLS_NAME},
        {"issuer", CAUSE_TLS_ISSUER},
        {"self-signed", CAUSE_TLS_ISSUER},
    };

    for (size_t i = 0; why && i < ARRAY_LEN(table); i++)
        if (strstr(why, table[i].words))
            return table[i].cause;
    return CAUSE_TLS_OTHER;
}

/* The server's clock by a request whose answer is not trusted; 0: not told. */
static int64_t untrusted_skew(struct doctor *d)
{
    struct doctor_target to = target_of(d);
    struct doctor_net net;
    struct doctor_answer a;
    struct err err;
    struct span head =
        doctor_text(d, "GET / HTTP/1.1\r\nHost: %.*s\r\n\r\n", SPAN_ARG(d->url.host));
    int64_t skew_s = 0;

    to.is_unverified = true;
    if (doctor_net_open(&net, &to, &err) < 0)
        return 0;
    if (doctor_net_request(&net, head, (struct span){"", 0}, doctor_timeout_ns(d), d->arena, &a) <
        0)
        d->is_out_of_memory = true;
    else if (!doctor_skew(&a, &skew_s))
        skew_s = 0;
    doctor_net_close(&net);
    return skew_s;
}

static void tell_tls(struct doctor *d, const struct doctor_answer *a)
{
    enum doctor_cause cause = cause_of_tls(a->why);
    int64_t skew_s = cause == CAUSE_TLS_EXPIRED ? untrusted_skew(d) : 0;

    if (skew_s > SKEW_TLS_S || skew_s < -SKEW_TLS_S)
        doctor_add(d, CAUSE_CLOCK_SKEW, true,
                   "the clock here is %lld s %s that of the server, which may be why its "
                   "certificate is out of its time",
                   (long long)(skew_s < 0 ? -skew_s : skew_s), skew_s > 0 ? "ahead of" : "behind");
    doctor_add(d, cause, true, "%.*s: %s", SPAN_ARG(d->url.host),
               a->why ? a->why : err_str(a->error));
}

void doctor_tell_failure(struct doctor *d, const struct doctor_answer *a)
{
    switch (a->phase) {
    case HTTP_PHASE_DNS:
        tell_name(d, "the server", a->error);
        break;
    case HTTP_PHASE_CONNECT:
        doctor_add(d, cause_of_connect(a->error), true, "%s", err_str(a->error));
        break;
    case HTTP_PHASE_PROXY:
        doctor_add(d, a->proxy_status == 407 ? CAUSE_PROXY_LOGIN : CAUSE_PROXY_REFUSED, true,
                   "the proxy %s:%d made no way to the server: status %d", d->proxy.host,
                   d->proxy.port, a->proxy_status);
        break;
    case HTTP_PHASE_TLS:
        tell_tls(d, a);
        break;
    case HTTP_PHASE_EXCHANGE:
        if (a->error == -ETIMEDOUT)
            doctor_add(d, CAUSE_HTTP_SILENT, true, "no answer in %lld s",
                       (long long)(doctor_timeout_ns(d) / NS_PER_S));
        else if (a->error == -EPIPE || a->error == -ECONNRESET)
            doctor_add(d, CAUSE_HTTP_NOT, true, "the connection was closed without an answer");
        else
            doctor_add(d, CAUSE_HTTP_NOT, true, "the answer could not be read: %s",
                       a->why ? a->why : err_str(a->error));
        break;
    }
}

void doctor_step_tls(struct doctor *d)
{
    struct doctor_answer *a = &d->connected;
    int64_t now_s = clock_wall().us / US_PER_S, left_s;

    if (!d->url.is_tls) {
        doctor_ok(d, "plain HTTP");
        return;
    }
    if (doctor_net_request(&d->net, (struct span){"", 0}, (struct span){"", 0},
                           doctor_timeout_ns(d), d->arena, a) < 0) {
        d->is_out_of_memory = true;
        return;
    }
    if (a->error < 0) {
        if (a->error == -ETIMEDOUT)
            a->phase = HTTP_PHASE_TLS;
        doctor_tell_failure(d, a);
        return;
    }
    left_s = a->cert_until_s - now_s;
    if (doctor_expires_soon(a->cert_from_s, a->cert_until_s, now_s))
        doctor_add(d, CAUSE_TLS_EXPIRES, true, "the certificate is valid for %lld more days",
                   (long long)(left_s / DAY_S));
    else
        doctor_ok(d, "the certificate is trusted, and valid for %lld more days",
                  (long long)(left_s / DAY_S));
}
