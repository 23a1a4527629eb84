/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile_json.c - a table of a row's members, and the walk over the text.
 *
 * Strict: a member that is not known is a mistake, since a limit whose name is misspelt would
 * silently be none. Rows borrow from three blocks that are as large as the text could possibly
 * need, by its quotes and braces: so nothing grows while rows point into it.
 */
#include "daemon/keyfile_json.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "wire/json.h"

enum { LIMIT_MAX = 1000000000 };

/* --- the walk --- */

struct reader {
    struct span text;
    const char *path;
    struct err_list *errs;
    struct json json;
    struct keyfile_rows *rows;
    char *texts; /* where the next ones go */
    const char **pointers;
    struct keyring_label *labels;
    size_t n_mistakes;
};

/* A mistake at a place of the text. */
static struct err *mistake(struct reader *r, size_t offset)
{
    int line = 1;
    size_t start = 0;
    bool is_shown = !err_list_is_full(r->errs);
    for (size_t i = 0; i < offset && is_shown; i++) {
        if (r->text.p[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    r->n_mistakes++;
    return err_list_add(r->errs, r->path, line, (int)(offset - start) + 1);
}

static size_t offset_of(const struct reader *r, const struct json_value *v)
{
    return (size_t)(v->raw.p - r->text.p) - (v->type == JSON_STRING);
}

/* Passes over the inside of a value that was entered. */
static void leave(struct reader *r, const struct json_value *v)
{
    if (v->type == JSON_OBJECT || v->type == JSON_ARRAY)
        (void)json_leave(&r->json); /* the status is sticky */
}

/* Its text, kept with the rows; false: it is none, or has a NUL in it. */
static bool take_text(struct reader *r, const struct json_value *v, const char **ret)
{
    if (v->type != JSON_STRING)
        return false;
    size_t n = json_unescape(v->raw, r->texts, v->raw.n + 1);
    if (memchr(r->texts, '\0', n))
        return false;
    *ret = r->texts;
    r->texts += n + 1;
    return true;
}

/* --- members of a row --- */

/* Takes the value, its inside included. false: it is not what the member has to be. */
typedef bool take_fn(struct reader *r, const struct json_value *v, struct keyring_key *k);

static bool take_id(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    const char *text;
    return take_text(r, v, &text) &&
           span_copy(span_cstr(text), k->id, sizeof(k->id)) == strlen(text);
}

static bool take_hash(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    const char *text;
    return take_text(r, v, &text) && keyfile_hex_parse(span_cstr(text), k->hash, sizeof(k->hash));
}

static bool take_tenant(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    return take_text(r, v, &k->tenant);
}

static bool take_note(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    return take_text(r, v, &k->note);
}

static bool take_class(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    const char *text;
    if (!take_text(r, v, &text))
        return false;
    for (int c = 0; c < KEYRING_CLASS_COUNT_; c++) {
        if (strcmp(text, keyring_class_name((enum keyring_class)c)) == 0) {
            k->class = (enum keyring_class)c;
            return true;
        }
    }
    return false;
}

static bool take_number(const struct json_value *v, int64_t max, int64_t *ret)
{
    int64_t n;
    if (!json_i64(v, &n) || n < 0 || n > max)
        return false;
    *ret = n;
    return true;
}

static bool take_limit(const struct json_value *v, uint32_t *ret)
{
    int64_t n;
    if (!take_number(v, LIMIT_MAX, &n))
        return false;
    *ret = (uint32_t)n;
    return true;
}

static bool take_max_inflight(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    (void)r;
    return take_limit(v, &k->max_inflight);
}

static bool take_max_per_minute(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    (void)r;
    return take_limit(v, &k->max_requests_per_minute);
}

static bool take_created(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    (void)r;
    return take_number(v, INT64_MAX, &k->created_s);
}

static bool take_expires(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    (void)r;
    return take_number(v, INT64_MAX, &k->expires_s);
}

static bool take_models(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    bool is_right = v->type == JSON_ARRAY;
    struct json_value item;
    if (!is_right)
        return false;
    k->models = r->pointers;
    while (json_item(&r->json) && json_next(&r->json, &item)) {
        leave(r, &item);
        if (take_text(r, &item, r->pointers)) {
            r->pointers++;
            k->n_models++;
        } else {
            is_right = false;
        }
    }
    return is_right;
}

static bool take_labels(struct reader *r, const struct json_value *v, struct keyring_key *k)
{
    bool is_right = v->type == JSON_OBJECT;
    struct json_value item;
    struct span key;
    if (!is_right)
        return false;
    k->labels = r->labels;
    while (json_key(&r->json, &key) && json_next(&r->json, &item)) {
        struct json_value name = {.type = JSON_STRING, .raw = key};
        leave(r, &item);
        if (take_text(r, &name, &r->labels->name) && take_text(r, &item, &r->labels->value)) {
            r->labels++;
            k->n_labels++;
        } else {
            is_right = false;
        }
    }
    return is_right;
}

static const struct member {
    struct span name;
    take_fn *take;
    const char *what;
    bool is_required;
    bool is_list; /* walks its inside itself */
} members[] = {
    {SPAN_INIT("id"), take_id, "a text of 8 characters", true, false},
    {SPAN_INIT("hash"), take_hash, "64 hexadecimal digits (0-9, a-f)", true, false},
    {SPAN_INIT("tenant"), take_tenant, "a text", true, false},
    {SPAN_INIT("models"), take_models, "a list of model names", false, true},
    {SPAN_INIT("labels"), take_labels, "an object of names and texts", false, true},
    {SPAN_INIT("class"), take_class, "\"interactive\" or \"batch\"", false, false},
    {SPAN_INIT("max_inflight"), take_max_inflight, "a whole number up to 1000000000", false, false},
    {SPAN_INIT("max_requests_per_minute"), take_max_per_minute, "a whole number up to 1000000000",
     false, false},
    {SPAN_INIT("created"), take_created, "a time in seconds since 1970", false, false},
    {SPAN_INIT("expires"), take_expires, "a time in seconds since 1970, or 0", false, false},
    {SPAN_INIT("note"), take_note, "a text", false, false},
};

static void unknown_member(struct reader *r, struct span key)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;
    struct err *e = mistake(r, (size_t)(key.p - r->text.p) - 1);
    (void)err_set(e, -EINVAL, "a key has no \"%s\"", err_list_shown(key, shown));
    suggest_init(&s, key);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        suggest_offer(&s, members[i].name);
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "take it out; a newer version of the program may have written it");
}

static void take_member(struct reader *r, struct span key, uint32_t *seen, struct keyring_key *k)
{
    struct json_value v;
    size_t i = 0;
    while (i < ARRAY_LEN(members) && !span_eq(members[i].name, key))
        i++;
    if (i == ARRAY_LEN(members)) {
        unknown_member(r, key);
        return; /* json_key passes over the value */
    }
    if (!json_next(&r->json, &v))
        return;
    size_t offset = offset_of(r, &v);
    const struct member *m = &members[i];
    bool is_twice = *seen >> i & 1;
    bool is_entered = m->is_list && (v.type == JSON_ARRAY || v.type == JSON_OBJECT);
    *seen |= UINT32_C(1) << i;
    bool is_right = !is_twice && m->take(r, &v, k);
    if (!is_entered || !is_right)
        leave(r, &v);
    if (is_right || json_status(&r->json) != JSON_OK)
        return;
    struct err *e = mistake(r, offset);
    (void)err_set(e, -EINVAL, is_twice ? "\"%.*s\" stands twice" : "\"%.*s\" has to be %s",
                  SPAN_ARG(m->name), m->what);
    err_hint(e, "correct it, or take the key out and issue a new one with \"inferometer key add\"");
}

/* --- rows --- */

static void check_row(struct reader *r, size_t offset, uint32_t seen, const struct keyring_key *k)
{
    struct err wrong = {0};
    bool is_whole = true;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (!members[i].is_required || (seen >> i & 1))
            continue;
        struct err *e = mistake(r, offset);
        (void)err_set(e, -EINVAL, "the key has no \"%.*s\"", SPAN_ARG(members[i].name));
        err_hint(e, "put a backup back, or take the key out and issue a new one");
        is_whole = false;
    }
    if (is_whole && keyring_check(k, &wrong) < 0) {
        struct err *e = mistake(r, offset);
        (void)err_set(e, -EINVAL, "%s", wrong.text);
        err_hint(e, "%s", wrong.hint);
    }
}

