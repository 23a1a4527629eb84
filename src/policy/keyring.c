/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/keyring.c - see keyring.h.
 *
 * The hash is bound to the id, since it covers the whole text: a row's hash under another id fits
 * no key. OpenSSL's context with the pepper in it is made once per ring and copied for each check,
 * which takes half the time of setting one up; copies only read it, so threads may make them at
 * once.
 */
#include "policy/keyring.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/stat.h"

#define PREFIX SPAN("ifm-")

struct keyring {
    atomic_int refs;
    EVP_MAC_CTX *mac; /* keyed with the pepper, nothing hashed yet */
    size_t n;
    struct keyring_key keys[]; /* by id; what they point to stands behind them */
};

const char *keyring_class_name(enum keyring_class c)
{
    return c == KEYRING_BATCH ? "batch" : "interactive";
}

/* --- texts --- */

static bool is_base64url(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static bool is_id(struct span id)
{
    if (id.n != KEYRING_ID_LEN)
        return false;
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            return false;
    }
    return true;
}

static struct span id_of(struct span shown)
{
    return span_of(shown.p + PREFIX.n, KEYRING_ID_LEN);
}

bool keyring_is_form(struct span shown)
{
    if (shown.n != KEYRING_KEY_LEN || !span_starts_with(shown, PREFIX) || !is_id(id_of(shown)) ||
        shown.p[PREFIX.n + KEYRING_ID_LEN] != '-')
        return false;
    for (size_t i = shown.n - KEYRING_SECRET_LEN; i < shown.n; i++) {
        if (!is_base64url(shown.p[i]))
            return false;
    }
    return true;
}

void keyring_make(const unsigned char random[KEYRING_RANDOM_BYTES], char *ret_key)
{
    static const char id_letters[] =
        "abcdefghijkmnpqrstuvwxyz23456789"; /* none looks like another */
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char *at = ret_key;
    uint32_t bits = 0;
    int n_bits = 0;
    _Static_assert(KEYRING_RANDOM_BYTES == KEYRING_ID_LEN + 32,
                   "a byte of each id letter, then 32");

    memcpy(at, PREFIX.p, PREFIX.n);
    at += PREFIX.n;
    for (int i = 0; i < KEYRING_ID_LEN; i++)
        *at++ = id_letters[random[i] % 32];
    *at++ = '-';
    for (int i = KEYRING_ID_LEN; i < KEYRING_RANDOM_BYTES; i++) {
        bits = bits << 8 | random[i];
        for (n_bits += 8; n_bits >= 6; n_bits -= 6)
            *at++ = letters[bits >> (n_bits - 6) & 63];
    }
    *at++ = letters[bits << (6 - n_bits) & 63];
    ASSERT(at == ret_key + KEYRING_KEY_LEN);
}

/* --- hashes --- */

static EVP_MAC_CTX *mac_new(const unsigned char *pepper)
{
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_end()};
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac); /* the context holds a reference */
    if (ctx && EVP_MAC_init(ctx, pepper, KEYRING_PEPPER_BYTES, params) == 1)
        return ctx;
    EVP_MAC_CTX_free(ctx);
    return NULL;
}

/* mac is spent afterwards. */
static bool mac_finish(EVP_MAC_CTX *mac, struct span text, unsigned char *ret)
{
    size_t n = 0;
    return EVP_MAC_update(mac, (const unsigned char *)text.p, text.n) == 1 &&
           EVP_MAC_final(mac, ret, &n, KEYRING_HASH_BYTES) == 1 && n == KEYRING_HASH_BYTES;
}

int keyring_hash(const unsigned char pepper[KEYRING_PEPPER_BYTES], struct span key,
                 unsigned char ret[KEYRING_HASH_BYTES])
{
    unsigned char hash[KEYRING_HASH_BYTES] = {0};
    EVP_MAC_CTX *mac = mac_new(pepper);
    if (!mac)
        return -ENOMEM;
    bool is_ok = mac_finish(mac, key, hash);
    EVP_MAC_CTX_free(mac);
    if (!is_ok)
        return -EIO;
    memcpy(ret, hash, sizeof(hash));
    return 0;
}

static bool hash_shown(const struct keyring *r, struct span shown, unsigned char *ret)
{
    EVP_MAC_CTX *mac = EVP_MAC_CTX_dup(r->mac);
    if (!mac)
        return false;
    bool is_ok = mac_finish(mac, shown, ret);
    EVP_MAC_CTX_free(mac);
    stat_inc(STAT_KEY_CHECKS);
    return is_ok;
}

/* --- is a row as it has to be? --- */

/* One line of printable text: what goes into records, labels and messages. */
static bool is_text(const char *s, size_t max)
{
    size_t n = s ? strlen(s) : max;
    if (n >= max)
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
            return false;
    }
    return true;
}

static bool is_label_name(const char *s)
{
    if (!is_text(s, KEYRING_NAME_MAX) || s[0] == '\0' || (s[0] >= '0' && s[0] <= '9'))
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(s);
}

