/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/login.c - a browser's session: the page that asks for a token, its beginning and its end, and
 * what it may.
 */
#include "api/routes.h"

#include <errno.h>

#include "api/fill.h"
#include "api/params.h"
#include "api/web_files.h"
#include "base/limits.h"
#include "base/stat.h"

enum { NEXT_MAX = 2000 };

/* Made from login.html and login.css at build time (cmake/Modules.cmake). */
extern const char api_login_html[], api_login_css[];
extern const size_t api_login_html_size, api_login_css_size;

/* --- the page --- */

struct page {
    enum language language;
    struct span next;    /* checked */
    const char *message; /* a word's key; NULL: none */
};

static int page_name(void *ctx, struct span name, struct buf *out)
{
    const struct page *p = ctx;

    if (span_eq(name, SPAN("lang")))
        return buf_append(out, span_cstr(language_tag(p->language)));
    if (span_eq(name, SPAN("next")))
        return fill_escape(p->next, out);
    if (!span_eq(name, SPAN("message")))
        return fill_escape(language_word(p->language, name), out);
    return p->message ? fill_escape(language_word(p->language, span_cstr(p->message)), out) : 0;
}

static void page_answer(const struct page *p, int status, struct api_answer *ret)
{
    struct span html = span_of(api_login_html, api_login_html_size);

    ret->status = status;
    ret->content_type = "text/html; charset=utf-8";
    ret->fields = WEB_FILES_SECURITY "Vary: Accept-Language, Cookie\r\n";
    if (fill_page(html, page_name, (void *)(uintptr_t)p, &ret->body) < 0)
        api_answer_error(ret, 500, "out of memory");
}

/* A path of ours and nothing else: no other host, no line end. */
static struct span next_checked(struct span next)
{
    if (next.n == 0 || next.n > NEXT_MAX || next.p[0] != '/' || span_at(next, 1) == '/')
        return SPAN("/");
    for (size_t i = 0; i < next.n; i++)
        if (next.p[i] <= ' ' || next.p[i] > '~' || next.p[i] == '\\')
            return SPAN("/");
    return next;
}

static void redirect(struct span to, struct api_answer *ret)
{
    ret->status = 303;
    ret->content_type = "text/plain; charset=utf-8";
    if (buf_printf(&ret->more_fields, "Location: %.*s\r\n", SPAN_ARG(to)) < 0)
        api_answer_error(ret, 500, "out of memory");
}

/* The parameter next of a query or a form, decoded in a. */
static struct span next_of(struct arena *a, struct span encoded)
{
    struct params p = {0};

    if (params_parse(a, encoded, SPAN(""), &p) < 0)
        return SPAN("/");
    return next_checked(params_get(&p, SPAN("next")));
}

void login_handle_page(const struct api_request *req, struct api_answer *ret)
{
    struct page p = {.language = web_files_language(req->head)};
    struct arena a;

    if (!session_is_needed(req->access)) {
        redirect(SPAN("/"), ret);
        return;
    }
    arena_init(&a, NULL);
    p.next = next_of(&a, req->query);
    page_answer(&p, 200, ret);
    arena_done(&a);
}

void login_handle_style(const struct api_request *req, struct api_answer *ret)
{
    (void)req;
    web_files_answer(span_of(api_login_css, api_login_css_size), "text/css; charset=utf-8", ret);
}

/* --- who asks --- */

