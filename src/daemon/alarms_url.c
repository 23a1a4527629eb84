/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms_url.c - what links in alerts begin with.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/alarms_private.h"
#include "io/addr.h"

enum { URL_MAX = sizeof("http://:65535") + HOST_NAME_MAX };

/* The admin listener speaks no TLS. */
static void own_url(const char *admin, char dst[URL_MAX])
{
    char host[HOST_NAME_MAX + 1] = "";
    struct addr at;
    struct err err;
    dst[0] = '\0';
    if (addr_parse(span_cstr(admin), &at, &err) < 0 || addr_is_unix(&at))
        return;
    if (gethostname(host, sizeof(host) - 1) < 0 || host[0] == '\0')
        (void)span_copy(SPAN("localhost"), host, sizeof(host));
    (void)snprintf(dst, URL_MAX, "http://%s:%u", host, (unsigned)addr_port(&at));
}

int alarms_url(const char *configured, const char *admin, char **ret)
{
    char own[URL_MAX];
    struct span url = span_cstr(configured);
    if (url.n == 0) {
        own_url(admin, own);
        url = span_cstr(own);
    }
    while (span_ends_with(url, SPAN("/")))
        url.n--;
    char *copy = mem_strndup(url.p, url.n);
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}