static int check_models(const struct keyring_key *k, struct err *reterr)
{
    if (k->n_models > KEYRING_MODELS_MAX)
        return err_set(reterr, -EINVAL, "more than %d models", KEYRING_MODELS_MAX);
    for (size_t i = 0; i < k->n_models; i++) {
        const char *m = k->models[i];
        if (!is_text(m, KEYRING_MODEL_MAX) || m[0] == '\0')
            return err_set(reterr, -EINVAL, "a model is a name of 1 to %d bytes",
                           KEYRING_MODEL_MAX - 1);
        if (strcspn(m, "*") + 1 < strlen(m)) {
            (void)err_set(reterr, -EINVAL, "model \"%s\": a \"*\" may only stand at the end", m);
            err_hint(reterr, "\"llama-*\" is every name that begins with \"llama-\"");
            return -EINVAL;
        }
    }
    return 0;
}

static int check_labels(const struct keyring_key *k, struct err *reterr)
{
    if (k->n_labels > KEYRING_LABELS_MAX)
        return err_set(reterr, -EINVAL, "more than %d labels", KEYRING_LABELS_MAX);
    for (size_t i = 0; i < k->n_labels; i++) {
        const struct keyring_label *l = &k->labels[i];
        if (!is_label_name(l->name)) {
            (void)err_set(reterr, -EINVAL, "\"%s\" is no name for a label",
                          is_text(l->name, KEYRING_NAME_MAX) ? l->name : "...");
            err_hint(reterr, "it is made of a-z, 0-9 and _, and begins with no digit");
            return -EINVAL;
        }
        if (!is_text(l->value, KEYRING_NAME_MAX))
            return err_set(reterr, -EINVAL,
                           "the value of label \"%s\" is not one line of at most %d bytes", l->name,
                           KEYRING_NAME_MAX - 1);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(l->name, k->labels[j].name) == 0)
                return err_set(reterr, -EINVAL, "label \"%s\" stands twice", l->name);
        }
    }
    return 0;
}

int keyring_check(const struct keyring_key *key, struct err *reterr)
{
    if (!is_id(span_of(key->id, strnlen(key->id, sizeof(key->id)))))
        return err_set(reterr, -EINVAL, "an id is made of %d letters a-z and digits",
                       KEYRING_ID_LEN);
    if (!is_text(key->tenant, KEYRING_NAME_MAX) || key->tenant[0] == '\0')
        return err_set(reterr, -EINVAL, "a tenant is a name of 1 to %d bytes",
                       KEYRING_NAME_MAX - 1);
    if (!is_text(key->note, KEYRING_NOTE_MAX))
        return err_set(reterr, -EINVAL, "a note is one line of at most %d bytes",
                       KEYRING_NOTE_MAX - 1);
    if ((unsigned)key->class >= KEYRING_CLASS_COUNT_)
        return err_set(reterr, -EINVAL, "a class is interactive or batch");
    if (key->created_s < 0 || key->expires_s < 0)
        return err_set(reterr, -EINVAL, "a time is not before 1970");
    int r = check_models(key, reterr);
    return r < 0 ? r : check_labels(key, reterr);
}

/* --- building: everything in one block --- */

/* Hands out the block behind the rows, pointers first since they have to be aligned. */
struct block {
    const char **pointers;
    struct keyring_label *labels;
    char *text;
};

static size_t text_bytes(const struct keyring_key *k)
{
    size_t n = strlen(k->tenant) + 1 + strlen(k->note) + 1;
    for (size_t i = 0; i < k->n_models; i++)
        n += strlen(k->models[i]) + 1;
    for (size_t i = 0; i < k->n_labels; i++)
        n += strlen(k->labels[i].name) + 1 + strlen(k->labels[i].value) + 1;
    return n;
}

static const char *put_text(struct block *b, const char *s)
{
    size_t n = strlen(s) + 1;
    char *at = memcpy(b->text, s, n);
    b->text += n;
    return at;
}

static void put_key(struct block *b, const struct keyring_key *from, struct keyring_key *to)
{
    *to = *from;
    to->tenant = put_text(b, from->tenant);
    to->note = put_text(b, from->note);
    to->models = b->pointers;
    for (size_t i = 0; i < from->n_models; i++)
        *b->pointers++ = put_text(b, from->models[i]);
    to->labels = b->labels;
    for (size_t i = 0; i < from->n_labels; i++)
        *b->labels++ = (struct keyring_label){put_text(b, from->labels[i].name),
                                              put_text(b, from->labels[i].value)};
}

static struct keyring *ring_alloc(const struct keyring_key *keys, size_t n, struct block *ret)
{
    size_t n_models = 0;
    size_t n_labels = 0;
    size_t text = 0;
    for (size_t i = 0; i < n; i++) {
        n_models += keys[i].n_models;
        n_labels += keys[i].n_labels;
        text += text_bytes(&keys[i]);
    }
    struct keyring *r =
        mem_alloc(sizeof(*r) + n * sizeof(r->keys[0]) + n_labels * sizeof(struct keyring_label) +
                  n_models * sizeof(const char *) + text);
    if (!r)
        return NULL;
    ret->labels = (struct keyring_label *)(void *)&r->keys[n];
    ret->pointers = (const char **)(void *)(ret->labels + n_labels);
    ret->text = (char *)(ret->pointers + n_models);
    return r;
}

