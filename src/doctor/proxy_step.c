/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/proxy_step.c - forward proxies that the environment names: for this server, and for
 * programs that read the variables in other ways than we do.
 */
#include "doctor/doctor_private.h"

static const struct {
    const char *lower, *upper;
} twins[] = {
    {"http_proxy", "HTTP_PROXY"},
    {"https_proxy", "HTTPS_PROXY"},
    {"all_proxy", "ALL_PROXY"},
    {"no_proxy", "NO_PROXY"},
};

static size_t check_twins(struct doctor *d)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(twins); i++) {
        struct span lower = doctor_variable(d, twins[i].lower);
        struct span upper = doctor_variable(d, twins[i].upper);

        if (lower.n == 0 || upper.n == 0 || span_eq(lower, upper))
            continue;
        doctor_add(d, CAUSE_PROXY_TWINS, true, "%s and %s differ", twins[i].lower, twins[i].upper);
        n++;
    }
    return n;
}

/* The variable that programs would take for this server, whatever the exceptions; NULL: none. */
static const char *variable_for(const struct doctor *d)
{
    static const char *const of_tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const of_plain[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
    const char *const *names = d->url.is_tls ? of_tls : of_plain;

    for (size_t i = 0; i < ARRAY_LEN(of_tls); i++)
        if (doctor_variable(d, names[i]).n > 0)
            return names[i];
    return NULL;
}

static struct span exceptions(const struct doctor *d)
{
    struct span lower = doctor_variable(d, "no_proxy");

    return lower.n > 0 ? lower : doctor_variable(d, "NO_PROXY");
}

/* Entries that can never match. */
static size_t check_exceptions(struct doctor *d)
{
    struct span list = exceptions(d);
    size_t n = 0;

    while (list.n > 0) {
        struct span item = span_trim(span_split(&list, ','));

        if (span_find(item, SPAN("://")) == item.n && span_find_char(item, ';') == item.n)
            continue;
        doctor_add(d, CAUSE_PROXY_EXCEPTION, true,
                   "an entry of no_proxy has a scheme or a semicolon in it and excepts nothing");
        n++;
    }
    return n;
}

/* The server is on this machine or directly reached, and other programs may see it otherwise. */
static size_t check_others(struct doctor *d, const char *name)
{
    bool is_excepted = proxy_is_excepted(exceptions(d), d->url.host, d->url.port);

    if (!name || is_excepted)
        return 0;
    if (doctor_host_is_loopback(d->url.host)) {
        doctor_add(d, CAUSE_PROXY_LOOPBACK, true,
                   "%s is set, the server is on this machine, and no_proxy does not except it",
                   name);
        return 1;
    }
    if (strcmp(name, "HTTP_PROXY") == 0) {
        doctor_add(d, CAUSE_PROXY_UPPER, true, "HTTP_PROXY is set in upper case only");
        return 1;
    }
    return 0;
}

void doctor_step_proxy(struct doctor *d)
{
    const char *name = variable_for(d);
    struct err err = {0};
    size_t n_odd = check_twins(d) + check_exceptions(d) + check_others(d, name);

    if (proxy_from_env(d->ask->get, d->url.is_tls, d->url.host, d->url.port, &d->proxy, &err) < 0) {
        doctor_add(d, CAUSE_PROXY_UNUSABLE, true, "%s", err.text);
        return;
    }
    if (d->proxy.host[0] != '\0') {
        doctor_suspect(d, CAUSE_PROXY_USED, "requests go through the proxy %s:%d (%s)",
                       d->proxy.host, d->proxy.port, name);
        if (n_odd == 0)
            doctor_ok(d, "%s: requests go through %s:%d", name, d->proxy.host, d->proxy.port);
    } else if (n_odd == 0) {
        doctor_ok(d, name ? "one is set and not used for this server" : "none is used");
    }
}
