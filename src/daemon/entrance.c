/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/entrance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"

enum { FILE_MAX = 4 * KIB };

void entrance_init(struct entrance *e)
{
    *e = (struct entrance){0};
    (void)pthread_mutex_init(&e->_lock, NULL);
}

void entrance_done(struct entrance *e)
{
    explicit_bzero(&e->_now, sizeof(e->_now));
    (void)pthread_mutex_destroy(&e->_lock);
}

bool entrance_is_configured(const struct config *c)
{
    return c->admin_token_file[0] || c->admin_token_env[0] || c->admin_read_token_file[0] ||
           c->admin_read_token_env[0];
}

/* One token: where it stands, and what the keys are called. */
struct wish {
    const char *key; /* of the file */
    const char *file, *env;
    char *dst; /* API_TOKEN_MAX + 1 bytes */
};

static int refuse(const struct wish *w, int r, const char *why, struct err *reterr)
{
    (void)err_set(reterr, r, "the token in the %s \"%s\": %s", w->file[0] ? "file" : "variable",
                  w->file[0] ? w->file : w->env, why);
    err_hint(reterr, "openssl rand -hex 32 makes a good one; %s names where it stands", w->key);
    return r;
}

/* What Authorization and a form carry unchanged: letters, digits and signs, without spaces. */
static int token_take(const struct wish *w, struct span text, struct err *reterr)
{
    struct span token = span_trim(text);

    while (token.n > 0 && (token.p[token.n - 1] == '\n' || token.p[token.n - 1] == '\r'))
        token.n--;
    if (token.n < API_TOKEN_MIN)
        return refuse(w, -EINVAL, "it is shorter than 16 characters", reterr);
    if (token.n > API_TOKEN_MAX)
        return refuse(w, -EINVAL, "it is longer than 256 characters", reterr);
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] > '~')
            return refuse(w, -EINVAL, "it has other characters than visible ASCII", reterr);
    (void)span_copy(token, w->dst, API_TOKEN_MAX + 1);
    return 0;
}

static void warn_of_readers(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && (st.st_mode & S_IROTH))
        LOG_WARN("everybody on this machine may read the token in \"%s\": chmod o-r", path);
}

static int file_take(const struct wish *w, struct err *reterr)
{
    struct buf text;
    int r;

    buf_init(&text, 64 * KIB);
    r = file_read(w->file, FILE_MAX, &text);
    if (r < 0)
        (void)refuse(w, r, err_str(r), reterr);
    else
        r = token_take(w, buf_span(&text), reterr);
    if (r == 0)
        warn_of_readers(w->file);
    if (buf_len(&text) > 0)
        explicit_bzero((void *)(uintptr_t)buf_span(&text).p, buf_len(&text));
    buf_done(&text);
    return r;
}

static int env_take(const struct wish *w, struct err *reterr)
{
    const char *value = getenv(w->env);

    return value ? token_take(w, span_cstr(value), reterr)
                 : refuse(w, -ENOENT, "it is not set", reterr);
}

static int wish_read(const struct wish *w, struct err *reterr)
{
    if (w->file[0] && w->env[0])
        return refuse(w, -EINVAL, "a variable is named as well", reterr);
    if (w->file[0])
        return file_take(w, reterr);
    return w->env[0] ? env_take(w, reterr) : 0;
}

/* "https://a.example:8443/x" is reached as https://a.example:8443. */
static void origin_of(const char *url, char dst[API_ORIGIN_MAX])
{
    struct span u = span_cstr(url);
    size_t at = span_find(u, SPAN("://"));

    dst[0] = '\0';
    if (at == u.n)
        return;
    size_t n = at + 3 + span_find_char(span_from(u, at + 3), '/');
    if (n < API_ORIGIN_MAX)
        (void)span_copy(span_of(u.p, n), dst, API_ORIGIN_MAX);
}

int entrance_read(const struct config *c, struct api_access *ret, struct err *reterr)
{
    struct api_access a = {.open_metrics = c->admin_open_metrics,
                           .open_health = c->admin_open_health,
                           .session_ns = c->admin_session_ns};
    const struct wish wishes[] = {
        {"admin.token_file", c->admin_token_file, c->admin_token_env, a.write_token},
        {"admin.read_token_file", c->admin_read_token_file, c->admin_read_token_env, a.read_token},
    };
    int r = 0;

    origin_of(c->external_url, a.origin);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(wishes); i++)
        r = wish_read(&wishes[i], reterr);
    if (r == 0 && a.read_token[0] && strcmp(a.read_token, a.write_token) == 0)
        r = refuse(&wishes[1], -EINVAL, "it is the one for changing, too", reterr);
    if (r == 0)
        *ret = a;
    explicit_bzero(&a, sizeof(a));
    return r;
}

static bool is_same(const struct api_access *a, const struct api_access *b)
{
    return strcmp(a->read_token, b->read_token) == 0 && strcmp(a->write_token, b->write_token) == 0;
}

void entrance_take(struct entrance *e, const struct api_access *a)
{
    (void)pthread_mutex_lock(&e->_lock);
    uint64_t number = e->_now.number + !is_same(a, &e->_now);
    e->_now = *a;
    e->_now.number = number;
    (void)pthread_mutex_unlock(&e->_lock);
}

void entrance_access(struct entrance *e, struct api_access *ret)
{
    (void)pthread_mutex_lock(&e->_lock);
    *ret = e->_now;
    (void)pthread_mutex_unlock(&e->_lock);
}
