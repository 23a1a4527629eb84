/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/catalog.h"

#include <stdio.h>

#include "base/jsonw.h"
#include "dialect/dialect.h"

/* --- forms --- */

static void openai_model(struct jsonw *w, const char *name)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "id", name);
    jsonw_put_cstr(w, "object", "model");
    jsonw_put_i64(w, "created", 0);
    jsonw_put_cstr(w, "owned_by", "inferometer");
    jsonw_end_object(w);
}

static void anthropic_model(struct jsonw *w, const char *name)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "type", "model");
    jsonw_put_cstr(w, "id", name);
    jsonw_put_cstr(w, "display_name", name);
    jsonw_put_cstr(w, "created_at", "1970-01-01T00:00:00Z");
    jsonw_end_object(w);
}

static void ollama_model(struct jsonw *w, const char *name)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "name", name);
    jsonw_put_cstr(w, "model", name);
    jsonw_put_cstr(w, "modified_at", "1970-01-01T00:00:00Z");
    jsonw_put_i64(w, "size", 0);
    jsonw_put_cstr(w, "digest", "");
    jsonw_end_object(w);
}

static void gemini_model(struct jsonw *w, const char *name)
{
    char full[DIALECT_MODEL_MAX + sizeof("models/")];

    (void)snprintf(full, sizeof(full), "models/%s", name);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "name", full);
    jsonw_put_cstr(w, "displayName", name);
    jsonw_end_object(w);
}

static void openai_begin(struct jsonw *w)
{
    jsonw_put_cstr(w, "object", "list");
}

static void anthropic_begin(struct jsonw *w)
{
    jsonw_put_bool(w, "has_more", false);
}

struct form {
    const char *list;               /* key of the array */
    void (*begin)(struct jsonw *w); /* members in front of it; may be NULL */
    void (*model)(struct jsonw *w, const char *name);
};

static const struct form forms[CATALOG_FORM_COUNT_] = {
    [CATALOG_OPENAI] = {"data", openai_begin, openai_model},
    [CATALOG_ANTHROPIC] = {"data", anthropic_begin, anthropic_model},
    [CATALOG_OLLAMA] = {"models", NULL, ollama_model},
    [CATALOG_GEMINI] = {"models", NULL, gemini_model},
};

/* --- requests --- */

static struct span after(struct span s, struct span prefix)
{
    return span_from(s, prefix.n);
}

/* "/v1/models", "/v1/models/a/b", "/v1beta/models", "/api/tags". */
bool catalog_take(const struct http1_head *head, struct span path, struct catalog_request *ret)
{
    static const struct {
        struct span path;
        enum catalog_form form;
        bool may_name_one;
    } rows[] = {
        {SPAN_INIT("/v1/models"), CATALOG_OPENAI, true},
        {SPAN_INIT("/v1beta/models"), CATALOG_GEMINI, true},
        {SPAN_INIT("/api/tags"), CATALOG_OLLAMA, false},
    };
    struct span only = {path.p, span_find_char(path, '?')};

    if (!span_eq(head->method, SPAN("GET")) && !span_eq(head->method, SPAN("HEAD")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span rest = after(only, rows[i].path);

        if (!span_starts_with(only, rows[i].path))
            continue;
        if (rest.n > 0 && (rest.p[0] != '/' || (rest.n > 1 && !rows[i].may_name_one)))
            continue;
        *ret = (struct catalog_request){.form = rows[i].form, .one = span_from(rest, 1)};
        if (ret->form == CATALOG_OPENAI && http1_field_find(head, SPAN("anthropic-version")))
            ret->form = CATALOG_ANTHROPIC;
        return true;
    }
    return false;
}

/* --- writing --- */

struct writing {
    struct jsonw json;
    const struct catalog_request *req;
    catalog_filter *filter;
    void *ctx;
    bool is_found;
};

static bool is_wanted(const struct writing *w, const char *name)
{
    if (w->req->one.n > 0 && !span_eq(w->req->one, span_cstr(name)))
        return false;
    return !w->filter || w->filter(w->ctx, name);
}

static void on_model(void *ctx, const char *name)
{
    struct writing *w = ctx;

    if (!is_wanted(w, name))
        return;
    w->is_found = true;
    forms[w->req->form].model(&w->json, name);
}

int catalog_write(const struct routes *r, const struct catalog_request *req, catalog_filter *filter,
                  void *ctx, struct buf *out, bool *ret_is_found)
{
    const struct form *form = &forms[req->form];
    struct writing w = {.req = req, .filter = filter, .ctx = ctx};
    bool is_list = req->one.n == 0;

    jsonw_init(&w.json, out);
    if (is_list) {
        jsonw_begin_object(&w.json);
        if (form->begin)
            form->begin(&w.json);
        jsonw_key(&w.json, form->list);
        jsonw_begin_array(&w.json);
    }
    routes_each_model(r, on_model, &w);
    if (is_list) {
        jsonw_end_array(&w.json);
        jsonw_end_object(&w.json);
    }
    *ret_is_found = is_list || w.is_found;
    return jsonw_error(&w.json);
}
