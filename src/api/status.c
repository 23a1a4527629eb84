/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/status.c - the state of the process: as JSON, as a page that fills itself from that JSON, and
 * as lines for a terminal.
 */
#include "api/routes.h"

#include <errno.h>

#include "api/fill.h"
#include "api/language.h"
#include "api/status_text.h"
#include "api/web_files.h"
#include "base/limits.h"

enum { STATUS_MAX = MIB };

/* Made from files of those names at build time (cmake/Modules.cmake). */
extern const char api_index_html[], api_status_css[], api_status_js[];
extern const size_t api_index_html_size, api_status_css_size, api_status_js_size;

static int status_write(const struct api_sources *s, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "version", PROJECT_VERSION);
    if (s->status)
        s->status(s->arg, &w);
    jsonw_key(&w, "upstreams");
    jsonw_begin_array(&w);
    if (s->upstreams)
        s->upstreams(s->arg, &w);
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w);
}

void status_handle_json(const struct api_request *req, struct api_answer *ret)
{
    if (status_write(req->sources, &ret->body) < 0 || buf_append(&ret->body, SPAN("\n")) < 0)
        api_answer_error(ret, 500, "out of memory");
}

/* --- for people --- */

static int text_render(enum language l, struct span status, struct buf *out)
{
    int r = buf_printf(out, "inferometer %s\n\n", PROJECT_VERSION);

    if (r == 0)
        r = status_text_append(status, l, out);
    if (r == 0)
        r = buf_printf(out, "\n%.*s\n", SPAN_ARG(language_word(l, SPAN("pages"))));
    for (size_t i = 0; r == 0 && route_at(i); i++)
        r = buf_printf(out, "  %-26.*s %s\n", SPAN_ARG(route_at(i)->path), route_at(i)->help);
    return r;
}

/* JSON inside a script element: nothing in it may look like a tag. */
static int script_append(struct buf *out, struct span json)
{
    while (json.n > 0) {
        size_t n = span_find_char(json, '<');
        int r = buf_append(out, span_take(&json, n));

        if (r == 0 && json.n > 0) {
            (void)span_take(&json, 1);
            r = buf_append(out, SPAN("\\u003c"));
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static void pages_write(struct jsonw *w)
{
    jsonw_begin_array(w);
    for (size_t i = 0; route_at(i); i++) {
        jsonw_begin_object(w);
        jsonw_put_str(w, "path", route_at(i)->path);
        jsonw_put_cstr(w, "help", route_at(i)->help);
        jsonw_put_bool(w, "is_link",
                       route_at(i)->kind == ROUTE_PAGE &&
                           span_find_char(route_at(i)->path, '*') == route_at(i)->path.n);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

struct page {
    enum language language;
    struct span status;
};

static int page_name(void *ctx, struct span name, struct buf *out)
{
    const struct page *p = ctx;
    struct buf json;
    struct jsonw w;
    int r;

    if (span_eq(name, SPAN("lang")))
        return buf_append(out, span_cstr(language_tag(p->language)));
    if (span_eq(name, SPAN("status")))
        return script_append(out, p->status);
    buf_init(&json, STATUS_MAX);
    jsonw_init(&w, &json);
    if (span_eq(name, SPAN("words")))
        language_words(p->language, &w);
    else
        pages_write(&w);
    r = jsonw_error(&w);
    if (r == 0)
        r = script_append(out, buf_span(&json));
    buf_done(&json);
    return r;
}

static int html_render(enum language l, struct span status, struct buf *out)
{
    struct page p = {l, status};

    return fill_page(span_of(api_index_html, api_index_html_size), page_name, &p, out);
}

void status_handle_page(const struct api_request *req, struct api_answer *ret)
{
    enum language l = language_choose(http1_field_value(req->head, SPAN("Accept-Language")));
    struct buf status;
    int r;

    buf_init(&status, STATUS_MAX);
    r = status_write(req->sources, &status);
    if (r == 0 && web_files_are_wanted(req->head)) {
        ret->content_type = "text/html; charset=utf-8";
        ret->fields = "Vary: Accept, Accept-Language\r\n" WEB_FILES_SECURITY;
        r = html_render(l, buf_span(&status), &ret->body);
    } else if (r == 0) {
        ret->content_type = "text/plain; charset=utf-8";
        ret->fields = "Vary: Accept, Accept-Language\r\n";
        r = text_render(l, buf_span(&status), &ret->body);
    }
    buf_done(&status);
    if (r < 0)
        api_answer_error(ret, 500, "out of memory");
}

void status_handle_style(const struct api_request *req, struct api_answer *ret)
{
    (void)req;
    web_files_answer(span_of(api_status_css, api_status_css_size), "text/css; charset=utf-8", ret);
}

void status_handle_script(const struct api_request *req, struct api_answer *ret)
{
    (void)req;
    web_files_answer(span_of(api_status_js, api_status_js_size), "text/javascript; charset=utf-8",
                     ret);
}
