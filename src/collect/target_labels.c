/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/target_labels.c - what is discovered of a target becomes its labels, as in
 * Prometheus 2.42.
 */
#include <errno.h>

#include "collect/target_private.h"
#include "series/duration.h"

#define ADDRESS  SPAN("__address__")
#define SCHEME   SPAN("__scheme__")
#define PATH     SPAN("__metrics_path__")
#define INTERVAL SPAN("__scrape_interval__")
#define TIMEOUT  SPAN("__scrape_timeout__")
#define PARAM    "__param_"
#define META     SPAN("__meta_")
#define RESERVED SPAN("__")

/* --- before relabelling --- */

static int set(struct arena *a, struct labels *l, struct span name, struct span value)
{
    return labels_with(a, *l, name, value, l);
}

static int set_missing(struct arena *a, struct labels *l, struct span name, struct span value)
{
    return labels_get(*l, name).n > 0 ? 0 : set(a, l, name, value);
}

static int set_duration(struct arena *a, struct labels *l, struct span name, int64_t ms)
{
    struct buf b;
    struct span text = {NULL, 0};

    if (labels_get(*l, name).n > 0)
        return 0;
    buf_init(&b, 64);
    if (duration_print(ms, &b) == 0)
        text = arena_dup(a, buf_span(&b));
    buf_done(&b);
    return text.p ? set(a, l, name, text) : -ENOMEM;
}

static int set_param(struct arena *a, struct labels *l, const struct scrape_param *p)
{
    char *name;

    if (p->n == 0)
        return 0;
    name = arena_zalloc(a, sizeof(PARAM) + p->name.n, 1);
    if (!name)
        return -ENOMEM;
    memcpy(name, PARAM, sizeof(PARAM) - 1);
    memcpy(name + sizeof(PARAM) - 1, p->name.p, p->name.n);
    return set(a, l, span_of(name, sizeof(PARAM) - 1 + p->name.n), p->values[0]);
}

int target_discover(const struct scrape_job *j, struct span address, struct labels group,
                    struct labels discovered, struct arena *a, struct labels *ret)
{
    struct labels l = {NULL, 0};
    int r = set(a, &l, ADDRESS, address);

    for (size_t i = 0; i < discovered.n && r == 0; i++)
        r = set_missing(a, &l, discovered.at[i].name, discovered.at[i].value);
    for (size_t i = 0; i < group.n && r == 0; i++)
        r = set_missing(a, &l, group.at[i].name, group.at[i].value);
    if (r == 0)
        r = set_missing(a, &l, SPAN("job"), j->name);
    if (r == 0)
        r = set_duration(a, &l, INTERVAL, j->interval_ms);
    if (r == 0)
        r = set_duration(a, &l, TIMEOUT, j->timeout_ms);
    if (r == 0)
        r = set_missing(a, &l, PATH, j->path);
    if (r == 0)
        r = set_missing(a, &l, SCHEME, j->scheme);
    for (size_t i = 0; i < j->n_params && r == 0; i++)
        r = set_param(a, &l, &j->params[i]);
    return r < 0 ? r : labels_copy(a, l, ret);
}

/* --- behind it --- */

/* As Go's net.SplitHostPort; tail: what is thought to stand behind s. */
static bool has_port(struct span s, bool with_tail)
{
    size_t colon = s.n, first = span_find_char(s, ':');

    for (size_t i = 0; i < s.n && !with_tail; i++)
        colon = s.p[i] == ':' ? i : colon;
    if (colon == s.n && !with_tail)
        return false;
    if (s.n > 0 && s.p[0] == '[') {
        size_t end = span_find_char(s, ']');
        return end < s.n && end + 1 == colon && span_find_char(span_from(s, 1), '[') == s.n - 1 &&
               span_find_char(span_from(s, end + 1), ']') == s.n - end - 1;
    }
    return first == colon && span_find_char(s, '[') == s.n && span_find_char(s, ']') == s.n;
}

static int add_port(struct target *t, struct span *address, struct span scheme)
{
    struct span port = span_eq(scheme, SPAN("https")) ? SPAN(":443") : SPAN(":80");

    if (has_port(*address, false) || !has_port(*address, true))
        return 0;
    char *p = arena_zalloc(&t->arena, address->n + port.n + 1, 1);
    if (!p)
        return -ENOMEM;
    memcpy(p, address->p, address->n);
    memcpy(p + address->n, port.p, port.n);
    *address = span_of(p, address->n + port.n);
    return set(&t->arena, &t->all, ADDRESS, *address);
}

