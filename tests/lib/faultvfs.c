/* SPDX-License-Identifier: Apache-2.0 */
#include "faultvfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

/* Behind it lies the file of the wrapped VFS. */
struct file {
    sqlite3_file base;
    bool is_database;
    sqlite3_file *real;
};

static sqlite3_vfs *wrapped;
static sqlite3_vfs vfs;
static sqlite3_io_methods methods;

static struct {
    enum faultvfs_kind kind;
    uint64_t n; /* 0: nothing fails */
    bool is_lasting;
    _Atomic uint64_t n_calls[FAULTVFS_COUNT_], n_failed;
} plan;

static bool is_due(enum faultvfs_kind kind)
{
    uint64_t n = atomic_fetch_add(&plan.n_calls[kind], 1) + 1;
    if (plan.n == 0 || plan.kind != kind || n < plan.n || (n > plan.n && !plan.is_lasting))
        return false;
    atomic_fetch_add(&plan.n_failed, 1);
    return true;
}

static sqlite3_file *real(sqlite3_file *f)
{
    return ((struct file *)(void *)f)->real;
}

static int on_close(sqlite3_file *f)
{
    return real(f)->pMethods->xClose(real(f));
}

static int on_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    if (is_due(FAULTVFS_IOERR))
        return SQLITE_IOERR_READ;
    int rc = real(f)->pMethods->xRead(real(f), p, n, at);
    if (((struct file *)(void *)f)->is_database && is_due(FAULTVFS_CORRUPT))
        for (int i = 0; i < n; i++)
            ((unsigned char *)p)[i] ^= (unsigned char)(0x5a + i * 7);
    return rc;
}

static int on_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (is_due(FAULTVFS_FULL))
        return SQLITE_FULL;
    if (is_due(FAULTVFS_IOERR))
        return SQLITE_IOERR_WRITE;
    return real(f)->pMethods->xWrite(real(f), p, n, at);
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return is_due(FAULTVFS_IOERR) ? SQLITE_IOERR_TRUNCATE
                                  : real(f)->pMethods->xTruncate(real(f), n);
}

static int on_sync(sqlite3_file *f, int flags)
{
    (void)f;
    (void)flags;
    return is_due(FAULTVFS_IOERR) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int on_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return is_due(FAULTVFS_IOERR) ? SQLITE_IOERR_FSTAT : real(f)->pMethods->xFileSize(real(f), n);
}

static int on_lock(sqlite3_file *f, int level)
{
    return is_due(FAULTVFS_BUSY) ? SQLITE_BUSY : real(f)->pMethods->xLock(real(f), level);
}

static int on_unlock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xUnlock(real(f), level);
}

static int on_check(sqlite3_file *f, int *ret)
{
    return real(f)->pMethods->xCheckReservedLock(real(f), ret);
}

static int on_control(sqlite3_file *f, int op, void *arg)
{
    return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int on_sector(sqlite3_file *f)
{
    return real(f)->pMethods->xSectorSize(real(f));
}

static int on_device(sqlite3_file *f)
{
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int on_shm_map(sqlite3_file *f, int page, int n, int extend, void volatile **ret)
{
    return real(f)->pMethods->xShmMap(real(f), page, n, extend, ret);
}

static int on_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    if ((flags & SQLITE_SHM_LOCK) && is_due(FAULTVFS_BUSY))
        return SQLITE_BUSY;
    return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}

static void on_shm_barrier(sqlite3_file *f)
{
    real(f)->pMethods->xShmBarrier(real(f));
}

static int on_shm_unmap(sqlite3_file *f, int is_delete)
{
    return real(f)->pMethods->xShmUnmap(real(f), is_delete);
}

static int on_open(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags, int *ret)
{
    struct file *file = (struct file *)(void *)f;
    (void)v;
    file->real = (sqlite3_file *)(void *)(file + 1);
    file->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    int rc = wrapped->xOpen(wrapped, name, file->real, flags, ret);
    file->base.pMethods = file->real->pMethods ? &methods : NULL;
    return rc;
}

void faultvfs_install(void)
{
    static const sqlite3_io_methods ours = {
        .iVersion = 2,
        .xClose = on_close,
        .xRead = on_read,
        .xWrite = on_write,
        .xTruncate = on_truncate,
        .xSync = on_sync,
        .xFileSize = on_size,
        .xLock = on_lock,
        .xUnlock = on_unlock,
        .xCheckReservedLock = on_check,
        .xFileControl = on_control,
        .xSectorSize = on_sector,
        .xDeviceCharacteristics = on_device,
        .xShmMap = on_shm_map,
        .xShmLock = on_shm_lock,
        .xShmBarrier = on_shm_barrier,
        .xShmUnmap = on_shm_unmap,
    };
    if (!wrapped)
        wrapped = sqlite3_vfs_find(NULL);
    methods = ours;
    vfs = *wrapped; /* what is not about open files goes to the wrapped one as it is */
    vfs.zName = "fault";
    vfs.szOsFile = (int)sizeof(struct file) + wrapped->szOsFile;
    vfs.xOpen = on_open;
    faultvfs_heal();
    if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
        abort();
}

void faultvfs_remove(void)
{
    faultvfs_heal();
    sqlite3_vfs_unregister(&vfs);
    sqlite3_vfs_register(wrapped, 1);
}

void faultvfs_fail(enum faultvfs_kind kind, uint64_t n, bool is_lasting)
{
    faultvfs_heal();
    plan.kind = kind;
    plan.is_lasting = is_lasting;
    plan.n = n;
}

void faultvfs_heal(void)
{
    plan.n = 0;
    for (size_t i = 0; i < ARRAY_LEN(plan.n_calls); i++)
        plan.n_calls[i] = 0;
    plan.n_failed = 0;
}

uint64_t faultvfs_n_calls(enum faultvfs_kind kind)
{
    return plan.n_calls[kind];
}

uint64_t faultvfs_n_failed(void)
{
    return plan.n_failed;
}
