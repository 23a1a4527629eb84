/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/leaves.h"

#include <errno.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/json.h"
#include "yaml/tree.h"

bool leaves_is(const char *pattern, const struct span *path, size_t n)
{
    struct span rest = span_cstr(pattern);

    for (size_t i = 0; i < n; i++) {
        struct span key = span_split(&rest, '.');

        if (key.n == 0 || (!span_eq(key, SPAN("*")) && !span_eq(key, path[i])))
            return false;
    }
    return rest.n == 0;
}

/* --- JSON --- */

struct walk {
    leaves_visit visit;
    void *ctx;
    struct span path[LEAVES_DEPTH_MAX];
    size_t depth;
    char keys[LEAVES_DEPTH_MAX][LEAVES_KEY_MAX]; /* unescaped */
    char value[LEAVES_VALUE_MAX];
};

/* Comments and commas before a closing bracket become blanks, so that places stay. */
static void blank_comment(struct span in, char *out, size_t *at)
{
    size_t i = *at;
    bool is_block = in.p[i + 1] == '*';

    for (; i < in.n; i++) {
        bool is_end =
            is_block ? i > *at + 2 && in.p[i] == '/' && in.p[i - 1] == '*' : in.p[i] == '\n';
        out[i] = in.p[i] == '\n' ? '\n' : ' ';
        if (is_end)
            break;
    }
    *at = i;
}

static void drop_last_comma(char *out, size_t at)
{
    while (at > 0 && (out[at - 1] == ' ' || out[at - 1] == '\n' || out[at - 1] == '\t' ||
                      out[at - 1] == '\r'))
        at--;
    if (at > 0 && out[at - 1] == ',')
        out[at - 1] = ' ';
}

static void to_plain_json(struct span in, char *out)
{
    bool in_string = false;

    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];

        out[i] = c;
        if (in_string && c == '\\' && i + 1 < in.n) {
            i++;
            out[i] = in.p[i];
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && c == '/' && i + 1 < in.n &&
                   (in.p[i + 1] == '/' || in.p[i + 1] == '*')) {
            blank_comment(in, out, &i);
        } else if (!in_string && (c == '}' || c == ']')) {
            drop_last_comma(out, i);
        }
    }
}

/* A scalar, or what is inside of an object or list. */
static void walk_value(struct walk *w, struct json *j);

static void walk_inside(struct walk *w, struct json *j, enum json_type type)
{
    struct span key = {"", 0};

    if (w->depth == LEAVES_DEPTH_MAX) {
        (void)json_leave(j);
        return;
    }
    while (type == JSON_OBJECT ? json_key(j, &key) : json_item(j)) {
        char *name = w->keys[w->depth];

        if (type == JSON_OBJECT)
            w->path[w->depth] = span_of(name, json_unescape(key, name, LEAVES_KEY_MAX));
        else
            w->path[w->depth] = SPAN("[]");
        w->depth++;
        walk_value(w, j);
        w->depth--;
    }
}

static void walk_value(struct walk *w, struct json *j)
{
    struct json_value v;

    if (!json_next(j, &v))
        return;
    if (v.type == JSON_OBJECT || v.type == JSON_ARRAY) {
        walk_inside(w, j, v.type);
        return;
    }
    if (v.type == JSON_STRING)
        w->visit(w->ctx, w->path, w->depth,
                 span_of(w->value, json_unescape(v.raw, w->value, sizeof(w->value))));
    else
        w->visit(w->ctx, w->path, w->depth, v.raw);
}

static int line_of(struct span text, size_t at)
{
    int line = 1;

    for (size_t i = 0; i < at && i < text.n; i++)
        line += text.p[i] == '\n';
    return line;
}

int leaves_json(struct span text, leaves_visit visit, void *ctx, int *ret_line)
{
    struct walk *w = mem_zalloc(1, sizeof(*w));
    struct json j;
    int r = 0;

    if (!w)
        return -ENOMEM;
    w->visit = visit;
    w->ctx = ctx;
    json_init(&j, text);
    walk_value(w, &j);
    if (!json_is_done(&j)) {
        *ret_line = line_of(text, json_offset(&j));
        r = -EINVAL;
    }
    mem_free(w);
    return r;
}

int leaves_jsonc(struct span text, leaves_visit visit, void *ctx, int *ret_line)
{
    char *plain = mem_alloc(text.n + 1);
    int r;

    if (!plain)
        return -ENOMEM;
    to_plain_json(text, plain);
    r = leaves_json(span_of(plain, text.n), visit, ctx, ret_line);
    mem_free(plain);
    return r;
}

/* --- YAML --- */

static void walk_yaml(struct walk *w, const struct yaml_node *node)
{
    if (node->kind == YAML_NODE_SCALAR)
        w->visit(w->ctx, w->path, w->depth, yaml_span(node));
    if ((node->kind != YAML_NODE_LIST && node->kind != YAML_NODE_MAP) ||
        w->depth == LEAVES_DEPTH_MAX)
        return;
    for (const struct yaml_node *n = node->first; n; n = n->next) {
        const struct yaml_node *value = node->kind == YAML_NODE_MAP ? n->value : n;

        w->path[w->depth] = node->kind == YAML_NODE_MAP ? yaml_span(n) : SPAN("[]");
        w->depth++;
        if (value)
            walk_yaml(w, value);
        w->depth--;
    }
}

static int leaves_yaml(struct span text, leaves_visit visit, void *ctx, int *ret_line)
{
    struct walk *w = mem_zalloc(1, sizeof(*w));
    struct err_list *errs = mem_alloc(sizeof(*errs));
    struct yaml_node *root = NULL;
    int r = -ENOMEM;

    if (w && errs) {
        w->visit = visit;
        w->ctx = ctx;
        err_list_init(errs);
        r = yaml_read(text, "", &root, errs);
        if (root)
            walk_yaml(w, root);
        if (r == -EINVAL || r == -EBADMSG) {
            *ret_line = errs->n > 0 ? errs->items[0].line : 0;
            r = -EINVAL;
        }
    }
    yaml_free(root);
    mem_free(errs);
    mem_free(w);
    return r;
}

int leaves_read(enum leaves_format format, struct span text, leaves_visit visit, void *ctx,
                int *ret_line)
{
    static int (*const readers[])(struct span, leaves_visit, void *, int *) = {
        [LEAVES_JSON] = leaves_json, [LEAVES_JSONC] = leaves_jsonc, [LEAVES_TOML] = leaves_toml,
        [LEAVES_YAML] = leaves_yaml, [LEAVES_ENV] = leaves_env,
    };

    *ret_line = 0;
    if (span_starts_with(text, SPAN("\xef\xbb\xbf")))
        text = span_from(text, 3);
    return readers[format](text, visit, ctx, ret_line);
}
