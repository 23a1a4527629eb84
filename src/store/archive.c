/* SPDX-License-Identifier: Apache-2.0 */
#include "store/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/chunk.h"

enum {
    RECORDS_AT_ONCE = 256,
    LEVEL = 6,
    FILE_MODE = 0640,
    DIR_MODE = 0750,
    NAMES_MAX = 1000,
    LINES_BYTES_MAX = 4 * 1024 * 1024,
};

struct archive {
    struct chunk_room *room;
    struct chunk_source *source;
    struct chunk *chunks;
    size_t n_chunks, at;
    struct record *records;
    struct arena arena;
    struct buf lines, packed;
    ZSTD_CCtx *zstd;
    int fd;
    char path[DAY_PATH_MAX], temporary[DAY_PATH_MAX + 8];
    char *dir;
};

/* A name that nobody has. */
static int choose_path(struct archive *a, int64_t day)
{
    char ending[32];
    for (int i = 1; i < NAMES_MAX; i++) {
        if (i == 1)
            (void)snprintf(ending, sizeof(ending), ".jsonl.zst");
        else
            (void)snprintf(ending, sizeof(ending), ".%d.jsonl.zst", i);
        int r = day_path(a->dir, day, ending, a->path, sizeof(a->path));
        if (r < 0)
            return r;
        if (access(a->path, F_OK) < 0) {
            (void)snprintf(a->temporary, sizeof(a->temporary), "%s.tmp", a->path);
            return 0;
        }
    }
    return -EEXIST;
}

static int begin(struct archive *a, const char *dir, const char *archive_dir, int64_t day)
{
    buf_init(&a->lines, LINES_BYTES_MAX);
    buf_init(&a->packed, LINES_BYTES_MAX);
    arena_init(&a->arena, NULL);
    a->fd = -1;
    a->dir = mem_strdup(archive_dir);
    a->records = mem_zalloc(RECORDS_AT_ONCE, sizeof(*a->records));
    a->zstd = ZSTD_createCCtx();
    if (!a->dir || !a->records || !a->zstd)
        return -ENOMEM;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(a->zstd, ZSTD_c_checksumFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(a->zstd, ZSTD_c_compressionLevel, LEVEL)))
        return -ENOMEM;
    int r = chunk_room_new(&a->room);
    if (r == 0)
        r = chunk_source_open(dir, day, a->room, &a->source);
    if (r == 0)
        r = chunk_list(a->source, INT64_MIN, INT64_MAX, NULL, NULL, &a->chunks, &a->n_chunks);
    if (r == 0 && mkdir(archive_dir, DIR_MODE) < 0 && errno != EEXIST)
        r = -errno;
    if (r == 0)
        r = choose_path(a, day);
    if (r < 0)
        return r;
    a->fd = open(a->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    return a->fd < 0 ? -errno : 0;
}

int archive_begin(const char *dir, const char *archive_dir, int64_t day, struct archive **ret)
{
    struct archive *a = mem_zalloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    int r = begin(a, dir, archive_dir, day);
    if (r < 0) {
        archive_abort(a);
        return r;
    }
    *ret = a;
    return 0;
}

struct archive *archive_abort(struct archive *a)
{
    if (!a)
        return NULL;
    if (a->fd >= 0) {
        close(a->fd);
        (void)unlink(a->temporary); /* not finished */
    }
    chunk_source_close(a->source);
    chunk_room_free(a->room);
    ZSTD_freeCCtx(a->zstd);
    arena_done(&a->arena);
    buf_done(&a->lines);
    buf_done(&a->packed);
    mem_free(a->chunks);
    mem_free(a->records);
    mem_free(a->dir);
    mem_free(a);
    return NULL;
}

static int write_all(int fd, struct span s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            s = span_from(s, (size_t)n);
    }
    return 0;
}

/* What the lines are compressed to goes into the file. */
static int pack(struct archive *a, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {buf_span(&a->lines).p, buf_len(&a->lines), 0};
    size_t rest;
    do {
        char *room;
        buf_clear(&a->packed);
        int r = buf_reserve(&a->packed, ZSTD_CStreamOutSize(), &room);
        if (r < 0)
            return r;
        ZSTD_outBuffer out = {room, ZSTD_CStreamOutSize(), 0};
        rest = ZSTD_compressStream2(a->zstd, &out, &in, how);
        if (ZSTD_isError(rest))
            return -ENOMEM;
        if ((r = write_all(a->fd, span_of(room, out.pos))) < 0)
            return r;
    } while (how == ZSTD_e_end ? rest > 0 : in.pos < in.size);
    buf_clear(&a->lines);
    return 0;
}

static int write_lines(struct archive *a, size_t n)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = record_to_json(&a->records[i], &a->lines);
        if (r == 0)
            r = buf_append(&a->lines, SPAN("\n"));
        if (r == 0 && buf_len(&a->lines) + (size_t)2 * RECORD_LINE_MAX + 1 > LINES_BYTES_MAX / 2)
            r = pack(a, ZSTD_e_continue);
    }
    return r;
}

static int write_chunk(struct archive *a, const struct chunk *c)
{
    uint32_t at[RECORDS_AT_ONCE];
    struct record *records[RECORDS_AT_ONCE];
    int r = 0;
    for (uint32_t first = 0; first < c->n_rows && r == 0; first += RECORDS_AT_ONCE) {
        uint32_t n = c->n_rows - first < RECORDS_AT_ONCE ? c->n_rows - first : RECORDS_AT_ONCE;
        for (uint32_t i = 0; i < n; i++) {
            at[i] = first + i;
            records[i] = &a->records[i];
        }
        arena_reset(&a->arena);
        r = chunk_records(a->source, c, at, n, &a->arena, records);
        if (r == 0)
            r = write_lines(a, n);
    }
    return r == 0 ? pack(a, ZSTD_e_continue) : r;
}

static int sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static int finish(struct archive *a)
{
    int r = pack(a, ZSTD_e_end);
    if (r == 0 && fsync(a->fd) < 0)
        r = -errno;
    if (r == 0 && rename(a->temporary, a->path) < 0)
        r = -errno;
    if (r < 0)
        return r;
    close(a->fd);
    a->fd = -1;
    return sync_dir(a->dir);
}

int archive_step(struct archive *a)
{
    if (a->at == a->n_chunks)
        return finish(a);
    const struct chunk *c = &a->chunks[a->at++];
    int r = write_chunk(a, c);
    if (r == -EBADMSG) {
        LOG_ERROR("%u request rows are damaged and are not in the archive \"%s\"",
                  (unsigned)c->n_rows, a->path);
        r = 0;
    }
    return r < 0 ? r : 1;
}
