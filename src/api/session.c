/* SPDX-License-Identifier: Apache-2.0 */
#include "api/session.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#include "api/cookie.h"
#include "base/num.h"

enum { MAC_BYTES = SESSION_MAC_HEX / 2, NONCE_BYTES = 16, PURPOSE_MAX = 16 };

static const char *const role_names[SESSION_ROLE_COUNT_] = {"none", "read", "write"};

const char *session_role_name(enum session_role r)
{
    return role_names[r];
}

bool session_is_needed(const struct api_access *a)
{
    return a->read_token[0] != '\0' || a->write_token[0] != '\0';
}

static const char *token_of(const struct api_access *a, enum session_role r)
{
    return r == SESSION_WRITE ? a->write_token : r == SESSION_READ ? a->read_token : "";
}

static bool is_same(struct span a, struct span b)
{
    return a.n == b.n && CRYPTO_memcmp(a.p, b.p, a.n) == 0;
}

/* How long a token is shows no more than a digest does. */
static bool is_token(struct span shown, const char *token)
{
    unsigned char a[EVP_MAX_MD_SIZE], b[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    return token[0] != '\0' && EVP_Digest(shown.p, shown.n, a, &n, EVP_sha256(), NULL) == 1 &&
           EVP_Digest(token, strlen(token), b, NULL, EVP_sha256(), NULL) == 1 &&
           CRYPTO_memcmp(a, b, n) == 0;
}

enum session_role session_role_of(const struct api_access *a, struct span token)
{
    bool is_write = is_token(token, a->write_token);
    bool is_read = is_token(token, a->read_token);

    return is_write ? SESSION_WRITE : is_read ? SESSION_READ : SESSION_NONE;
}

static void hex_write(const unsigned char *bytes, size_t n, char *dst)
{
    for (size_t i = 0; i < n; i++)
        (void)snprintf(dst + 2 * i, 3, "%02x", bytes[i]);
}

/* For one purpose, of what stands before the signature in a cookie. */
static bool sign(const char *token, const char *purpose, struct span text,
                 char ret[SESSION_MAC_HEX + 1])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned char message[PURPOSE_MAX + SESSION_VALUE_MAX];
    size_t n = strlen(purpose);
    unsigned len = 0;

    if (token[0] == '\0' || n >= PURPOSE_MAX || text.n > SESSION_VALUE_MAX)
        return false;
    memcpy(message, purpose, n);
    message[n++] = '|';
    memcpy(message + n, text.p, text.n);
    if (!HMAC(EVP_sha256(), token, (int)strlen(token), message, n + text.n, mac, &len) ||
        len != MAC_BYTES)
        return false;
    hex_write(mac, MAC_BYTES, ret);
    return true;
}

int session_new(const struct api_access *a, enum session_role role, int64_t now_s,
                char ret_value[SESSION_VALUE_MAX])
{
    unsigned char nonce[NONCE_BYTES];
    char hex[2 * NONCE_BYTES + 1], mac[SESSION_MAC_HEX + 1];
    int64_t expires_s = now_s + a->session_ns / NS_PER_S;

    if (RAND_bytes(nonce, sizeof(nonce)) != 1)
        return -EIO;
    hex_write(nonce, sizeof(nonce), hex);
    int n = snprintf(ret_value, SESSION_VALUE_MAX, "%s.%lld.%s", role_names[role],
                     (long long)expires_s, hex);
    if (!sign(token_of(a, role), "session", span_of(ret_value, (size_t)n), mac))
        return -EIO;
    (void)snprintf(ret_value + n, SESSION_VALUE_MAX - (size_t)n, ".%s", mac);
    return 0;
}

static enum session_role role_named(struct span name)
{
    for (enum session_role r = SESSION_READ; r < SESSION_ROLE_COUNT_; r++)
        if (span_eq(name, span_cstr(role_names[r])))
            return r;
    return SESSION_NONE;
}

struct session session_read(const struct api_access *a, struct span value, int64_t now_s)
{
    struct session s = {.way = SESSION_COOKIE};
    char mac[SESSION_MAC_HEX + 1];
    struct span rest = value;
    enum session_role role = role_named(span_split(&rest, '.'));
    struct span expires = span_split(&rest, '.');
    struct span nonce = span_split(&rest, '.');
    int64_t expires_s = 0;

    if (role == SESSION_NONE || nonce.n != 2 * NONCE_BYTES || rest.n != SESSION_MAC_HEX ||
        num_parse_i64(expires, &expires_s) < 0)
        return s;
    struct span text = span_of(value.p, value.n - rest.n - 1);
    const char *token = token_of(a, role);
    if (!sign(token, "session", text, mac) || !is_same(rest, span_of(mac, SESSION_MAC_HEX)) ||
        expires_s <= now_s || !sign(token, "csrf", text, s.csrf))
        return s;
    s.role = role;
    s.expires_s = expires_s;
    return s;
}

static struct session judge(const struct api_access *a, const struct http1_head *head,
                            int64_t now_s)
{
    struct span shown = http1_field_value(head, SPAN("Authorization"));
    struct span scheme = span_split(&shown, ' ');

    if (!session_is_needed(a))
        return (struct session){.role = SESSION_WRITE, .way = SESSION_FREE};
    if (span_eq_nocase(scheme, SPAN("Bearer")))
        return (struct session){.role = session_role_of(a, span_trim(shown)),
                                .way = SESSION_BEARER};
    return session_read(a, cookie_value(head, SPAN(SESSION_COOKIE_NAME)), now_s);
}

struct session session_of(const struct api_access *a, const struct http1_head *head, int64_t now_s)
{
    struct session s = judge(a, head, now_s);

    s.tokens = a->number;
    return s;
}
