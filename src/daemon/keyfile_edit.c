/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile_edit.c - adds and removes keys: lock, read, change, write anew.
 *
 * What is written is checked as a keyring first, so that no edit leaves a file that cannot be
 * loaded. The lock is on a file of its own, since the key file is another one after each edit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/keyfile_io.h"

enum { ID_TRIES = 16 };

/* --- one edit --- */

struct edit {
    const char *path;
    struct err_list *errs;
    int lock_fd;
    bool is_new; /* there was no file */
    struct stat before;
    struct keyfile_rows rows;
    unsigned char pepper[KEYRING_PEPPER_BYTES];
};

static int fail(const struct edit *e, int code, const char *what)
{
    struct err *err = err_list_add(e->errs, e->path, 0, 0);
    (void)err_set(err, code, "%s: %s", what, err_str(code));
    if (code == -EACCES || code == -EPERM)
        err_hint(err, "run this as the user that the file and its directory belong to");
    else if (code == -ENOENT)
        err_hint(err, "its directory has to exist");
    return code;
}

static int lock(struct edit *e)
{
    char path[KEYFILE_PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s.lock", e->path);
    if (n < 0 || (size_t)n >= sizeof(path))
        return fail(e, -ENAMETOOLONG, "could not lock it");
    e->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (e->lock_fd < 0)
        return fail(e, -errno, "could not make its lock, FILE.lock");
    while (flock(e->lock_fd, LOCK_EX) < 0) {
        if (errno != EINTR)
            return fail(e, -errno, "could not lock it");
    }
    return 0;
}

static int random_bytes(unsigned char *dst, size_t n)
{
    while (n > 0) {
        ssize_t got = getrandom(dst, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        dst += got;
        n -= (size_t)got;
    }
    return 0;
}

static int make_pepper(struct edit *e, const char *path)
{
    char text[2 * KEYRING_PEPPER_BYTES + 2];
    int r = random_bytes(e->pepper, sizeof(e->pepper));
    if (r == 0) {
        keyfile_hex_format(e->pepper, sizeof(e->pepper), text);
        text[sizeof(text) - 2] = '\n';
        r = keyfile_io_write(path, span_of(text, sizeof(text) - 1), NULL);
    }
    explicit_bzero(text, sizeof(text));
    return r < 0 ? fail(e, r, "could not write its pepper") : 0;
}

/* Of a new file; a pepper that is there already stays, since another backup may need it. */
static int find_pepper(struct edit *e)
{
    char path[KEYFILE_PATH_MAX];
    if (e->is_new && keyfile_io_pepper_path(e->path, path) && access(path, F_OK) < 0 &&
        errno == ENOENT)
        return make_pepper(e, path);
    return keyfile_io_pepper(e->path, e->pepper, e->errs);
}

static int edit_begin(struct edit *e, bool is_made)
{
    int r = lock(e);
    if (r < 0)
        return r;
    r = keyfile_io_rows(e->path, &e->rows, &e->before, e->errs);
    e->is_new = r == -ENOENT;
    if (e->is_new && !is_made) {
        struct err *err = err_list_add(e->errs, e->path, 0, 0);
        (void)err_set(err, r, "there is no such file, and so there are no keys");
        err_hint(err, "--file names the key file");
        return r;
    }
    return r < 0 && !e->is_new ? r : find_pepper(e);
}

/* Writes these rows, if they make a keyring. */
static int edit_write(struct edit *e, const struct keyring_key *keys, size_t n)
{
    struct keyring *ring = NULL;
    struct buf text;
    int r = keyfile_io_ring(e->path, e->pepper, keys, n, &ring, e->errs);
    if (r < 0)
        return r;
    keyring_unref(ring);
    buf_init(&text, LIMIT_KEYFILE_BYTES);
    r = keyfile_json_print(keys, n, &text);
    if (r == 0)
        r = keyfile_io_write(e->path, buf_span(&text), e->is_new ? NULL : &e->before);
    buf_done(&text);
    return r < 0 ? fail(e, r, "could not write it") : 0;
}

static void edit_end(struct edit *e)
{
    keyfile_json_done(&e->rows);
    explicit_bzero(e->pepper, sizeof(e->pepper));
    if (e->lock_fd >= 0)
        (void)close(e->lock_fd); /* and with it the lock */
}

/* --- adding --- */

static bool has_id(const struct keyfile_rows *rows, const char *id)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (memcmp(rows->keys[i].id, id, KEYRING_ID_LEN) == 0)
            return true;
    }
    return false;
}