static bool is_host(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f || strchr("/?#@\\\"<>%", s.p[i]))
            return false;
    return true;
}

static int check_address(struct target *t, struct err *reterr)
{
    struct span address = labels_get(t->all, ADDRESS), scheme = labels_get(t->all, SCHEME);
    char shown[ERR_LIST_SHOWN_MAX];

    if (scheme.n == 0)
        scheme = SPAN("http");
    if (!span_eq(scheme, SPAN("http")) && !span_eq(scheme, SPAN("https"))) {
        (void)err_set(reterr, -EINVAL, "\"%s\" is no scheme", err_list_shown(scheme, shown));
        err_hint(reterr, "__scheme__ is http or https");
        return -EINVAL;
    }
    if (address.n == 0) {
        (void)err_set(reterr, -EINVAL, "relabelling left no address");
        err_hint(reterr, "__address__ has to be host:port");
        return -EINVAL;
    }
    int r = add_port(t, &address, scheme);
    if (r < 0)
        return r;
    if (!is_host(address) || !has_port(address, false)) {
        (void)err_set(reterr, -EINVAL, "\"%s\" is no address", err_list_shown(address, shown));
        err_hint(reterr, "it is host:port; scheme and path have keys of their own");
        return -EINVAL;
    }
    return set_missing(&t->arena, &t->all, SPAN("instance"), address);
}

static int read_duration(struct target *t, struct span name, int64_t *ret_ms, struct err *reterr)
{
    struct span text = labels_get(t->all, name);
    char shown[ERR_LIST_SHOWN_MAX];
    int64_t ms = 0;

    if (duration_parse(text, &ms) == 0 && ms > 0) {
        *ret_ms = ms;
        return 0;
    }
    (void)err_set(reterr, -EINVAL, "%.*s is no duration: \"%s\"", SPAN_ARG(name),
                  err_list_shown(text, shown));
    err_hint(reterr, "relabelling may set it to 5s, 1m");
    return -EINVAL;
}

static int read_times(struct target *t, struct err *reterr)
{
    int r = read_duration(t, INTERVAL, &t->interval_ms, reterr);

    if (r == 0)
        r = read_duration(t, TIMEOUT, &t->timeout_ms, reterr);
    if (r == 0 && t->timeout_ms > t->interval_ms) {
        (void)err_set(reterr, -EINVAL, "relabelling made the timeout longer than the interval");
        err_hint(reterr, "__scrape_timeout__ is at most __scrape_interval__");
        r = -EINVAL;
    }
    return r;
}

/* Those that do not begin so. */
static int without_prefix(struct arena *a, struct labels l, struct span prefix, struct labels *ret)
{
    struct label *pairs = arena_array(a, l.n, sizeof(*pairs));
    size_t n = 0;

    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < l.n; i++)
        if (!span_starts_with(l.at[i].name, prefix))
            pairs[n++] = l.at[i];
    *ret = (struct labels){pairs, n};
    return 0;
}

int target_labels_make(struct target *t, struct span address, struct labels group,
                       struct labels discovered, struct err *reterr)
{
    int r = target_discover(t->job, address, group, discovered, &t->arena, &t->discovered);

    if (r == 0)
        r = relabel_apply(t->job->relabel, t->discovered, &t->arena, &t->all);
    if (r == 0)
        return 1;
    if (r == -E2BIG)
        return err_set(reterr, -EINVAL, "relabelling makes a label that is too long");
    if (r > 0)
        r = check_address(t, reterr);
    if (r == 0)
        r = read_times(t, reterr);
    if (r == 0)
        r = without_prefix(&t->arena, t->all, META, &t->all);
    if (r == 0)
        r = labels_copy(&t->arena, t->all, &t->all); /* nothing is a rule's any more */
    if (r == 0)
        r = without_prefix(&t->arena, t->all, RESERVED, &t->labels);
    if (r < 0)
        return r;
    r = target_url_make(t->job, t->all, &t->arena, &t->url);
    return r == -EINVAL ? err_set(reterr, r, "its URL would be longer than 64 KiB") : r;
}
