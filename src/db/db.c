/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db/db.c - opening a database, and what it is set to.
 *
 * A connection that fails to open leaves the file as it was: nothing is written before the header
 * and the schema were read, and the WAL is not moved into the file when such a connection closes.
 */
#include "db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "db/db_private.h"

enum { BUSY_TIMEOUT_MS = 2000, FILE_MODE = 0640, MODE_OTHERS = 0007 };

#define SETTINGS                                                                                   \
    "PRAGMA busy_timeout=2000;"                                                                    \
    "PRAGMA mmap_size=0;"                                                                          \
    "PRAGMA foreign_keys=OFF;"                                                                     \
    "PRAGMA trusted_schema=OFF;"                                                                   \
    "PRAGMA temp_store=MEMORY;"                                                                    \
    "PRAGMA cache_size=-512;"

#define SETTINGS_WRITE                                                                             \
    "PRAGMA journal_mode=WAL;"                                                                     \
    "PRAGMA synchronous=NORMAL;"                                                                   \
    "PRAGMA journal_size_limit=4194304;"
#define SETTINGS_READ "PRAGMA query_only=ON;"

static int explain_damage(const char *path, const struct db_schema *schema, struct err *reterr)
{
    err_set(reterr, -EBADMSG, "the database of %s \"%s\" is damaged or no database", schema->name,
            path);
    err_hint(reterr, "it was left as it is; move it away to begin a new one");
    return -EBADMSG;
}

static int explain(struct db *d, int r, const struct db_schema *schema, struct err *reterr)
{
    if (r == -EBADMSG)
        return explain_damage(d->_path, schema, reterr);
    err_set(reterr, r, "could not open the database of %s \"%s\": %s", schema->name, d->_path,
            d->_handle ? sqlite3_errmsg(d->_handle) : err_str(r));
    if (r == -EBUSY)
        err_hint(reterr, "another program uses it");
    else if (r == -EROFS || r == -EACCES)
        err_hint(reterr, "the file and its directory have to be writable");
    return r;
}

/* SQLite says "unable to open" whatever the reason was. */
static int open_errno(struct db *d, int rc)
{
    int r = db_errno(rc);
    int sys = d->_handle ? sqlite3_system_errno(d->_handle) : 0;
    return (rc & 0xff) == SQLITE_CANTOPEN && sys > 0 ? -sys : r;
}

static int configure(struct db *d, enum db_mode mode)
{
    int r = db_exec(d, SETTINGS);
    if (r < 0)
        return r;
    sqlite3_busy_timeout(d->_handle, BUSY_TIMEOUT_MS);
    int64_t n; /* makes SQLite read the header and the schema */
    if ((r = db_query_i64(d, "SELECT count(*) FROM sqlite_schema", &n)) < 0)
        return r;
    if (mode == DB_WRITE && sqlite3_db_readonly(d->_handle, "main") == 1)
        return -EROFS;
    return 0;
}

/* WAL and the rest get their modes from the file. It is made here, but never opened when it is
 * there: closing it would give up the locks that this process has on it. */
static void make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd >= 0)
        close(fd);
}

/* Nothing for others to read, in files of before either. */
static void keep_private(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char name[4096 + 8];
    struct stat st;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        if (stat(name, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & MODE_OTHERS))
            (void)(chmod(name, st.st_mode & 07777 & ~(mode_t)MODE_OTHERS) == 0); /* not ours */
    }
}

static int open_handle(struct db *d, enum db_mode mode)
{
    if (mode == DB_WRITE)
        make_file(d->_path);
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    flags |= mode == DB_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(d->_path, &d->_handle, flags, NULL);
    if (rc != SQLITE_OK)
        return open_errno(d, rc);
    sqlite3_db_config(d->_handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(d->_handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return configure(d, mode);
}

static int open_schema(struct db *d, const struct db_schema *schema, enum db_mode mode,
                       struct err *reterr)
{
    int r = open_handle(d, mode);
    if (r < 0)
        return explain(d, r, schema, reterr);
    struct err why = {0};
    if ((r = db_migrate(d, schema, mode, &why)) == 0) {
        if (mode == DB_WRITE)
            keep_private(d->_path);
        r = db_exec(d, mode == DB_READ ? SETTINGS_READ : SETTINGS_WRITE);
        if (r == 0)
            sqlite3_db_config(d->_handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    }
    if (r < 0 && why.text[0] != '\0') {
        if (reterr)
            *reterr = why;
        return r;
    }
    return r < 0 ? explain(d, r, schema, reterr) : 0;
}

int db_open(const char *path, const struct db_schema *schema, enum db_mode mode, struct db **ret,
            struct err *reterr)
{
    db_init();
    struct db *d = mem_zalloc(1, sizeof(*d));
    if (!d)
        return err_set(reterr, -ENOMEM, "out of memory");
    size_t n = span_copy(span_cstr(path), d->_path, sizeof(d->_path));
    int r;
    if (n == 0 || path[n] != '\0')
        r = err_set(reterr, n == 0 ? -EINVAL : -ENAMETOOLONG, "\"%s\" cannot be a database's path",
                    d->_path);
    else
        r = open_schema(d, schema, mode, reterr);
    if (r < 0) {
        db_close(d);
        return r;
    }
    *ret = d;
    return 0;
}

struct db *db_close(struct db *d)
{
    if (!d)
        return NULL;
    /* Statements that are still there would keep the connection open for ever. */
    for (sqlite3_stmt *s; d->_handle && (s = sqlite3_next_stmt(d->_handle, NULL)) != NULL;)
        sqlite3_finalize(s);
    sqlite3_close(d->_handle);
    mem_free(d);
    return NULL;
}

enum db_place db_place(const struct db *d)
{
    char name[sizeof(d->_path) + 8];
    struct stat st;
    int has_moved = 0;
    int rc = sqlite3_file_control(d->_handle, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (rc == SQLITE_OK && has_moved)
        return DB_GONE;
    (void)snprintf(name, sizeof(name), "%s-wal", d->_path);
    return stat(name, &st) < 0 && errno == ENOENT ? DB_WAL_GONE : DB_IN_PLACE;
}

int64_t db_size(const char *path)
{
    int64_t n = 0;
    char name[4096 + 8];
    struct stat st;
    static const char *const suffixes[] = {"", "-wal"};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        if (stat(name, &st) == 0)
            n += st.st_size;
    }
    return n;
}