/* A key whose id is not taken; with 40 bits of chance the first one, nearly always. */
static int make_key(const struct edit *e, struct keyring_key *k, char *ret_key)
{
    unsigned char random[KEYRING_RANDOM_BYTES];
    int r = -EEXIST;
    for (int i = 0; r == -EEXIST && i < ID_TRIES; i++) {
        r = random_bytes(random, sizeof(random));
        if (r < 0)
            break;
        keyring_make(random, ret_key);
        (void)span_copy(span_of(ret_key + 4, KEYRING_ID_LEN), k->id, sizeof(k->id));
        r = has_id(&e->rows, k->id) ? -EEXIST : 0;
    }
    explicit_bzero(random, sizeof(random));
    return r < 0 ? r : keyring_hash(e->pepper, span_of(ret_key, KEYRING_KEY_LEN), k->hash);
}

/* Before anything is touched: its id and hash will be right. */
static int check_wish(const struct keyring_key *wanted, const char *path, struct err_list *errs)
{
    struct keyring_key k = *wanted;
    struct err wrong = {0};
    memset(k.id, 'a', KEYRING_ID_LEN);
    k.id[KEYRING_ID_LEN] = '\0';
    int r = keyring_check(&k, &wrong);
    if (r < 0) {
        struct err *e = err_list_add(errs, path, 0, 0);
        (void)err_set(e, r, "no key added: %s", wrong.text);
        err_hint(e, "%s", wrong.hint);
    }
    return r;
}

int keyfile_add(const char *path, const struct keyring_key *wanted,
                char ret_key[KEYRING_KEY_LEN + 1], struct err_list *reterrs)
{
    struct edit e = {.path = path, .errs = reterrs, .lock_fd = -1};
    char text[KEYRING_KEY_LEN + 1] = "";
    struct keyring_key *keys = NULL;
    int r = check_wish(wanted, path, reterrs);
    if (r == 0)
        r = edit_begin(&e, true);
    if (r == 0) {
        keys = mem_zalloc(e.rows.n + 1, sizeof(*keys));
        r = keys ? 0 : fail(&e, -ENOMEM, "could not add a key");
    }
    if (r == 0) {
        if (e.rows.n > 0)
            memcpy(keys, e.rows.keys, e.rows.n * sizeof(*keys));
        keys[e.rows.n] = *wanted;
        r = make_key(&e, &keys[e.rows.n], text);
        if (r < 0)
            (void)fail(&e, r, "could not make a key");
    }
    if (r == 0)
        r = edit_write(&e, keys, e.rows.n + 1);
    if (r == 0)
        memcpy(ret_key, text, sizeof(text));
    explicit_bzero(text, sizeof(text));
    mem_free(keys);
    edit_end(&e);
    return r;
}

/* --- removing --- */

static int no_such_id(const struct edit *e, struct span id)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;
    struct err *err = err_list_add(e->errs, e->path, 0, 0);
    (void)err_set(err, -ENOENT, "there is no key with the id \"%s\"", err_list_shown(id, shown));
    suggest_init(&s, id);
    for (size_t i = 0; i < e->rows.n; i++)
        suggest_offer(&s, span_cstr(e->rows.keys[i].id));
    if (s.best.n > 0)
        err_hint(err, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(err, "\"inferometer key list\" shows the ids");
    return -ENOENT;
}

int keyfile_remove(const char *path, struct span id, char ret_tenant[KEYRING_NAME_MAX],
                   struct err_list *reterrs)
{
    struct edit e = {.path = path, .errs = reterrs, .lock_fd = -1};
    char tenant[KEYRING_NAME_MAX];
    size_t i = 0;
    int r = edit_begin(&e, false);
    if (r == 0) {
        while (i < e.rows.n && !span_eq(span_cstr(e.rows.keys[i].id), id))
            i++;
        r = i < e.rows.n ? 0 : no_such_id(&e, id);
    }
    if (r == 0) {
        (void)span_copy(span_cstr(e.rows.keys[i].tenant), tenant, sizeof(tenant));
        memmove(&e.rows.keys[i], &e.rows.keys[i + 1], (e.rows.n - i - 1) * sizeof(e.rows.keys[0]));
        r = edit_write(&e, e.rows.keys, e.rows.n - 1);
    }
    if (r == 0)
        memcpy(ret_tenant, tenant, sizeof(tenant));
    edit_end(&e);
    return r;
}