static int session_write(const struct session *s, bool is_needed, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_bool(&w, "is_token_needed", is_needed);
    jsonw_put_cstr(&w, "role", session_role_name(s->role));
    jsonw_key(&w, "csrf");
    if (s->role != SESSION_NONE && s->way == SESSION_COOKIE)
        jsonw_cstr(&w, s->csrf);
    else
        jsonw_null(&w);
    jsonw_key(&w, "expires");
    if (s->expires_s > 0)
        jsonw_i64(&w, s->expires_s);
    else
        jsonw_null(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? -ENOMEM : buf_append(out, SPAN("\n"));
}

void login_handle_session(const struct api_request *req, struct api_answer *ret)
{
    if (session_write(req->session, session_is_needed(req->access), &ret->body) < 0)
        api_answer_error(ret, 500, "out of memory");
}

/* Where a page is asked for: a browser's address, not what a page's script fetches. */
static bool is_visit(const struct api_request *req)
{
    return span_eq(req->head->method, SPAN("GET")) && web_files_are_wanted(req->head);
}

static int encode(struct span s, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < s.n && r == 0; i++)
        r = buf_printf(out, "%%%02X", (unsigned char)s.p[i]);
    return r;
}

void login_answer_needed(const struct api_request *req, struct api_answer *ret)
{
    struct buf to;

    stat_inc(STAT_ADMIN_REFUSED);
    if (!is_visit(req)) {
        api_answer_error(
            ret, 401,
            "a token is needed here: Authorization: Bearer TOKEN (commands take it from "
            "INFEROMETER_TOKEN), or POST /login");
        ret->fields = "WWW-Authenticate: Bearer realm=\"inferometer\"\r\n";
        return;
    }
    buf_init(&to, 8 * KIB);
    if (buf_append(&to, SPAN("/login?next=")) < 0 || encode(req->head->target, &to) < 0)
        redirect(SPAN("/login"), ret);
    else
        redirect(buf_span(&to), ret);
    buf_done(&to);
}

/* --- begin and end --- */

static int cookie_set(const struct api_form *f, const char *value, int64_t seconds,
                      struct api_answer *ret)
{
    return buf_printf(&ret->more_fields,
                      "Set-Cookie: " SESSION_COOKIE_NAME
                      "=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s"
                      "\r\n",
                      value, (long long)seconds, f->is_https ? "; Secure" : "");
}

static void refuse(const struct api_form *f, struct span next, struct api_answer *ret)
{
    struct page p = {.language = f->language, .next = next, .message = "login_wrong"};

    stat_inc(STAT_ADMIN_REFUSED);
    if (f->wants_html)
        page_answer(&p, 403, ret);
    else
        api_answer_error(ret, 403, "this is no token of this gateway");
}

static void begin(const struct api_form *f, enum session_role role, struct span next,
                  struct api_answer *ret)
{
    int64_t now_s = clock_real_ns() / NS_PER_S;
    char value[SESSION_VALUE_MAX];
    int r = session_new(f->access, role, now_s, value);

    if (r == 0)
        r = cookie_set(f, value, f->access->session_ns / NS_PER_S, ret);
    if (r == 0 && f->wants_html) {
        redirect(next, ret);
    } else if (r == 0) {
        struct session s = session_read(f->access, span_cstr(value), now_s);
        r = session_write(&s, true, &ret->body);
    }
    if (r < 0)
        api_answer_error(ret, 500, "the session could not begin");
}

void login_post(const struct api_form *f, struct api_answer *ret)
{
    struct params p = {0};
    struct arena a;

    arena_init(&a, NULL);
    if (!session_is_needed(f->access)) {
        api_answer_error(ret, 404, "no token is needed here");
    } else if (params_parse(&a, SPAN(""), f->form, &p) < 0) {
        api_answer_error(ret, 400, "this is no form with token=...");
    } else {
        struct span token = params_get(&p, SPAN("token"));
        struct span next = next_checked(params_get(&p, SPAN("next")));
        enum session_role role = session_role_of(f->access, token);
        if (role == SESSION_NONE)
            refuse(f, next, ret);
        else
            begin(f, role, next, ret);
    }
    arena_done(&a);
}

void login_post_leave(const struct api_form *f, struct api_answer *ret)
{
    if (cookie_set(f, "", 0, ret) < 0)
        api_answer_error(ret, 500, "out of memory");
    else if (f->wants_html)
        redirect(SPAN("/login"), ret);
    else if (buf_append(&ret->body, SPAN("{}\n")) < 0)
        api_answer_error(ret, 500, "out of memory");
}
