/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/options.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/suggest.h"

enum { SECRET_BYTES_MAX = 16 * 1024 };

struct err *options_err(const struct options *o, const struct yaml_node *at)
{
    return err_list_add(o->errs, o->where, at->line, at->column);
}

const struct yaml_node *options_find(const struct yaml_node *map, const char *key)
{
    if (!map || map->kind != YAML_NODE_MAP)
        return NULL;
    for (const struct yaml_node *k = map->first; k; k = k->next)
        if (k->value && span_eq(yaml_span(k), span_cstr(key)))
            return k->value;
    return NULL;
}

/* --- values --- */

static int wrong(const struct options *o, const struct option *row, const struct yaml_node *node,
                 const char *wanted)
{
    return err_set(options_err(o, node), -EINVAL, "\"%s\" has to be %s", row->key, wanted);
}

static int take_text(const struct options *o, const struct yaml_node *node, struct span *ret)
{
    struct span copy = arena_dup(o->arena, yaml_span(node));
    if (!copy.p)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

static bool is_one_line(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

static int take_line(const struct options *o, const struct option *row,
                     const struct yaml_node *node, struct span *ret)
{
    return is_one_line(yaml_span(node)) ? take_text(o, node, ret)
                                        : wrong(o, row, node, "one line of text");
}

bool options_is_http_url(struct span url)
{
    struct span rest;
    if (span_starts_with(url, SPAN("https://")))
        rest = span_from(url, 8);
    else if (span_starts_with(url, SPAN("http://")))
        rest = span_from(url, 7);
    else
        return false;
    return is_one_line(url) && span_find_char(url, ' ') == url.n && rest.n > 0 &&
           rest.p[0] != '/' && rest.p[0] != '?' && rest.p[0] != '#';
}

static int read_url(const struct options *o, const struct option *row, const struct yaml_node *node,
                    struct span *ret)
{
    struct span url = span_trim(yaml_span(node));
    if (!options_is_http_url(url)) {
        struct err *e = options_err(o, node);
        (void)err_set(e, -EINVAL, "\"%s\" is no http:// or https:// URL with a host", row->key);
        err_hint(e, "it is not shown here since it may hold a secret");
        return -EINVAL;
    }
    *ret = arena_dup(o->arena, url);
    return ret->p ? 0 : -ENOMEM;
}

static int read_secret(const struct options *o, const struct option *row,
                       const struct yaml_node *node, struct secret *ret)
{
    if (secret_is_set(ret))
        return err_set(options_err(o, node), -EINVAL,
                       "\"%s\" stands beside another key for the same secret", row->key);
    if (row->type == OPTION_SECRET_URL)
        return read_url(o, row, node, &ret->value);
    return take_line(o, row, node, row->type == OPTION_SECRET ? &ret->value : &ret->file);
}

static int read_bool(const struct options *o, const struct option *row,
                     const struct yaml_node *node, bool *ret)
{
    if (strcmp(node->text, "true") != 0 && strcmp(node->text, "false") != 0)
        return wrong(o, row, node, "true or false");
    *ret = node->text[0] == 't';
    return 0;
}

static int read_count(const struct options *o, const struct option *row,
                      const struct yaml_node *node, size_t *ret)
{
    uint64_t v;
    if (num_parse_u64(yaml_span(node), &v) < 0 || v > 1000000)
        return wrong(o, row, node, "a whole number from 0 to 1000000");
    *ret = (size_t)v;
    return 0;
}

static int read_duration(const struct options *o, const struct option *row,
                         const struct yaml_node *node, int64_t *ret)
{
    int64_t ns;
    if (num_parse_duration(yaml_span(node), &ns) < 0 || ns < 0 || ns > 3600 * NS_PER_S)
        return wrong(o, row, node, "a time from 0 to 1h, as in 10s");
    *ret = ns / NS_PER_MS;
    return 0;
}

static int read_word(const struct options *o, const struct option *row,
                     const struct yaml_node *node, int *ret)
{
    struct span rest = span_cstr(row->words);
    for (int i = 0; rest.n > 0; i++) {
        if (!span_eq(span_split(&rest, ' '), yaml_span(node)))
            continue;
        *ret = i;
        return 0;
    }
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = options_err(o, node);
    (void)err_set(e, -EINVAL, "\"%s\" cannot be \"%s\"", row->key,
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "one of: %s", row->words);
    return -EINVAL;
}

/* --- lists --- */

static int add_texts(const struct options *o, struct span text, struct span *at, size_t *n)
{
    while (text.n > 0) {
        struct span one = span_trim(span_split(&text, ','));
        if (one.n == 0)
            continue;
        at[*n] = arena_dup(o->arena, one);
        if (!at[(*n)++].p)
            return -ENOMEM;
    }
    return 0;
}

static size_t count_texts(struct span text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == ',';
    return n;
}

static int read_texts(const struct options *o, const struct option *row,
                      const struct yaml_node *node, struct texts *ret)
{
    const struct yaml_node *first = node->kind == YAML_NODE_LIST ? node->first : node;
    const struct yaml_node *end = node->kind == YAML_NODE_LIST ? NULL : node->next;
    size_t cap = 0, n = 0;
    int r = 0;
    for (const struct yaml_node *i = first; i && i != end; i = i->next) {
        if (i->kind != YAML_NODE_SCALAR)
            return wrong(o, row, i, "a list of texts");
        cap += count_texts(yaml_span(i));
    }
    struct span *at = arena_zalloc(o->arena, cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (const struct yaml_node *i = first; i && i != end && r == 0; i = i->next)
        r = add_texts(o, yaml_span(i), at, &n);
    if (r == 0)
        *ret = (struct texts){at, n};
    return r;
}

/* --- header fields: NAME: {values: [...], secrets: [...], files: [...]} --- */

static bool is_field_name(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return s.n > 0;
}

static size_t count_values(const struct yaml_node *field)
{
    size_t n = 0;
    for (const struct yaml_node *k = field->first; k; k = k->next)
        n += k->value ? k->value->n : 0;
    return n;
}

static int add_header(const struct options *o, struct span name, bool is_file,
                      const struct yaml_node *value, struct http_header *ret)
{
    if (value->kind != YAML_NODE_SCALAR || !is_one_line(yaml_span(value)))
        return err_set(options_err(o, value), -EINVAL,
                       "the value of a header field has to be one line of text");
    int r = take_text(o, value, is_file ? &ret->value.file : &ret->value.value);
    if (r == 0)
        r = (ret->name = arena_dup(o->arena, name)).p ? 0 : -ENOMEM;
    return r;
}

static int read_field(const struct options *o, const struct yaml_node *name, struct http_header *at,
                      size_t *n)
{
    for (const struct yaml_node *k = name->value->first; k; k = k->next) {
        bool is_file = strcmp(k->text, "files") == 0;
        if (!is_file && strcmp(k->text, "values") != 0 && strcmp(k->text, "secrets") != 0)
            return err_set(options_err(o, k), -EINVAL,
                           "a header field has \"values\", \"secrets\" and \"files\"");
        if (!k->value || k->value->kind != YAML_NODE_LIST)
            return err_set(options_err(o, k), -EINVAL, "\"%.20s\" has to be a list", k->text);
        for (const struct yaml_node *v = k->value->first; v; v = v->next) {
            int r = add_header(o, yaml_span(name), is_file, v, &at[*n]);
            if (r < 0)
                return r;
            (*n)++;
        }
    }
    return 0;
}

static int read_headers(const struct options *o, const struct option *row,
                        const struct yaml_node *node, struct http_headers *ret)
{
    size_t cap = 0, n = 0;
    if (node->kind != YAML_NODE_MAP)
        return wrong(o, row, node, "a mapping of header fields");
    for (const struct yaml_node *k = node->first; k; k = k->next) {
        if (!is_field_name(yaml_span(k)))
            return err_set(options_err(o, k), -EINVAL, "this is no name of a header field");
        if (!k->value || k->value->kind != YAML_NODE_MAP)
            return err_set(options_err(o, k), -EINVAL,
                           "a header field has \"values\", \"secrets\" and \"files\"");
        cap += count_values(k->value);
    }
    struct http_header *at = arena_zalloc(o->arena, cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (const struct yaml_node *k = node->first; k; k = k->next) {
        int r = read_field(o, k, at, &n);
        if (r < 0)
            return r;
    }
    *ret = (struct http_headers){at, n};
    return 0;
}

/* --- one key --- */

static int read_scalar(const struct options *o, const struct option *row,
                       const struct yaml_node *node, char *into)
{
    void *field = into + row->offset;
    switch (row->type) {
    case OPTION_TEXT:
        return take_line(o, row, node, field);
    case OPTION_BOOL:
        return read_bool(o, row, node, field);
    case OPTION_COUNT:
        return read_count(o, row, node, field);
    case OPTION_DURATION:
        return read_duration(o, row, node, field);
    case OPTION_WORD:
        return read_word(o, row, node, field);
    case OPTION_URL:
        return read_url(o, row, node, field);
    default:
        return read_secret(o, row, node, field);
    }
}

int options_read_one(const struct options *o, const struct option *row,
                     const struct yaml_node *node, void *into)
{
    char *fields = into;
    switch (row->type) {
    case OPTION_PASSED:
        return 0;
    case OPTION_MAP:
        return options_read(o, node, row->map, fields + row->offset);
    case OPTION_TEXTS:
        return read_texts(o, row, node, (struct texts *)(void *)(fields + row->offset));
    case OPTION_HEADERS:
        return read_headers(o, row, node, (struct http_headers *)(void *)(fields + row->offset));
    default:
        if (node->kind != YAML_NODE_SCALAR || yaml_is_null(node))
            return wrong(o, row, node, "one value");
        return read_scalar(o, row, node, fields);
    }
}

static int unknown(const struct options *o, const struct yaml_node *key, const struct option *table)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = options_err(o, key);
    struct suggest s;
    suggest_init(&s, yaml_span(key));
    for (const struct option *row = table; row->key; row++)
        if (row->type != OPTION_REFUSED)
            suggest_offer(&s, span_cstr(row->key));
    (void)err_set(e, -EINVAL, "unknown key \"%s\"", err_list_shown(yaml_span(key), shown));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    return -EINVAL;
}

static int read_key(const struct options *o, const struct yaml_node *key,
                    const struct option *table, void *into)
{
    for (const struct option *row = table; row->key; row++) {
        if (!span_eq(yaml_span(key), span_cstr(row->key)))
            continue;
        if (row->type != OPTION_REFUSED)
            return options_read_one(o, row, key->value, into);
        struct err *e = options_err(o, key);
        (void)err_set(e, -EINVAL, "\"%s\" is not supported here", row->key);
        err_hint(e, "%s", row->words);
        return -EINVAL;
    }
    return unknown(o, key, table);
}

int options_read(const struct options *o, const struct yaml_node *map, const struct option *table,
                 void *into)
{
    int r = 0;
    if (!map || yaml_is_null(map))
        return 0;
    if (map->kind == YAML_NODE_BAD)
        return -EINVAL;
    if (map->kind != YAML_NODE_MAP)
        return err_set(options_err(o, map), -EINVAL, "here has to be a mapping of keys");
    for (const struct yaml_node *k = map->first; k && r != -ENOMEM; k = k->next) {
        if (k->kind == YAML_NODE_BAD || !k->value || k->value->kind == YAML_NODE_BAD)
            continue; /* listed already */
        int one = read_key(o, k, table, into);
        r = one < 0 ? one : r;
    }
    return r;
}

/* --- secrets --- */

/* A FIFO or device would hold up everybody's delivery. */
static int read_regular(const char *path, struct buf *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int r = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    if (r == 0)
        r = file_read_fd(fd, SECRET_BYTES_MAX, out);
    (void)close(fd); /* only read from */
    return r == 0 && buf_len(out) > SECRET_BYTES_MAX ? -EFBIG : r;
}

static struct span trim_lines(struct span s)
{
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]) && s.p[s.n - 1] != '\0')
        s.n--;
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]) && s.p[0] != '\0')
        s = span_from(s, 1);
    return s;
}

int secret_get(const struct secret *s, struct arena *a, struct span *ret, struct err *reterr)
{
    struct buf text;
    if (s->file.n == 0) {
        *ret = s->value;
        return 0;
    }
    buf_init(&text, (size_t)2 * SECRET_BYTES_MAX);
    int r = read_regular(s->file.p, &text); /* arena_dup ends it with a NUL */
    struct span trimmed = trim_lines(buf_span(&text));
    if (r < 0) {
        err_set(reterr, r, "could not read the file \"%.*s\": %s", SPAN_ARG(s->file),
                r == -EINVAL ? "it is no regular file" : err_str(r));
        err_hint(reterr, "it holds a secret of the receiver, and has to be readable for this "
                         "process");
    } else if (trimmed.n == 0 || !is_one_line(trimmed)) {
        r = err_set(reterr, -EINVAL, "the file \"%.*s\" has to hold one line", SPAN_ARG(s->file));
    } else if (!(*ret = arena_dup(a, trimmed)).p) {
        r = err_set(reterr, -ENOMEM, "out of memory");
    }
    buf_done(&text);
    return r;
}