static int compare_ids(const void *a, const void *b)
{
    const struct keyring_key *x = a;
    const struct keyring_key *y = b;
    return memcmp(x->id, y->id, KEYRING_ID_LEN);
}

/* The first of keys whose id stood before; n: there is none. */
static size_t find_twin(const struct keyring *r, const struct keyring_key *keys, size_t n)
{
    const char *id = NULL;
    for (size_t i = 1; i < r->n && !id; i++) {
        if (compare_ids(&r->keys[i - 1], &r->keys[i]) == 0)
            id = r->keys[i].id;
    }
    bool is_seen = false;
    for (size_t i = 0; i < n && id; i++) {
        bool is_it = memcmp(keys[i].id, id, KEYRING_ID_LEN) == 0;
        if (is_it && is_seen)
            return i;
        is_seen = is_seen || is_it;
    }
    return n;
}

static int check_all(const struct keyring_key *keys, size_t n, size_t *ret_at, struct err *reterr)
{
    if (n > KEYRING_KEYS_MAX)
        return err_set(reterr, -EINVAL, "more than %d keys", KEYRING_KEYS_MAX);
    for (size_t i = 0; i < n; i++) {
        int error = keyring_check(&keys[i], reterr);
        *ret_at = i;
        if (error < 0)
            return error;
    }
    return 0;
}

int keyring_new(const unsigned char pepper[KEYRING_PEPPER_BYTES], const struct keyring_key *keys,
                size_t n, struct keyring **ret, size_t *ret_at, struct err *reterr)
{
    struct block block;
    size_t at = 0;
    int error = check_all(keys, n, &at, reterr);
    if (ret_at)
        *ret_at = at;
    if (error < 0)
        return error;
    struct keyring *r = ring_alloc(keys, n, &block);
    if (!r)
        return err_set(reterr, -ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        put_key(&block, &keys[i], &r->keys[i]);
    r->n = n;
    if (n > 0)
        qsort(r->keys, n, sizeof(r->keys[0]), compare_ids);
    at = find_twin(r, keys, n);
    r->mac = at == n ? mac_new(pepper) : NULL;
    if (r->mac) {
        atomic_init(&r->refs, 1);
        *ret = r;
        return 0;
    }
    mem_free(r);
    if (at == n)
        return err_set(reterr, -ENOMEM, "could not set up HMAC-SHA256");
    if (ret_at)
        *ret_at = at;
    return err_set(reterr, -EEXIST, "the id \"%s\" stands twice", keys[at].id);
}

struct keyring *keyring_ref(struct keyring *r)
{
    if (r)
        atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

struct keyring *keyring_unref(struct keyring *r)
{
    if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
        EVP_MAC_CTX_free(r->mac);
        mem_free(r);
    }
    return NULL;
}

/* --- asking --- */

size_t keyring_n(const struct keyring *r)
{
    return r->n;
}

const struct keyring_key *keyring_at(const struct keyring *r, size_t i)
{
    return i < r->n ? &r->keys[i] : NULL;
}

const struct keyring_key *keyring_by_id(const struct keyring *r, struct span id)
{
    struct keyring_key wanted = {.id = ""};
    if (id.n != KEYRING_ID_LEN || r->n == 0)
        return NULL;
    memcpy(wanted.id, id.p, KEYRING_ID_LEN);
    return bsearch(&wanted, r->keys, r->n, sizeof(r->keys[0]), compare_ids);
}

enum keyring_found keyring_find(const struct keyring *r, struct span shown, int64_t now_s,
                                const struct keyring_key **ret)
{
    static const struct keyring_key nobody = {.id = ""};
    unsigned char hash[KEYRING_HASH_BYTES] = {0};
    if (!keyring_is_form(shown))
        return KEYRING_MALFORMED;
    const struct keyring_key *known = keyring_by_id(r, id_of(shown));
    const struct keyring_key *key = known ? known : &nobody;
    if (!hash_shown(r, shown, hash))
        return KEYRING_FAILED;
    bool is_same = CRYPTO_memcmp(hash, key->hash, sizeof(hash)) == 0;
    OPENSSL_cleanse(hash, sizeof(hash));
    if (!is_same || !known)
        return KEYRING_UNKNOWN;
    *ret = known;
    return known->expires_s != 0 && now_s >= known->expires_s ? KEYRING_EXPIRED : KEYRING_FOUND;
}

bool keyring_allows(const struct keyring_key *key, struct span model)
{
    for (size_t i = 0; i < key->n_models; i++) {
        struct span name = span_cstr(key->models[i]);
        bool is_prefix = name.p[name.n - 1] == '*';
        if (is_prefix ? span_starts_with(model, span_of(name.p, name.n - 1)) : span_eq(model, name))
            return true;
    }
    return key->n_models == 0;
}
