/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_lists.c - lists: of addresses, of texts, of upstreams. One scalar stands for a list
 * of one.
 */
#include <errno.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/config_values.h"
#include "io/addr.h"

enum { TEXT_BYTES_MAX = 200, URL_BYTES_MAX = 1000 };

/* --- lists of texts --- */

/* Makes *ret of the text of one item; -EINVAL with the mistake listed, -ENOMEM. */
typedef int item_take(const struct config_source *source, const struct config_key *key,
                      const struct config_node *item, char **ret);

static void texts_done(void *field)
{
    struct config_texts *t = field;

    for (size_t i = 0; i < t->n; i++)
        mem_free(t->items[i]);
    mem_free(t->items);
    *t = (struct config_texts){0};
}

static int check_not_twice(const struct config_source *source, const struct config_key *key,
                           const struct config_node *item, const struct config_texts *t)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    for (size_t i = 0; i < t->n; i++) {
        if (span_eq(span_cstr(t->items[i]), config_node_span(item))) {
            e = config_keys_error(source, item);
            (void)err_set(e, -EEXIST, "\"%s\": \"%s\" stands twice", key->path,
                          err_list_shown(config_node_span(item), shown));
            err_hint(e, "remove one of them");
            return -EINVAL;
        }
    }
    return 0;
}

/* The items of node: its children, or the node itself when it is no list. */
static const struct config_node *items_first(const struct config_node *node)
{
    return node->kind == CONFIG_NODE_LIST ? node->first : node;
}

static size_t items_count(const struct config_node *node)
{
    return node->kind == CONFIG_NODE_LIST ? node->n : 1;
}

static int check_count(const struct config_source *source, const struct config_key *key,
                       const struct config_node *node, size_t n)
{
    char range[CONFIG_RANGE_MAX];
    struct err *e;

    if (n >= (size_t)key->min && n <= (size_t)key->max)
        return 0;
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, n == 0 ? "\"%s\" is empty" : "\"%s\" has too many items", key->path);
    err_hint(e, "allowed: %s", config_keys_range(key, range));
    return -EINVAL;
}

/* Every item is looked at, so that all mistakes are listed. */
static int texts_take(const struct config_source *source, const struct config_key *key,
                      const struct config_node *node, item_take *take, struct config_texts *t)
{
    const struct config_node *item = items_first(node);
    int result = 0;

    for (size_t i = items_count(node); i > 0; i--, item = item->next) {
        int r = take(source, key, item, &t->items[t->n]);

        if (r == 0)
            r = check_not_twice(source, key, item, t);
        else
            t->items[t->n] = NULL;
        t->n++;
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            result = r;
    }
    return result;
}

static int texts_set(const struct config_source *source, const struct config_key *key,
                     const struct config_node *node, bool is_append, item_take *take, void *field)
{
    struct config_texts *old = field;
    struct config_texts t = {0};
    size_t n_kept = is_append ? old->n : 0;
    int r = check_count(source, key, node, n_kept + items_count(node));

    if (r < 0)
        return r;
    t.items = mem_zalloc(n_kept + items_count(node) + 1, sizeof(*t.items));
    if (!t.items)
        return -ENOMEM;
    for (; t.n < n_kept; t.n++)
        t.items[t.n] = old->items[t.n];
    r = texts_take(source, key, node, take, &t);
    if (r < 0) {
        for (size_t i = 0; i < n_kept; i++)
            t.items[i] = NULL; /* still the old list's */
        texts_done(&t);
        return r;
    }
    if (is_append)
        old->n = 0; /* its texts have moved */
    texts_done(old);
    *old = t;
    return 0;
}

static int texts_format(const struct config_key *key, const void *field, struct buf *out)
{
    const struct config_texts *t = field;
    int r = buf_append(out, SPAN("["));

    (void)key;
    for (size_t i = 0; i < t->n && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(", "));
        if (r == 0)
            r = config_values_text(span_cstr(t->items[i]), out);
    }
    return r < 0 ? r : buf_append(out, SPAN("]"));
}

static bool texts_is_equal(const void *a, const void *b)
{
    const struct config_texts *ta = a, *tb = b;

    if (ta->n != tb->n)
        return false;
    for (size_t i = 0; i < ta->n; i++) {
        if (strcmp(ta->items[i], tb->items[i]) != 0)
            return false;
    }
    return true;
}

static int take_name(const struct config_source *source, const struct config_key *key,
                     const struct config_node *item, char **ret)
{
    if (item->kind == CONFIG_NODE_SCALAR && item->n == 0 && !item->is_plain)
        return err_set(config_keys_error(source, item), -EINVAL, "\"%s\" has an empty item",
                       key->path);
    if (item->is_plain && span_find_char(config_node_span(item), ',') < item->n) {
        struct err *e = config_keys_error(source, item);
        err_set(e, -EINVAL, "\"%s\": a name with a comma looks like several", key->path);
        err_hint(e, "write a list as [a, b]; put quotes around a name that has a comma");
        return -EINVAL;
    }
    return config_values_take_text(source, key, item, TEXT_BYTES_MAX, ret);
}

