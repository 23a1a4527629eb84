/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/options_print.c - what a table of options has read, as YAML without its secrets.
 */
#include <inttypes.h>
#include <stdio.h>

#include "alert/options.h"

/* A URL with user and password is a secret. */
static void print_text(struct span text, bool is_url, struct yamlw *w)
{
    if (is_url && span_find_char(text, '@') < text.n)
        yamlw_secret(w);
    else
        yamlw_str(w, text);
}

static void print_texts(const struct texts *t, struct yamlw *w)
{
    yamlw_begin_list(w);
    for (size_t i = 0; i < t->n; i++)
        yamlw_str(w, t->at[i]);
    yamlw_end_list(w);
}

static void print_headers(const struct http_headers *h, struct yamlw *w)
{
    yamlw_begin_map(w);
    for (size_t i = 0; i < h->n; i++) {
        const struct secret *s = &h->at[i].value;
        yamlw_key_str(w, h->at[i].name);
        yamlw_begin_map(w);
        yamlw_key(w, s->file.n > 0 ? "files" : "secrets");
        yamlw_begin_list(w);
        if (s->file.n > 0)
            yamlw_str(w, s->file);
        else
            yamlw_secret(w);
        yamlw_end_list(w);
        yamlw_end_map(w);
    }
    yamlw_end_map(w);
}

static struct span nth_word(const char *words, int n)
{
    struct span rest = span_cstr(words), word;
    do
        word = span_split(&rest, ' ');
    while (n-- > 0);
    return word;
}

static bool is_written(const struct option *row, const void *from)
{
    const char *field = (const char *)from + row->offset;
    struct secret s;
    switch (row->type) {
    case OPTION_PASSED:
    case OPTION_REFUSED:
        return false;
    case OPTION_MAP:
        for (const struct option *i = row->map; i->key; i++) {
            bool is_bool = i->type == OPTION_BOOL; /* one that is true says something */
            if (is_bool ? field[i->offset] != 0 : is_written(i, field))
                return true;
        }
        return false;
    case OPTION_TEXT:
    case OPTION_URL:
        return ((const struct span *)(const void *)field)->n > 0;
    case OPTION_TEXTS:
        return ((const struct texts *)(const void *)field)->n > 0;
    case OPTION_HEADERS:
        return ((const struct http_headers *)(const void *)field)->n > 0;
    case OPTION_DURATION:
        return *(const int64_t *)(const void *)field > 0;
    case OPTION_SECRET:
    case OPTION_SECRET_URL:
    case OPTION_SECRET_FILE:
        memcpy(&s, field, sizeof(s));
        return row->type == OPTION_SECRET_FILE ? s.file.n > 0 : s.value.n > 0;
    default:
        return true;
    }
}

static void print_value(const struct option *row, const void *from, struct yamlw *w)
{
    const void *field = (const char *)from + row->offset;
    char text[32];
    switch (row->type) {
    case OPTION_MAP:
        yamlw_begin_map(w);
        options_print(row->map, field, w);
        yamlw_end_map(w);
        break;
    case OPTION_TEXT:
    case OPTION_URL:
        print_text(*(const struct span *)field, row->type == OPTION_URL, w);
        break;
    case OPTION_TEXTS:
        print_texts(field, w);
        break;
    case OPTION_HEADERS:
        print_headers(field, w);
        break;
    case OPTION_BOOL:
        yamlw_bool(w, *(const bool *)field);
        break;
    case OPTION_COUNT:
        yamlw_i64(w, (int64_t) * (const size_t *)field);
        break;
    case OPTION_DURATION:
        (void)snprintf(text, sizeof(text), "%" PRId64 "ms", *(const int64_t *)field);
        yamlw_str(w, span_cstr(text));
        break;
    case OPTION_WORD:
        yamlw_str(w, nth_word(row->words, *(const int *)field));
        break;
    case OPTION_SECRET_FILE:
        yamlw_str(w, ((const struct secret *)field)->file);
        break;
    default:
        yamlw_secret(w);
    }
}

void options_print(const struct option *table, const void *from, struct yamlw *w)
{
    for (const struct option *row = table; row->key; row++) {
        if (row->is_alias || !is_written(row, from))
            continue;
        yamlw_key(w, row->key);
        print_value(row, from, w);
    }
}
