/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile_io.c - reads and writes the key file and its pepper.
 *
 * Who may read a file is asked of the open descriptor, so that nothing can be exchanged in between.
 */
#include "daemon/keyfile_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"

enum { PEPPER_MAX = 1024 };

/* --- reading --- */

/* One of the two files, and how mistakes about it begin. */
struct source {
    const char *path;
    const char *where; /* the key file, for the list */
    const char *what;
    size_t max; /* bytes */
};

static struct err *complain(const struct source *s, struct err_list *errs, int code,
                            const char *text)
{
    struct err *e = err_list_add(errs, s->where, 0, 0);
    (void)err_set(e, code, "%s%s", s->what, text);
    return e;
}

static int check_stat(const struct source *s, const struct stat *st, struct err_list *errs)
{
    char text[96];
    if (!S_ISREG(st->st_mode)) {
        (void)complain(s, errs, -EINVAL, "is no regular file");
        return -EINVAL;
    }
    if ((st->st_mode & 077) == 0)
        return 0;
    (void)snprintf(text, sizeof(text), "mode %04o: others than its owner may read or write it",
                   (unsigned)(st->st_mode & 07777));
    err_hint(complain(s, errs, -EPERM, text), "chmod 600 %s", s->path);
    return -EPERM;
}

static int read_file(const struct source *s, struct buf *out, struct stat *ret,
                     struct err_list *errs)
{
    /* Not waiting for a writer, should it be a pipe. */
    int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int r;
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0) {
        r = -errno;
        struct err *e = complain(s, errs, r, err_str(r));
        if (r == -EACCES)
            err_hint(e, "it has to belong to the user that the program runs as: %s", s->path);
        return r;
    }
    r = fstat(fd, ret) < 0 ? -errno : 0;
    if (r < 0)
        (void)complain(s, errs, r, err_str(r));
    else
        r = check_stat(s, ret, errs);
    if (r == 0) {
        r = file_read_fd(fd, s->max, out);
        if (r == 0 && buf_len(out) > s->max)
            r = -EFBIG;
        if (r < 0)
            (void)complain(s, errs, r, err_str(r));
    }
    (void)close(fd); /* only read from */
    return r;
}

int keyfile_io_rows(const char *path, struct keyfile_rows *ret, struct stat *ret_stat,
                    struct err_list *errs)
{
    struct source source = {.path = path, .where = path, .what = "", .max = LIMIT_KEYFILE_BYTES};
    struct buf text;
    buf_init(&text, 2 * LIMIT_KEYFILE_BYTES);
    int r = read_file(&source, &text, ret_stat, errs);
    if (r == 0)
        r = keyfile_json_parse(buf_span(&text), path, ret, errs);
    buf_done(&text);
    return r;
}

/* --- the pepper --- */

const char *keyfile_io_pepper_path(const char *path, char *dst)
{
    int n = snprintf(dst, KEYFILE_PATH_MAX, "%s.pepper", path);
    return n > 0 && n < KEYFILE_PATH_MAX ? dst : NULL;
}

int keyfile_io_pepper(const char *path, unsigned char ret[KEYRING_PEPPER_BYTES],
                      struct err_list *errs)
{
    char pepper_path[KEYFILE_PATH_MAX];
    struct source source = {
        .path = pepper_path, .where = path, .what = "FILE.pepper: ", .max = PEPPER_MAX};
    struct stat st;
    struct buf text;
    if (!keyfile_io_pepper_path(path, pepper_path)) {
        (void)complain(&source, errs, -ENAMETOOLONG, err_str(-ENAMETOOLONG));
        return -ENAMETOOLONG;
    }
    buf_init(&text, LIMIT_READ_BYTES);
    int r = read_file(&source, &text, &st, errs);
    if (r == -ENOENT)
        err_hint(complain(&source, errs, r, err_str(r)),
                 "put that file back; without it no key can be checked, and all would have to be "
                 "issued anew: take the key file away, then \"inferometer key add\"");
    struct span digits = buf_span(&text);
    if (r == 0 && digits.n > 0 && digits.p[digits.n - 1] == '\n')
        digits.n--;
    if (r == 0 && !keyfile_hex_parse(digits, ret, KEYRING_PEPPER_BYTES)) {
        r = -EINVAL;
        err_hint(complain(&source, errs, r, "is not 64 hexadecimal digits"),
                 "put a backup of that file back; without it no key can be checked");
    }
    buf_done(&text);
    return r;
}

int keyfile_io_ring(const char *path, const unsigned char *pepper, const struct keyring_key *keys,
                    size_t n, struct keyring **ret, struct err_list *errs)
{
    struct err e = {0};
    size_t at = 0;
    int r = keyring_new(pepper, keys, n, ret, &at, &e);
    if (r == 0)
        return 0;
    struct err *told = err_list_add(errs, path, 0, 0);
    if (r == -ENOMEM)
        (void)err_set(told, r, "%s", e.text);
    else
        (void)err_set(told, r, "key %zu of %zu: %s", at + 1, n, e.text);
    err_hint(told, "%s", e.hint[0] || r == -ENOMEM ? e.hint : "take one of the two out");
    return r == -EEXIST ? -EINVAL : r;
}

/* --- writing --- */

/* The directory's entry for a new file is on the disk only when the directory is. */
static int sync_directory(const char *path)
{
    char directory[KEYFILE_PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    (void)span_copy(n > 0 ? span_of(path, n) : SPAN("."), directory, sizeof(directory));
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fsync(fd) < 0 ? -errno : 0;
    (void)close(fd); /* only read from */
    return r;
}

static int write_all(int fd, struct span text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        (void)span_take(&text, (size_t)n);
    }
    return 0;
}

int keyfile_io_write(const char *path, struct span text, const struct stat *like)
{
    char temporary[KEYFILE_PATH_MAX];
    int n = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof(temporary))
        return -ENAMETOOLONG;
    int fd = mkostemp(temporary, O_CLOEXEC); /* of mode 0600 */
    if (fd < 0)
        return -errno;
    int r = 0;
    if (like && (like->st_uid != geteuid() || like->st_gid != getegid()) &&
        fchown(fd, like->st_uid, like->st_gid) < 0)
        r = -errno;
    if (r == 0)
        r = write_all(fd, text);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(temporary); /* what can be done was tried */
        return r;
    }
    return sync_directory(path);
}