static int names_set(const struct config_source *source, const struct config_key *key,
                     const struct config_node *node, bool is_append, void *field)
{
    return texts_set(source, key, node, is_append, take_name, field);
}

const struct config_type config_type_texts = {
    .what = "a list of texts",
    .is_list = true,
    .set = names_set,
    .format = texts_format,
    .is_equal = texts_is_equal,
    .done = texts_done,
};

static int take_addr(const struct config_source *source, const struct config_key *key,
                     const struct config_node *item, char **ret)
{
    char *text = NULL;
    int r = config_type_addr.set(source, key, item, false, &text);

    if (r == 0)
        *ret = text;
    return r;
}

static int addrs_set(const struct config_source *source, const struct config_key *key,
                     const struct config_node *node, bool is_append, void *field)
{
    return texts_set(source, key, node, is_append, take_addr, field);
}

const struct config_type config_type_addrs = {
    .what = "an address or a list of them",
    .is_list = true,
    .set = addrs_set,
    .format = texts_format,
    .is_equal = texts_is_equal,
    .done = texts_done,
};

/* --- upstreams --- */

static void upstream_done(struct config_upstream *u)
{
    mem_free(u->name);
    mem_free(u->url);
    *u = (struct config_upstream){0};
}

static void upstreams_done(void *field)
{
    struct config_upstreams *u = field;

    for (size_t i = 0; i < u->n; i++)
        upstream_done(&u->items[i]);
    mem_free(u->items);
    *u = (struct config_upstreams){0};
}

static int take_upstream_name(const struct config_source *source, const struct config_key *key,
                              const struct config_node *node, char **ret)
{
    char shown[ERR_LIST_SHOWN_MAX];
    char *name = NULL;
    struct err *e;
    int r = config_values_take_text(source, key, node, GATEWAY_NAME_MAX - 1, &name);

    if (r < 0)
        return r;
    if (*name != '\0' && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._:-") == node->n) {
        *ret = name;
        return 0;
    }
    mem_free(name);
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL,
                  "upstream name \"%s\" has other characters than letters, digits, . _ : -",
                  err_list_shown(config_node_span(node), shown));
    err_hint(e, "it becomes a metric label; for example vllm-1");
    return -EINVAL;
}

static int take_url(const struct config_source *source, const struct config_key *key,
                    const struct config_node *node, char **ret)
{
    struct gateway_upstream parsed;
    struct err parse_err = {0};
    struct err *e;
    int r = config_values_take_text(source, key, node, URL_BYTES_MAX, ret);

    if (r < 0)
        return r;
    /* The gateway refuses credentials too, but its message would show them. */
    if (strchr(*ret, '@')) {
        r = err_set(&parse_err, -EINVAL, "an upstream URL with credentials is not supported");
        err_hint(&parse_err, "remove what is in front of the \"@\"");
    } else {
        r = gateway_upstream_parse("", *ret, &parsed, &parse_err);
    }
    if (r == 0)
        return 0;
    mem_free(*ret);
    *ret = NULL;
    e = config_keys_error(source, node);
    *e = parse_err;
    return -EINVAL;
}

static void unknown_upstream_key(const struct config_source *source, const struct config_node *k)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;
    struct err *e = config_keys_error(source, k);

    (void)err_set(e, -EINVAL, "unknown key \"%s\" of an upstream",
                  err_list_shown(config_node_span(k), shown));
    suggest_init(&s, config_node_span(k));
    suggest_offer(&s, SPAN("name"));
    suggest_offer(&s, SPAN("url"));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "known here: name, url");
}

/* One "name: ..." or "url: ..." of an upstream's mapping. */
static int take_upstream_part(const struct config_source *source, const struct config_key *key,
                              const struct config_node *k, struct config_upstream *u)
{
    if (k->kind != CONFIG_NODE_SCALAR || !k->value)
        return -EINVAL; /* listed already */
    if (strcmp(k->text, "name") == 0)
        return take_upstream_name(source, key, k->value, &u->name);
    if (strcmp(k->text, "url") == 0)
        return take_url(source, key, k->value, &u->url);
    unknown_upstream_key(source, k);
    return -EINVAL;
}

static int take_upstream_map(const struct config_source *source, const struct config_key *key,
                             const struct config_node *map, struct config_upstream *u)
{
    bool has_url = false;
    int result = 0;

    for (const struct config_node *k = map->first; k; k = k->next) {
        int r = take_upstream_part(source, key, k, u);

        if (r == -ENOMEM)
            return r;
        if (r < 0)
            result = r;
        has_url = has_url || (k->kind == CONFIG_NODE_SCALAR && strcmp(k->text, "url") == 0);
    }
    if (!has_url) {
        struct err *e = config_keys_error(source, map);

        (void)err_set(e, -EINVAL, "an upstream without \"url\"");
        err_hint(e, "add url: http://HOST:PORT");
        return -EINVAL;
    }
    return result;
}

