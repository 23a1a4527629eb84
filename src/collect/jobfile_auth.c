/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile_auth.c - who a scrape says it is, and TLS and the proxy on the way.
 *
 * Values are never part of a message.
 */
#include <errno.h>

#include "collect/jobfile_private.h"

static void clash(struct file_reading *f, const struct yaml_node *at, const char *what,
                  const char *other)
{
    struct err *e = doc_error(&f->doc, at);

    (void)err_set(e, -EINVAL, "\"%s\" and \"%s\" are both there", what, other);
    err_hint(e, "one of them is enough");
}

static int read_basic(struct file_reading *f, const struct doc_key *k, struct scrape_auth *a)
{
    enum { USER, PASSWORD, PASSWORD_FILE, USER_FILE, COUNT_ };
    static const char *const names[COUNT_] = {"username", "password", "password_file",
                                              "username_file"};
    static const struct file_refusal refused = {"username_file", "write it behind \"username\""};
    struct doc_key keys[COUNT_];

    if (!k->value)
        return 0;
    (void)doc_keys(&f->doc, k->value, "basic_auth", names, COUNT_, keys);
    jobfile_refuse(f, &refused, 1, &keys[USER_FILE]);
    if (keys[PASSWORD].value && keys[PASSWORD_FILE].value)
        clash(f, keys[PASSWORD_FILE].key, "password_file", "password");
    int r = doc_text(&f->doc, &keys[USER], &a->user);
    if (r == 0)
        r = doc_text(&f->doc, &keys[PASSWORD], &a->password);
    return r == 0 ? jobfile_path(f, &keys[PASSWORD_FILE], &a->password_file) : r;
}

static int read_authorization(struct file_reading *f, const struct doc_key *k,
                              struct scrape_auth *a)
{
    enum { TYPE, CREDENTIALS, CREDENTIALS_FILE, COUNT_ };
    static const char *const names[COUNT_] = {"type", "credentials", "credentials_file"};
    struct doc_key keys[COUNT_];

    if (!k->value)
        return 0;
    (void)doc_keys(&f->doc, k->value, "authorization", names, COUNT_, keys);
    if (keys[CREDENTIALS].value && keys[CREDENTIALS_FILE].value)
        clash(f, keys[CREDENTIALS_FILE].key, "credentials_file", "credentials");
    a->type = SPAN("Bearer");
    int r = doc_text(&f->doc, &keys[TYPE], &a->type);
    a->type = span_trim(a->type);
    if (a->type.n == 0)
        a->type = SPAN("Bearer");
    if (span_eq_nocase(a->type, SPAN("basic"))) {
        struct err *e = doc_error(&f->doc, keys[TYPE].value);
        (void)err_set(e, -EINVAL, "\"type\" cannot be Basic here");
        err_hint(e, "use basic_auth with username and password");
    }
    if (r == 0)
        r = doc_text(&f->doc, &keys[CREDENTIALS], &a->credentials);
    return r == 0 ? jobfile_path(f, &keys[CREDENTIALS_FILE], &a->credentials_file) : r;
}

static int read_token(struct file_reading *f, const struct doc_key *keys, struct scrape_auth *a)
{
    if (keys[AUTH_TOKEN].value && keys[AUTH_TOKEN_FILE].value)
        clash(f, keys[AUTH_TOKEN_FILE].key, "bearer_token_file", "bearer_token");
    if (keys[AUTH_TOKEN].value || keys[AUTH_TOKEN_FILE].value)
        a->type = SPAN("Bearer");
    int r = doc_text(&f->doc, &keys[AUTH_TOKEN], &a->credentials);
    return r == 0 ? jobfile_path(f, &keys[AUTH_TOKEN_FILE], &a->credentials_file) : r;
}

/* Of the ways to say who we are there is one. */
static void check_ways(struct file_reading *f, const struct doc_key *keys)
{
    static const int ways[] = {AUTH_BASIC, AUTH_AUTHORIZATION, AUTH_TOKEN, AUTH_TOKEN_FILE};
    const struct yaml_node *first = NULL;

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        const struct doc_key *k = &keys[ways[i]];
        bool is_token = ways[i] == AUTH_TOKEN || ways[i] == AUTH_TOKEN_FILE;
        if (!k->value)
            continue;
        if (first && !(is_token && span_starts_with(yaml_span(first), SPAN("bearer_token"))))
            clash(f, k->key, k->key->text, first->text);
        first = first ? first : k->key;
    }
}

