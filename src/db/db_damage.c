/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db/db_damage.c - a damaged database goes aside, and nothing is ever written over.
 *
 * The WAL goes first: should the process end in between, the file is found damaged again, while a
 * WAL without its file would be thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"

enum { PATH_CAP = 4096 + 64, N_NAMES = 100 };

static const char *const parts[] = {"-wal", "-shm", ""}; /* in this order */

/* path with suffix, both cut at the end of name. */
static void join(char name[PATH_CAP + 8], const char *path, const char *suffix)
{
    size_t n = span_copy(span_cstr(path), name, PATH_CAP);
    span_copy(span_cstr(suffix), name + n, 8);
}

static bool is_there(const char *path, const char *suffix)
{
    char name[PATH_CAP + 8];
    struct stat st;
    join(name, path, suffix);
    return lstat(name, &st) == 0;
}

static bool is_free(const char *aside)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (is_there(aside, parts[i]))
            return false;
    return true;
}

/* A name that nobody has: with a number when this minute has one already. */
static int find_name(const char *path, char *aside, size_t cap)
{
    time_t now = (time_t)(clock_wall().us / US_PER_S);
    struct tm tm;
    char when[32];
    gmtime_r(&now, &tm);
    (void)strftime(when, sizeof(when), "%Y%m%dT%H%M", &tm);
    for (int i = 1; i <= N_NAMES; i++) {
        int n = i == 1 ? snprintf(aside, cap, "%s.damaged-%s", path, when)
                       : snprintf(aside, cap, "%s.damaged-%s-%d", path, when, i);
        if (n < 0 || (size_t)n >= cap)
            return -ENAMETOOLONG;
        if (is_free(aside))
            return 0;
    }
    return -EEXIST;
}

/* Never over an existing file; file systems that cannot promise that in one call link. */
static int move(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (link(from, to) < 0 || unlink(from) < 0)
        return -errno;
    return 0;
}

int db_set_aside(const char *path, char *ret_aside, size_t cap)
{
    char aside[PATH_CAP], from[PATH_CAP + 8], to[PATH_CAP + 8];
    if (!is_there(path, ""))
        return -ENOENT;
    int r = find_name(path, aside, sizeof(aside));
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++) {
        join(from, path, parts[i]);
        join(to, aside, parts[i]);
        if (is_there(path, parts[i]))
            r = move(from, to);
    }
    if (r == 0 && ret_aside)
        span_copy(span_cstr(aside), ret_aside, cap);
    return r;
}

int db_open_or_replace(const char *path, const struct db_schema *schema, struct db **ret,
                       bool *ret_was_damaged, struct err *reterr)
{
    char aside[PATH_CAP];
    struct err why = {0};
    int r = db_open(path, schema, DB_WRITE, ret, &why);
    if (r != -EBADMSG) {
        if (r < 0 && reterr)
            *reterr = why;
        else if (r == 0)
            *ret_was_damaged = false;
        return r;
    }
    if ((r = db_set_aside(path, aside, sizeof(aside))) < 0) {
        err_set(reterr, r, "%.300s, and could not be moved aside: %s", why.text, err_str(r));
        err_hint(reterr, "move it away to begin a new one");
        return r;
    }
    LOG_ERROR("%s; moved it to \"%s\", beginning a new one", why.text, aside);
    r = db_open(path, schema, DB_WRITE, ret, reterr);
    if (r == 0)
        *ret_was_damaged = true;
    return r;
}
