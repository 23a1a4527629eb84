/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/keyring.h - the gateway's keys in memory: an immutable table, found by what a client
 * shows.
 *
 * Role:      whose key is this? What the key may do is decided by access.h, how often by key_use.h.
 *            Files, clocks and random numbers are the caller's (daemon/keyfile.h).
 * Form:      ifm-IIIIIIII-SSSS...: a public id of 8 characters and a secret of 43, base64url of 32
 *            random bytes. A ring keeps HMAC-SHA256 (pepper, whole text) and never the secret.
 * Timing:    everything that has the form costs one HMAC and one comparison in constant time,
 *            whether its id is known or not, so timing tells nothing. What has not the form is
 *            refused at once: the form is no secret. The table is searched by id, which is public.
 * Memory:    one block per ring, however many keys.
 * Threading: immutable; reference-counted; find, ref and unref from any thread.
 */
#ifndef POLICY_KEYRING_H
#define POLICY_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

enum {
    KEYRING_ID_LEN = 8,
    KEYRING_SECRET_LEN = 43,
    KEYRING_KEY_LEN = 4 + KEYRING_ID_LEN + 1 + KEYRING_SECRET_LEN,
    KEYRING_HASH_BYTES = 32,
    KEYRING_PEPPER_BYTES = 32,
    KEYRING_RANDOM_BYTES = 40, /* for one new key */

    KEYRING_KEYS_MAX = 100000,
    KEYRING_NAME_MAX = 64,   /* bytes of a tenant, a label's name or value, the end included */
    KEYRING_MODEL_MAX = 128, /* bytes of a model's name or prefix, the end included */
    KEYRING_NOTE_MAX = 256,
    KEYRING_MODELS_MAX = 64,
    KEYRING_LABELS_MAX = 8,
};

enum keyring_class { KEYRING_INTERACTIVE, KEYRING_BATCH, KEYRING_CLASS_COUNT_ };
const char *keyring_class_name(enum keyring_class c);

struct keyring_label {
    const char *name; /* [a-z_][a-z0-9_]* */
    const char *value;
};

/* One key. Texts belong to the ring, or to the caller on the way into keyring_new. */
struct keyring_key {
    char id[KEYRING_ID_LEN + 1];
    unsigned char hash[KEYRING_HASH_BYTES];
    enum keyring_class class;
    const char *tenant;
    const char *note;          /* "": none */
    const char *const *models; /* exact names, or prefixes ending in '*' */
    size_t n_models;           /* 0: all models */
    const struct keyring_label *labels;
    size_t n_labels;
    uint32_t max_inflight;            /* 0: no limit */
    uint32_t max_requests_per_minute; /* 0: no limit */
    int64_t created_s;                /* Unix time */
    int64_t expires_s;                /* first second in which it is not valid; 0: never */
};

struct keyring;

/* Whether a row is as it has to be. -EINVAL with text and hint. */
int keyring_check(const struct keyring_key *key, struct err *reterr) WARN_UNUSED;

/*
 * Copies keys. -EINVAL: keys[*ret_at] fails keyring_check; -EEXIST: its id
 * stands twice (*ret_at is the later one); -ENOMEM. *ret_at may be NULL.
 */
int keyring_new(const unsigned char pepper[KEYRING_PEPPER_BYTES], const struct keyring_key *keys,
                size_t n, struct keyring **ret, size_t *ret_at, struct err *reterr) WARN_UNUSED;
struct keyring *keyring_ref(struct keyring *r);   /* NULL is allowed */
struct keyring *keyring_unref(struct keyring *r); /* NULL is allowed; returns NULL */

/* In the order of their ids. keyring_at: NULL behind the last. */
size_t keyring_n(const struct keyring *r);
const struct keyring_key *keyring_at(const struct keyring *r, size_t i);
const struct keyring_key *keyring_by_id(const struct keyring *r, struct span id);

enum keyring_found {
    KEYRING_FOUND,
    KEYRING_MALFORMED, /* not the form of a key */
    KEYRING_UNKNOWN,   /* never issued, revoked, or the secret is wrong */
    KEYRING_EXPIRED,   /* *ret is set: the holder has the secret, and may be told */
    KEYRING_FAILED,    /* no memory */
};
/* now_s: Unix time. *ret lives as long as the ring; untouched unless found or expired. */
enum keyring_found keyring_find(const struct keyring *r, struct span shown, int64_t now_s,
                                const struct keyring_key **ret);

/* Whether the text has the form of a key. */
bool keyring_is_form(struct span shown);

/* Whether the key may use the model of that name; with an empty list, every one. */
bool keyring_allows(const struct keyring_key *key, struct span model);

/*
 * A new key's text from random bytes (not terminated: KEYRING_KEY_LEN bytes), and the hash of a
 * text. -ENOMEM, or -EIO where the library fails otherwise.
 */
void keyring_make(const unsigned char random[KEYRING_RANDOM_BYTES], char *ret_key);
int keyring_hash(const unsigned char pepper[KEYRING_PEPPER_BYTES], struct span key,
                 unsigned char ret[KEYRING_HASH_BYTES]) WARN_UNUSED;

#endif