static void check_version(struct file_reading *f, const struct doc_key *k)
{
    static const char *const versions[] = {"TLS10", "TLS11", "TLS12", "TLS13"};

    if (!k->value || !doc_is(&f->doc, k, YAML_NODE_SCALAR))
        return;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        if (span_eq(yaml_span(k->value), span_cstr(versions[i])))
            return;
    struct err *e = doc_error(&f->doc, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is no version of TLS", k->key->text);
    err_hint(e, "it is TLS12 or TLS13; older ones are not spoken");
}

static int read_tls(struct file_reading *f, const struct doc_key *k, struct web_link *l)
{
    enum { CA_FILE, CERT_FILE, KEY_FILE, SERVER_NAME, SKIP, MIN, MAX, CA, CERT, KEY, COUNT_ };
    static const char *const names[COUNT_] = {
        "ca_file",     "cert_file",   "key_file", "server_name", "insecure_skip_verify",
        "min_version", "max_version", "ca",       "cert",        "key"};
    static const struct file_refusal refused[] = {
        {"ca", "write it to a file and name that in ca_file"},
        {"cert", "use cert_file"},
        {"key", "use key_file"}};
    struct doc_key keys[COUNT_];

    if (!k->value)
        return 0;
    (void)doc_keys(&f->doc, k->value, "tls_config", names, COUNT_, keys);
    jobfile_refuse(f, refused, ARRAY_LEN(refused), keys + CA);
    check_version(f, &keys[MIN]);
    check_version(f, &keys[MAX]);
    doc_bool(&f->doc, &keys[SKIP], &l->skips_verification);
    int r = jobfile_path(f, &keys[CA_FILE], &l->ca_file);
    if (r == 0)
        r = jobfile_path(f, &keys[CERT_FILE], &l->cert_file);
    if (r == 0)
        r = jobfile_path(f, &keys[KEY_FILE], &l->key_file);
    if (r == 0)
        r = doc_text(&f->doc, &keys[SERVER_NAME], &l->server_name);
    if (r == 0 && !keys[CERT].key && !keys[KEY].key &&
        (l->cert_file.n > 0) != (l->key_file.n > 0)) {
        struct err *e = doc_error(&f->doc, k->key);
        (void)err_set(e, -EINVAL, "\"cert_file\" and \"key_file\" need each other");
        err_hint(e, "name both, or neither");
    }
    return r;
}

static int read_proxy(struct file_reading *f, const struct doc_key *k, struct web_link *l)
{
    static const struct span schemes[] = {SPAN_INIT("http://"), SPAN_INIT("https://"),
                                          SPAN_INIT("socks5://"), SPAN_INIT("socks5h://"),
                                          SPAN_INIT("none")};
    int r = doc_text(&f->doc, k, &l->proxy_url);

    if (r < 0 || l->proxy_url.n == 0)
        return r;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (span_starts_with(l->proxy_url, schemes[i]))
            return 0;
    struct err *e = doc_error(&f->doc, k->value);
    (void)err_set(e, -EINVAL, "\"proxy_url\" is no URL of a proxy");
    err_hint(e, "it begins with http://, https:// or socks5://");
    return 0;
}

int jobfile_auth(struct file_reading *f, const struct doc_key *keys, struct scrape_job *j)
{
    int r = read_basic(f, &keys[AUTH_BASIC], &j->auth);

    check_ways(f, keys);
    if (r == 0)
        r = read_token(f, keys, &j->auth);
    if (r == 0)
        r = read_authorization(f, &keys[AUTH_AUTHORIZATION], &j->auth);
    if (r == 0)
        r = read_tls(f, &keys[AUTH_TLS], &j->link);
    return r == 0 ? read_proxy(f, &keys[AUTH_PROXY], &j->link) : r;
}