/* Host and port as the URL has them. */
static int name_from_url(struct config_upstream *u)
{
    struct gateway_upstream parsed;
    int r = gateway_upstream_parse("", u->url, &parsed, NULL);

    if (r < 0)
        return r;
    u->name = mem_strndup(parsed.authority, strnlen(parsed.authority, GATEWAY_NAME_MAX - 1));
    return u->name ? 0 : -ENOMEM;
}

static int take_upstream(const struct config_source *source, const struct config_key *key,
                         const struct config_node *item, struct config_upstream *u)
{
    int r;

    if (item->kind == CONFIG_NODE_MAP)
        r = take_upstream_map(source, key, item, u);
    else
        r = take_url(source, key, item, &u->url);
    if (r == 0 && !u->name)
        r = name_from_url(u);
    return r;
}

/* n_kept: upstreams of the list that node is added to. */
static int check_upstream_count(const struct config_source *source, const struct config_key *key,
                                const struct config_node *node, size_t n_kept)
{
    const struct config_node *surplus = items_first(node);
    struct err *e;

    if (items_count(node) == 0) {
        e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "\"%s\" is empty", key->path);
        err_hint(e, "add the inference server, for example http://127.0.0.1:8000");
        return -EINVAL;
    }
    if (n_kept + items_count(node) <= (size_t)key->max)
        return 0;
    for (size_t i = n_kept; i < (size_t)key->max; i++)
        surplus = surplus->next;
    e = config_keys_error(source, surplus);
    (void)err_set(e, -EINVAL, "one upstream for now, and this is the second");
    err_hint(e, "run one gateway per inference server; routing to several comes later");
    return -EINVAL;
}

static int take_upstreams(const struct config_source *source, const struct config_key *key,
                          const struct config_node *node, struct config_upstreams *u)
{
    const struct config_node *item = items_first(node);
    int result = 0;

    for (size_t i = items_count(node); i > 0; i--, item = item->next) {
        int r = take_upstream(source, key, item, &u->items[u->n++]);

        if (r == -ENOMEM)
            return r;
        if (r < 0)
            result = r;
    }
    return result;
}

static int upstreams_set(const struct config_source *source, const struct config_key *key,
                         const struct config_node *node, bool is_append, void *field)
{
    struct config_upstreams *old = field;
    struct config_upstreams u = {0};
    size_t n_kept = is_append ? old->n : 0;
    int result, r;

    if (node->kind == CONFIG_NODE_MAP) {
        struct err *e = config_keys_error(source, node);

        (void)err_set(e, -EINVAL, "\"%s\" has to be a list, not a mapping", key->path);
        err_hint(e, "put \"- \" in front of the first key of each upstream");
        return -EINVAL;
    }
    result = check_upstream_count(source, key, node, n_kept);
    u.items = mem_zalloc(n_kept + items_count(node) + 1, sizeof(*u.items));
    if (!u.items)
        return -ENOMEM;
    u.n = n_kept; /* filled in when nothing can fail any more */
    r = take_upstreams(source, key, node, &u);
    if (r < 0)
        result = r;
    if (result < 0) {
        upstreams_done(&u);
        return result;
    }
    for (size_t i = 0; i < n_kept; i++)
        u.items[i] = old->items[i];
    if (is_append)
        old->n = 0; /* its upstreams have moved */
    upstreams_done(old);
    *old = u;
    return 0;
}

static int upstreams_format(const struct config_key *key, const void *field, struct buf *out)
{
    const struct config_upstreams *u = field;
    int r = buf_append(out, SPAN("["));

    (void)key;
    for (size_t i = 0; i < u->n && r == 0; i++) {
        r = buf_append(out, i > 0 ? SPAN(", {name: ") : SPAN("{name: "));
        if (r == 0)
            r = config_values_text(span_cstr(u->items[i].name), out);
        if (r == 0)
            r = buf_append(out, SPAN(", url: "));
        if (r == 0)
            r = config_values_text(span_cstr(u->items[i].url), out);
        if (r == 0)
            r = buf_append(out, SPAN("}"));
    }
    return r < 0 ? r : buf_append(out, SPAN("]"));
}

static bool upstreams_is_equal(const void *a, const void *b)
{
    const struct config_upstreams *ua = a, *ub = b;

    if (ua->n != ub->n)
        return false;
    for (size_t i = 0; i < ua->n; i++) {
        if (strcmp(ua->items[i].name, ub->items[i].name) != 0 ||
            strcmp(ua->items[i].url, ub->items[i].url) != 0)
            return false;
    }
    return true;
}

const struct config_type config_type_upstreams = {
    .what = "a list of upstreams",
    .is_list = true,
    .set = upstreams_set,
    .format = upstreams_format,
    .is_equal = upstreams_is_equal,
    .done = upstreams_done,
};