static void take_row(struct reader *r)
{
    struct json_value v;
    struct span key;
    uint32_t seen = 0;
    struct keyring_key k = {.tenant = "", .note = ""};
    size_t n_before = r->n_mistakes;
    if (!json_next(&r->json, &v))
        return;
    size_t offset = offset_of(r, &v);
    if (v.type != JSON_OBJECT) {
        leave(r, &v);
        (void)err_set(mistake(r, offset), -EINVAL, "a key is an object in { }");
        return;
    }
    while (json_key(&r->json, &key))
        take_member(r, key, &seen, &k);
    if (json_status(&r->json) != JSON_OK)
        return;
    if (r->n_mistakes == n_before)
        check_row(r, offset, seen, &k);
    if (r->rows->n < KEYRING_KEYS_MAX)
        r->rows->keys[r->rows->n++] = k;
    else if (r->rows->n++ == KEYRING_KEYS_MAX)
        (void)err_set(mistake(r, offset), -EINVAL, "more than %d keys", KEYRING_KEYS_MAX);
}

static void take_version(struct reader *r, bool *ret_is_told)
{
    struct json_value v;
    int64_t version;
    if (!json_next(&r->json, &v))
        return;
    leave(r, &v);
    *ret_is_told = true;
    if (json_i64(&v, &version) && version == KEYFILE_VERSION)
        return;
    struct err *e = mistake(r, offset_of(r, &v));
    (void)err_set(e, -EINVAL, "\"version\" is not %d, the only one this program knows",
                  KEYFILE_VERSION);
    err_hint(e, "a newer version of the program wrote the file; use that one");
}

