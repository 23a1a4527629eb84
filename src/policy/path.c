/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/path.h"

struct span path_of_target(struct span target)
{
    struct span rest;
    size_t scheme;

    if (target.n == 0 || target.p[0] == '/')
        return target;
    scheme = span_find(target, SPAN("://"));
    if (scheme == target.n)
        return target; /* "*" */
    rest = span_from(target, scheme + 3);
    rest = span_from(rest, span_find_char(rest, '/'));
    return rest.n > 0 ? rest : SPAN("/");
}

/* The endpoints that clients ask for behind a base URL of theirs. */
static const struct span bare_endpoints[] = {
    SPAN_INIT("/chat/completions"), SPAN_INIT("/completions"), SPAN_INIT("/embeddings"),
    SPAN_INIT("/responses"),        SPAN_INIT("/messages"),    SPAN_INIT("/messages/count_tokens"),
    SPAN_INIT("/models"),
};

static bool is_bare(struct span path)
{
    struct span only = {path.p, span_find_char(path, '?')};

    while (only.n > 1 && only.p[only.n - 1] == '/')
        only.n--;
    for (size_t i = 0; i < ARRAY_LEN(bare_endpoints); i++) {
        if (span_eq(only, bare_endpoints[i]))
            return true;
    }
    return false;
}

int path_repair(struct span *path, struct buf *room, enum path_repair *ret)
{
    const struct span version = SPAN("/v1");
    int r = 0;

    *ret = PATH_AS_IT_IS;
    while (span_starts_with(*path, SPAN("/v1/v1/"))) {
        *path = span_from(*path, version.n);
        *ret = PATH_DOUBLED;
    }
    if (!is_bare(*path))
        return 0;
    buf_clear(room);
    r = buf_append(room, version);
    if (r == 0)
        r = buf_append(room, *path);
    if (r < 0)
        return r;
    *path = buf_span(room);
    *ret = PATH_BARE;
    return 0;
}

/* "name", "name=..." */
static bool is_parameter(struct span parameter, struct span name)
{
    return span_eq((struct span){parameter.p, span_find_char(parameter, '=')}, name);
}

int path_drop_parameter(struct span *path, struct span name, struct buf *room)
{
    struct span rest = span_from(*path, span_find_char(*path, '?') + 1);
    struct span query = rest;
    struct span before = {path->p, path->n - (rest.n > 0 ? rest.n + 1 : 0)};
    bool has_one = false;
    int r = 0;

    while (rest.n > 0)
        has_one = is_parameter(span_split(&rest, '&'), name) || has_one;
    if (!has_one)
        return 0;
    buf_clear(room);
    r = buf_append(room, before);
    for (char separator = '?'; query.n > 0 && r == 0;) {
        struct span parameter = span_split(&query, '&');

        if (is_parameter(parameter, name))
            continue;
        r = buf_append(room, span_of(&separator, 1));
        if (r == 0)
            r = buf_append(room, parameter);
        separator = '&';
    }
    if (r == 0)
        *path = buf_span(room);
    return r;
}

/* Bytes of a path segment that stand for themselves; "/" among them, since names have it. */
static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~' || c == '/' || c == ':' || c == '@';
}

int path_replace(struct span *path, size_t at, size_t n, struct span text, struct buf *room)
{
    struct span head = {path->p, at};
    struct span tail = span_from(*path, at + n);
    int r = 0;

    buf_clear(room);
    r = buf_append(room, head);
    for (size_t i = 0; i < text.n && r == 0; i++) {
        if (is_plain((unsigned char)text.p[i]))
            r = buf_append(room, span_of(text.p + i, 1));
        else
            r = buf_printf(room, "%%%02X", (unsigned char)text.p[i]);
    }
    if (r == 0)
        r = buf_append(room, tail);
    if (r == 0)
        *path = buf_span(room);
    return r;
}
