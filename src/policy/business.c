/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/business.c - see business.h.
 *
 * One block holds the labels, their sources and their texts. Headers that carry credentials are
 * refused as sources when the configuration is read, so that no mistake in it brings a key into a
 * log.
 */
#include "policy/business.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "policy/keyring.h"
#include "wire/json.h"

enum source_kind { SOURCE_KEY, SOURCE_HEADER, SOURCE_METADATA, SOURCE_KIND_COUNT_ };

struct source {
    enum source_kind kind;
    struct span name;
};

struct label {
    char name[BUSINESS_NAME_MAX];
    char texts[BUSINESS_SOURCES_MAX][BUSINESS_SOURCE_MAX];
    struct source sources[BUSINESS_SOURCES_MAX]; /* their names are in texts, or the label's */
    size_t n_sources;
};

struct business {
    atomic_int refs;
    size_t n;
    struct label labels[];
};

/* --- sources --- */

static const struct span kinds[SOURCE_KIND_COUNT_] = {
    [SOURCE_KEY] = SPAN_INIT("key"),
    [SOURCE_HEADER] = SPAN_INIT("header"),
    [SOURCE_METADATA] = SPAN_INIT("metadata"),
};

static bool is_secret(struct span header)
{
    static const struct span names[] = {SPAN_INIT("Cookie"), SPAN_INIT("Proxy-Authorization")};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (span_eq_nocase(header, names[i]))
            return true;
    }
    return tap_is_credential(header);
}

/* What is wrong with it; NULL: nothing, and *ret is set. A source "key" alone has an empty name. */
static const char *source_parse(struct span text, struct source *ret)
{
    struct span rest = text;
    struct span kind = span_split(&rest, ':');
    size_t i = 0;
    while (i < SOURCE_KIND_COUNT_ && !span_eq(kind, kinds[i]))
        i++;
    if (i == SOURCE_KIND_COUNT_)
        return "is no source";
    if (rest.n == 0 && (i != SOURCE_KEY || kind.n < text.n))
        return "names nothing behind \":\"";
    if (text.n >= BUSINESS_SOURCE_MAX)
        return "is too long";
    if (i == SOURCE_HEADER && is_secret(rest))
        return "would put credentials into metrics and logs";
    *ret = (struct source){(enum source_kind)i, rest};
    return NULL;
}

int business_check_source(const char *text, struct err *reterr)
{
    struct source source;
    const char *fault = source_parse(span_cstr(text), &source);
    if (!fault)
        return 0;
    err_set(reterr, -EINVAL, "\"%s\" %s", text, fault);
    err_hint(reterr, "write key, key:NAME, header:NAME or metadata:NAME, for example "
                     "header:X-Tenant");
    return -EINVAL;
}

/* --- making --- */

static int label_set(struct label *l, const struct business_label *from)
{
    if (strlen(from->name) >= sizeof(l->name) || from->n_sources > BUSINESS_SOURCES_MAX)
        return -EINVAL;
    (void)span_copy(span_cstr(from->name), l->name, sizeof(l->name));
    for (size_t i = 0; i < from->n_sources; i++) {
        size_t n = span_copy(span_cstr(from->sources[i]), l->texts[i], sizeof(l->texts[i]));
        if (n < strlen(from->sources[i]) || source_parse(span_of(l->texts[i], n), &l->sources[i]))
            return -EINVAL;
        if (l->sources[i].name.n == 0)
            l->sources[i].name = span_cstr(l->name);
    }
    l->n_sources = from->n_sources;
    return 0;
}

int business_new(const struct business_label *labels, size_t n, struct business **ret)
{
    if (n > TAP_LABELS_MAX)
        return -EINVAL;
    struct business *b = mem_zalloc(1, sizeof(*b) + n * sizeof(b->labels[0]));
    if (!b)
        return -ENOMEM;
    atomic_init(&b->refs, 1);
    b->n = n;
    for (size_t i = 0; i < n; i++) {
        int r = label_set(&b->labels[i], &labels[i]);
        if (r < 0) {
            mem_free(b);
            return r;
        }
    }
    *ret = b;
    return 0;
}

