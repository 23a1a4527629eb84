/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/routing.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"

/* Visible ASCII: what may stand in a header. */
static bool is_key(struct span key)
{
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] <= ' ' || key.p[i] >= 0x7f)
            return false;
    }
    return key.n > 0 && key.n < LIMIT_CREDENTIAL_BYTES;
}

static struct span without_space(struct span s)
{
    while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ')
        s.n--;
    while (s.n > 0 && (unsigned char)s.p[0] <= ' ')
        s = span_from(s, 1);
    return s;
}

static int take_key(const struct config_upstream *u, struct span text, const char *from,
                    const char *where, char **ret, struct err *reterr)
{
    struct span key = without_space(text);

    if (!is_key(key)) {
        err_set(reterr, -EINVAL, "upstream \"%s\": what is in %s %s is no API key", u->name, from,
                where);
        err_hint(reterr, "put the key there and nothing else: one line of visible ASCII");
        return -EINVAL;
    }
    *ret = mem_strndup(key.p, key.n);
    return *ret ? 0 : -ENOMEM;
}

static void warn_if_open(const struct config_upstream *u)
{
    struct stat st;

    if (stat(u->key_file, &st) == 0 && (st.st_mode & (S_IRWXO)) != 0)
        LOG_WARN("key file \"%s\" of upstream \"%s\" can be read by every user: chmod 600 it",
                 u->key_file, u->name);
}

static int key_from_file(const struct config_upstream *u, char **ret, struct err *reterr)
{
    struct buf text;
    struct span all;
    int r;

    buf_init(&text, 16 * LIMIT_CREDENTIAL_BYTES);
    r = file_read(u->key_file, LIMIT_CREDENTIAL_BYTES, &text);
    all = buf_span(&text);
    if (r < 0) {
        err_set(reterr, r, "upstream \"%s\": could not read its key file \"%s\": %s", u->name,
                u->key_file, err_str(r));
        err_hint(reterr, "check \"key_file\", and that this program's user may read it");
    } else {
        warn_if_open(u);
        r = take_key(u, all, "file", u->key_file, ret, reterr);
    }
    if (buf_len(&text) > 0)
        explicit_bzero(buf_end(&text) - buf_len(&text), buf_len(&text));
    buf_done(&text);
    return r;
}

/* Anything else may be a key that was written in the wrong place: it is not repeated. */
static bool is_variable_name(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

        if (!is_letter && c != '_' && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.n > 0;
}

static int key_from_env(const struct config_upstream *u, char **ret, struct err *reterr)
{
    const char *key = getenv(u->key_env);

    if (!is_variable_name(span_cstr(u->key_env))) {
        err_set(reterr, -EINVAL, "upstream \"%s\": \"key_env\" is no name of a variable", u->name);
        err_hint(reterr, "put the key into an environment variable, and its name here");
        return -EINVAL;
    }
    if (key)
        return take_key(u, span_cstr(key), "variable", u->key_env, ret, reterr);
    err_set(reterr, -EINVAL, "upstream \"%s\": there is no environment variable %s", u->name,
            u->key_env);
    err_hint(reterr, "set it for this program, or change \"key_env\"");
    return -EINVAL;
}

static int key_of(const struct config_upstream *u, char **ret, struct err *reterr)
{
    if (u->key_file[0] != '\0')
        return key_from_file(u, ret, reterr);
    if (u->key_env[0] != '\0')
        return key_from_env(u, ret, reterr);
    *ret = NULL;
    return 0;
}

static void key_free(char *key)
{
    if (key)
        explicit_bzero(key, strlen(key));
    mem_free(key);
}

void routing_listed_done(struct routing_listed *l)
{
    for (size_t i = 0; i < l->n; i++)
        mem_free(l->names[i]);
    mem_free(l->names);
    *l = (struct routing_listed){0};
}

int routing_listed_set(struct routing_listed *l, const char *const *names, size_t n)
{
    struct routing_listed now = {.names = mem_zalloc(n + 1, sizeof(char *))};

    if (!now.names)
        return -ENOMEM;
    for (; now.n < n; now.n++) {
        now.names[now.n] = mem_strdup(names[now.n]);
        if (!now.names[now.n]) {
            routing_listed_done(&now);
            return -ENOMEM;
        }
    }
    routing_listed_done(l);
    *l = now;
    return 0;
}

int routing_build(const struct config *c, const struct routing_listed *listed, struct routes **ret,
                  struct err *reterr)
{
    struct routes_upstream upstreams[GATEWAY_UPSTREAMS_MAX];
    char *keys[GATEWAY_UPSTREAMS_MAX] = {0};
    struct routes_config config = {.upstreams = upstreams,
                                   .n_upstreams = c->upstreams.n,
                                   .aliases = (const char *const *)c->aliases.items,
                                   .n_aliases = c->aliases.n};
    int r = 0;

    for (size_t i = 0; i < c->upstreams.n && r == 0; i++) {
        const struct config_upstream *u = &c->upstreams.items[i];

        r = key_of(u, &keys[i], reterr);
        upstreams[i] = (struct routes_upstream){.name = u->name,
                                                .models = (const char *const *)u->models.items,
                                                .n_models = u->models.n,
                                                .listed = (const char *const *)listed[i].names,
                                                .n_listed = listed[i].n,
                                                .weight = (uint32_t)u->weight,
                                                .priority = (uint32_t)u->priority,
                                                .key = keys[i],
                                                .key_header = u->key_header};
    }
    if (r == 0)
        r = routes_new(&config, ret);
    if (r == -ENOMEM)
        err_set(reterr, r, "out of memory");
    for (size_t i = 0; i < c->upstreams.n; i++)
        key_free(keys[i]);
    return r;
}
