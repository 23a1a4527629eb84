/* SPDX-License-Identifier: Apache-2.0 */
#include "api/web_files.h"

#include <stdio.h>

#include "api/cookie.h"
#include "api/web_bundle.h"
#include "export/export.h"

static const struct web_file *file_find(struct span path)
{
    for (size_t i = 0; i < web_bundle_n; i++)
        if (span_eq(path, span_cstr(web_bundle[i].path)))
            return &web_bundle[i];
    return NULL;
}

bool web_files_are_there(void)
{
    return web_bundle_n > 0;
}

bool web_files_are_wanted(const struct http1_head *head)
{
    struct span accept = http1_field_value(head, SPAN("Accept"));

    return span_find(accept, SPAN("text/html")) < accept.n;
}

static void file_answer(const struct api_request *req, const struct web_file *f,
                        struct api_answer *ret)
{
    struct span known = http1_field_value(req->head, SPAN("If-None-Match"));
    struct span codings = http1_field_value(req->head, SPAN("Accept-Encoding"));

    ret->content_type = f->content_type;
    ret->etag = f->etag;
    if (span_find(known, span_cstr(f->etag)) < known.n)
        ret->status = 304;
    else if (codings.p && !negotiate_gzip(codings))
        api_answer_error(ret, 406, "pages are served in gzip only, which Accept-Encoding excludes");
    else if (buf_append(&ret->body, span_of(f->bytes, f->n)) < 0)
        api_answer_error(ret, 500, "out of memory");
    else
        ret->is_gzip = true;
}

void web_files_answer(struct span bytes, const char *type, struct api_answer *ret)
{
    ret->content_type = type;
    ret->fields = WEB_FILES_SECURITY;
    if (buf_append(&ret->body, bytes) < 0)
        api_answer_error(ret, 500, "out of memory");
}

enum language web_files_language(const struct http1_head *head)
{
    struct span chosen = cookie_value(head, SPAN("inferometer_lang"));

    for (enum language l = 0; l < LANGUAGE_COUNT_; l++)
        if (span_eq(chosen, span_cstr(language_tag(l))))
            return l;
    return language_choose(http1_field_value(head, SPAN("Accept-Language")));
}

void web_files_handle_app(const struct api_request *req, struct api_answer *ret)
{
    const char *lang = language_tag(web_files_language(req->head));
    char path[64];
    int n = snprintf(path, sizeof(path), "/index.%s.html", lang);
    const struct web_file *f = file_find(span_of(path, (size_t)n));

    if (!f) {
        api_answer_error(ret, 404, "this build has no pages but /status");
        return;
    }
    ret->cache = "no-cache";
    ret->fields = "Vary: Accept, Accept-Encoding, Accept-Language, Cookie\r\n" WEB_FILES_SECURITY;
    file_answer(req, f, ret);
}

void web_files_handle_index(const struct api_request *req, struct api_answer *ret)
{
    if (web_files_are_there() && web_files_are_wanted(req->head))
        web_files_handle_app(req, ret);
    else if (req->session->role == SESSION_NONE)
        login_answer_needed(req, ret);
    else
        status_handle_page(req, ret);
}

void web_files_handle_asset(const struct api_request *req, struct api_answer *ret)
{
    const struct web_file *f = file_find(req->path);

    if (!f) {
        api_answer_error(ret, 404, "there is no such file");
        return;
    }
    ret->cache = "public, max-age=31536000, immutable";
    ret->fields = "Vary: Accept-Encoding\r\n" WEB_FILES_SECURITY;
    file_answer(req, f, ret);
}