struct business *business_ref(struct business *b)
{
    if (b)
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

struct business *business_unref(struct business *b)
{
    if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        mem_free(b);
    return NULL;
}

/* --- values --- */

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

/* Writes the value's form into dst (BUSINESS_VALUE_MAX bytes), terminated; false: it is empty. */
static bool take_text(struct span value, char *dst)
{
    size_t n = 0;
    value = span_trim(value);
    while (value.n > 0) {
        bool is_valid;
        size_t step = utf8_step(value, &is_valid);
        bool is_kept = is_valid && !is_control((unsigned char)value.p[0]);
        size_t n_out = is_kept ? step : 1;
        if (n + n_out >= BUSINESS_VALUE_MAX)
            break;
        if (is_kept)
            memcpy(dst + n, value.p, step);
        else
            dst[n] = '?';
        n += n_out;
        value = span_from(value, step);
    }
    dst[n] = '\0';
    return n > 0;
}

static struct span from_key(const struct keyring_key *key, struct span name)
{
    if (!key)
        return (struct span){0};
    if (span_eq(name, SPAN("tenant")))
        return span_cstr(key->tenant);
    for (size_t i = 0; i < key->n_labels; i++) {
        if (span_eq(name, span_cstr(key->labels[i].name)))
            return span_cstr(key->labels[i].value);
    }
    return (struct span){0};
}

/* The value of a member: the last one of that name, as servers read. */
static bool find_member(struct span object, struct span name, struct json_value *ret)
{
    struct json j;
    struct json_value v;
    struct span key;
    bool is_found = false;
    json_init(&j, object);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return false;
    while (json_key(&j, &key)) {
        if (!json_next(&j, &v))
            return false;
        if (json_str_eq(key, name)) {
            *ret = v;
            is_found = true;
        }
        if ((v.type == JSON_OBJECT || v.type == JSON_ARRAY) && !json_leave(&j))
            return false;
    }
    return is_found && json_status(&j) == JSON_OK;
}

static bool take_member(struct span metadata, struct span name, char *dst)
{
    struct json_value v;
    char text[BUSINESS_VALUE_MAX + 4]; /* take_text cuts, and has to see that there is more */
    if (metadata.n == 0 || !find_member(metadata, name, &v))
        return false;
    switch (v.type) {
    case JSON_STRING:
        return take_text(span_of(text, json_unescape(v.raw, text, sizeof(text))), dst);
    case JSON_NUMBER:
    case JSON_BOOL:
        return take_text(v.raw, dst);
    case JSON_NULL:
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    return false;
}

static bool take_source(const struct source *s, const struct business_asked *asked, char *dst)
{
    switch (s->kind) {
    case SOURCE_KEY:
        return take_text(from_key(asked->key, s->name), dst);
    case SOURCE_HEADER:
        return take_text(http1_field_value(asked->head, s->name), dst);
    case SOURCE_METADATA:
        return take_member(asked->metadata, s->name, dst);
    case SOURCE_KIND_COUNT_:
        break;
    }
    return false;
}

void business_tell(const struct business *b, const struct business_asked *asked,
                   struct business_told *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct label *l = &b->labels[i];
        size_t s = 0;
        while (s < l->n_sources && !take_source(&l->sources[s], asked, ret->texts[i]))
            s++;
        if (s < l->n_sources)
            ret->labels[ret->n++] = (struct tap_label){l->name, ret->texts[i], (unsigned)i};
    }
}

struct span business_find(const struct business_told *told, struct span name)
{
    for (size_t i = 0; i < told->n; i++) {
        if (span_eq(span_cstr(told->labels[i].name), name))
            return span_cstr(told->labels[i].value);
    }
    return (struct span){0};
}