static void take_keys(struct reader *r, bool *ret_is_told)
{
    struct json_value v;
    if (!json_next(&r->json, &v))
        return;
    bool is_second = *ret_is_told;
    *ret_is_told = true;
    if (v.type != JSON_ARRAY || is_second) {
        leave(r, &v);
        (void)err_set(mistake(r, offset_of(r, &v)), -EINVAL, "\"keys\" is one list in [ ]");
        return;
    }
    while (json_item(&r->json))
        take_row(r);
}

static const char form_hint[] =
    "the file is {\"version\": 1, \"keys\": [...]}, as \"inferometer key "
    "add\" writes it; put a backup back";

static void take_file(struct reader *r)
{
    struct json_value v;
    struct span key;
    bool has_version = false;
    bool has_keys = false;
    if (!json_next(&r->json, &v))
        return;
    if (v.type != JSON_OBJECT)
        leave(r, &v);
    while (v.type == JSON_OBJECT && json_key(&r->json, &key)) {
        if (span_eq(key, SPAN("version"))) {
            take_version(r, &has_version);
        } else if (span_eq(key, SPAN("keys"))) {
            take_keys(r, &has_keys);
        } else {
            struct err *e = mistake(r, (size_t)(key.p - r->text.p) - 1);
            (void)err_set(e, -EINVAL, "beside \"version\" and \"keys\" stands something else");
            err_hint(e, "%s", form_hint);
        }
    }
    if (json_status(&r->json) == JSON_OK && r->n_mistakes == 0 && !(has_version && has_keys)) {
        struct err *e = mistake(r, offset_of(r, &v));
        (void)err_set(e, -EINVAL, "this is no key file");
        err_hint(e, "%s", form_hint);
    }
}

/* --- the whole --- */

static size_t count(struct span text, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == c;
    return n;
}

static int rows_alloc(struct span text, struct keyfile_rows *ret)
{
    size_t n_quotes = count(text, '"');
    size_t n_keys = count(text, '{');
    if (n_keys > KEYRING_KEYS_MAX)
        n_keys = KEYRING_KEYS_MAX;
    ret->keys = mem_zalloc(n_keys + 1, sizeof(*ret->keys));
    ret->_texts = mem_alloc(text.n + 1);
    ret->_pointers = mem_zalloc(n_quotes / 2 + 1, sizeof(const char *));
    ret->_labels = mem_zalloc(n_quotes / 4 + 1, sizeof(struct keyring_label));
    return ret->keys && ret->_texts && ret->_pointers && ret->_labels ? 0 : -ENOMEM;
}

void keyfile_json_done(struct keyfile_rows *rows)
{
    mem_free(rows->keys);
    mem_free(rows->_texts);
    mem_free(rows->_pointers);
    mem_free(rows->_labels);
    *rows = (struct keyfile_rows){0};
}

int keyfile_json_parse(struct span text, const char *path, struct keyfile_rows *ret,
                       struct err_list *errs)
{
    struct keyfile_rows rows = {0};
    struct reader r = {.text = text, .path = path, .errs = errs, .rows = &rows};
    int result = rows_alloc(text, &rows);
    if (result < 0) {
        keyfile_json_done(&rows);
        return err_set(err_list_add(errs, path, 0, 0), result, "out of memory");
    }
    r.texts = rows._texts;
    r.pointers = rows._pointers;
    r.labels = rows._labels;
    json_init(&r.json, text);
    take_file(&r);
    if (json_status(&r.json) != JSON_OK || (r.n_mistakes == 0 && !json_is_done(&r.json))) {
        struct err *e = mistake(&r, json_offset(&r.json));
        (void)err_set(e, -EINVAL,
                      json_status(&r.json) == JSON_MORE ? "the file ends too early"
                                                        : "this is no JSON");
        err_hint(e, "%s", form_hint);
    }
    if (r.n_mistakes > 0) {
        keyfile_json_done(&rows);
        return -EINVAL;
    }
    *ret = rows;
    return 0;
}
