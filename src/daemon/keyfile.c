/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile.c - the key file as a keyring, and whether it has changed.
 */
#include "daemon/keyfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/keyfile_io.h"

int keyfile_load(const char *path, struct keyring **ret, struct err_list *reterrs)
{
    unsigned char pepper[KEYRING_PEPPER_BYTES] = {0};
    struct keyfile_rows rows;
    struct stat st;
    int r = keyfile_io_rows(path, &rows, &st, reterrs);
    if (r == -ENOENT) {
        struct err *e = err_list_add(reterrs, path, 0, 0);
        (void)err_set(e, r, "%s", err_str(r));
        err_hint(e, "make it with: inferometer key add --file %s --tenant NAME", path);
    }
    if (r < 0)
        return r;
    r = keyfile_io_pepper(path, pepper, reterrs);
    if (r == 0)
        r = keyfile_io_ring(path, pepper, rows.keys, rows.n, ret, reterrs);
    explicit_bzero(pepper, sizeof(pepper));
    keyfile_json_done(&rows);
    return r;
}

/* --- has it changed? --- */

static void look(const char *path, uint64_t *ret)
{
    struct stat st;
    memset(ret, 0, 5 * sizeof(*ret));
    if (!path || stat(path, &st) < 0)
        return;
    ret[0] = st.st_dev;
    ret[1] = st.st_ino;
    ret[2] = (uint64_t)st.st_size;
    ret[3] = (uint64_t)st.st_ctim.tv_sec;
    ret[4] = (uint64_t)st.st_ctim.tv_nsec;
}

void keyfile_look(const char *path, struct keyfile_mark *ret)
{
    char pepper_path[KEYFILE_PATH_MAX];
    look(path, ret->_of[0]);
    look(keyfile_io_pepper_path(path, pepper_path), ret->_of[1]);
}

bool keyfile_is_same(const struct keyfile_mark *a, const struct keyfile_mark *b)
{
    return memcmp(a->_of, b->_of, sizeof(a->_of)) == 0;
}
