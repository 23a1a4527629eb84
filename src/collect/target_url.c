/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/target_url.c - the URL of a target, as Go's net/url writes it.
 */
#include <errno.h>
#include <stdlib.h>

#include "collect/target_private.h"

enum { URL_MAX = 64 * 1024 };
#define PARAM SPAN("__param_")

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-_.~", c));
}

/* plain: characters besides that stand for themselves. */
static int put_escaped(struct buf *b, struct span s, const char *plain, bool has_plus)
{
    int r = 0;

    for (size_t i = 0; i < s.n && r == 0; i++) {
        char c = s.p[i];
        if (is_unreserved(c) || (c != '\0' && strchr(plain, c)))
            r = buf_append(b, span_of(&c, 1));
        else if (c == ' ' && has_plus)
            r = buf_append(b, SPAN("+"));
        else
            r = buf_printf(b, "%%%02X", (unsigned char)c);
    }
    return r;
}

static int param_cmp(const void *a, const void *b)
{
    return span_cmp(((const struct scrape_param *)a)->name, ((const struct scrape_param *)b)->name);
}

/* Those of the job, and labels __param_NAME for the first value of each. */
static int gather(const struct scrape_job *j, struct labels all, struct arena *a,
                  struct scrape_param **ret, size_t *ret_n)
{
    struct scrape_param *params = arena_array(a, j->n_params + all.n, sizeof(*params));
    size_t n = j->n_params;

    if (!params)
        return -ENOMEM;
    if (n > 0)
        memcpy(params, j->params, n * sizeof(*params));
    for (size_t i = 0; i < all.n; i++) {
        struct span name = all.at[i].name;
        size_t k = 0;
        if (!span_starts_with(name, PARAM))
            continue;
        name = span_from(name, PARAM.n);
        while (k < n && !span_eq(params[k].name, name))
            k++;
        size_t n_values = k < n && params[k].n > 0 ? params[k].n : 1;
        struct span *values = arena_zalloc(a, n_values, sizeof(*values));
        if (!values)
            return -ENOMEM;
        if (k < n && params[k].n > 0)
            memcpy(values, params[k].values, n_values * sizeof(*values));
        values[0] = all.at[i].value;
        params[k] = (struct scrape_param){name, values, n_values};
        n += k == n;
    }
    if (n > 1)
        qsort(params, n, sizeof(*params), param_cmp);
    *ret = params;
    *ret_n = n;
    return 0;
}

static int put_query(struct buf *b, const struct scrape_param *params, size_t n)
{
    const char *sep = "?";
    int r = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < params[i].n && r == 0; k++) {
            r = buf_append(b, span_cstr(sep));
            if (r == 0)
                r = put_escaped(b, params[i].name, "", true);
            if (r == 0)
                r = buf_append(b, SPAN("="));
            if (r == 0)
                r = put_escaped(b, params[i].values[k], "", true);
            sep = "&";
        }
    return r;
}

int target_url_make(const struct scrape_job *j, struct labels all, struct arena *a,
                    struct span *ret)
{
    struct span scheme = labels_get(all, SPAN("__scheme__"));
    struct span address = labels_get(all, SPAN("__address__"));
    struct span path = labels_get(all, SPAN("__metrics_path__"));
    struct scrape_param *params = NULL;
    size_t n = 0;
    struct buf b;

    buf_init(&b, URL_MAX);
    int r = buf_printf(&b, "%.*s://%.*s%s", scheme.n > 0 ? (int)scheme.n : 4,
                       scheme.n > 0 ? scheme.p : "http", SPAN_ARG(address),
                       path.n > 0 && path.p[0] != '/' ? "/" : "");
    if (r == 0)
        r = put_escaped(&b, path, "$&+,/:;=@", false);
    if (r == 0)
        r = gather(j, all, a, &params, &n);
    if (r == 0)
        r = put_query(&b, params, n);
    if (r == 0) {
        *ret = arena_dup(a, buf_span(&b));
        r = ret->p ? 0 : -ENOMEM;
    }
    buf_done(&b);
    return r == -EMSGSIZE ? -EINVAL : r;
}
