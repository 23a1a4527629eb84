/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/spill.c - the file: a page with the epoch, then blocks.
 *
 * A block is good when its checksum is, its number is that of the one before plus 1, and its epoch
 * is that of the first block, which is not older than the one in the first page. What is behind the
 * last good one is of former epochs, or was not finished.
 *
 * Epochs are times, so that a file that somebody removed does not begin with one that was used.
 */
#include "store/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"
#include "store/bytes.h"
#include "store/layout.h"

enum { FIRST_PAGE = 4096, HEAD_BYTES = 40, FILE_MODE = 0640, BLOCK_MAX = 8 * 1024 * 1024 };

#define MAGIC_FILE  UINT64_C(0x31306c6c69705369) /* "iSpill01" */
#define MAGIC_BLOCK UINT64_C(0x31306b636f6c4269) /* "iBlock01" */

enum kind { KIND_LAYOUT = 1, KIND_ROWS = 2 };

/* In front of each block: magic, bytes of the block, epoch, number, checksum of them and the block.
 */
struct head {
    uint64_t magic, n, epoch, number, hash;
};
_Static_assert(sizeof(struct head) == HEAD_BYTES, "no padding on disk");

struct spill {
    int fd;
    size_t cap;
    uint64_t epoch;
    size_t end; /* where the next block goes */
    uint64_t next_number;
    size_t at;   /* of the oldest that waits */
    size_t n_at; /* bytes of it, when it was read */
    uint64_t n_rows, n_blocks, n_rows_at;
    struct buf block;       /* the one at hand, to be written or read */
    struct buf layout;      /* that of the blocks at `at` */
    struct buf last_layout; /* that of the last block */
};

static uint64_t hash_of(const struct head *h, struct span block)
{
    const uint64_t words[] = {h->magic, h->n, h->epoch, h->number, bytes_hash(block)};
    return bytes_hash(span_of(words, sizeof(words)));
}

static int read_at(int fd, void *p, size_t n, size_t at)
{
    char *to = p;
    while (n > 0) {
        ssize_t got = pread(fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EBADMSG;
        to += got;
        at += (size_t)got;
        n -= (size_t)got;
    }
    return 0;
}

static int write_at(int fd, struct span s, size_t at)
{
    while (s.n > 0) {
        ssize_t n = pwrite(fd, s.p, s.n, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        s = span_from(s, (size_t)n);
        at += (size_t)n;
    }
    return 0;
}

/* --- blocks --- */

/* The block at `at`, which follows number; -EBADMSG: there is none. */
static int read_block(struct spill *s, size_t at, uint64_t number, struct head *h)
{
    char *room;
    if (at + HEAD_BYTES > s->cap)
        return -EBADMSG;
    int r = read_at(s->fd, h, HEAD_BYTES, at);
    if (r < 0)
        return r;
    bool is_next = number == 0 ? h->epoch >= s->epoch : h->epoch == s->epoch;
    if (h->magic != MAGIC_BLOCK || h->n == 0 || h->n > BLOCK_MAX || !is_next ||
        h->number != number + 1 || at + HEAD_BYTES + h->n > s->cap)
        return -EBADMSG;
    buf_clear(&s->block);
    if ((r = buf_reserve(&s->block, h->n, &room)) < 0)
        return r;
    if ((r = read_at(s->fd, room, h->n, at + HEAD_BYTES)) < 0)
        return r;
    buf_commit(&s->block, h->n);
    return h->hash == hash_of(h, buf_span(&s->block)) ? 0 : -EBADMSG;
}

/* Writes what is in s->block behind the last one. */
static int write_block(struct spill *s)
{
    struct span block = buf_span(&s->block);
    struct head h = {
        .magic = MAGIC_BLOCK, .n = block.n, .epoch = s->epoch, .number = s->next_number};
    h.hash = hash_of(&h, block);
    if (s->end + HEAD_BYTES + block.n > s->cap)
        return -ENOSPC;
    int r = write_at(s->fd, block, s->end + HEAD_BYTES);
    if (r == 0)
        r = write_at(s->fd, span_of(&h, sizeof(h)), s->end);
    if (r < 0)
        return r;
    s->end += HEAD_BYTES + block.n;
    s->next_number++;
    s->n_blocks++;
    return 0;
}

static int set(struct buf *b, struct span s)
{
    buf_clear(b);
    return s.n > 0 ? buf_append(b, s) : 0;
}

/* What a block of rows says in front of them. -EBADMSG. */
static int parse_rows(struct span block, int64_t *ret_day, struct day_block *ret)
{
    struct bytes b = bytes_of(block);
    uint64_t kind = bytes_varint(&b);
    *ret_day = varint_unzigzag(bytes_varint(&b));
    ret->n_rows = (uint32_t)bytes_varint_to(&b, UINT32_MAX);
    ret->from_us = varint_unzigzag(bytes_varint(&b));
    ret->to_us = varint_unzigzag(bytes_varint(&b));
    ret->rows = span_of(b.at, bytes_left(&b));
    return b.is_short || kind != KIND_ROWS ? -EBADMSG : 0;
}

static bool is_layout(struct span block)
{
    return block.n > 0 && block.p[0] == KIND_LAYOUT;
}

/* --- opening --- */

/* Finds the blocks that wait. */
static int find_blocks(struct spill *s, bool *ret_is_damaged)
{
    struct head h = {0};
    struct day_block rows;
    int64_t day;
    uint64_t number = 0;
    size_t at = FIRST_PAGE;
    int r;
    while ((r = read_block(s, at, number, &h)) == 0) {
        s->epoch = h.epoch;
        number = h.number;
        at += HEAD_BYTES + h.n;
        s->n_blocks++;
        if (is_layout(buf_span(&s->block)))
            r = set(&s->last_layout, span_from(buf_span(&s->block), 1));
        else if (parse_rows(buf_span(&s->block), &day, &rows) == 0)
            s->n_rows += rows.n_rows;
        if (r < 0)
            return r;
    }
    s->at = FIRST_PAGE;
    s->end = at;
    s->next_number = number + 1;
    /* A block is written before its head: this was one. */
    *ret_is_damaged |= h.magic == MAGIC_BLOCK && h.epoch >= s->epoch && h.number == number + 1;
    return r == -EBADMSG ? 0 : r;
}

static int write_first_page(struct spill *s)
{
    char page[24];
    char *at = bytes_put_u64(bytes_put_u64(page, MAGIC_FILE), s->epoch);
    bytes_put_u64(at, bytes_hash(span_of(page, 16)));
    return write_at(s->fd, span_of(page, sizeof(page)), 0);
}

/*
 * Epochs grow, and are no other file's: its blocks would pass for those of this one
 * (store/aside.h). The time, and behind it what tells apart those that begin in the same
 * microsecond.
 */
static uint64_t next_epoch(uint64_t before)
{
    enum { BITS = 11 };
    static _Atomic uint64_t n_made;
    uint64_t own = (uint64_t)getpid() * 37 + atomic_fetch_add(&n_made, 1);
    uint64_t now = (uint64_t)clock_wall().us << BITS | (own & ((1u << BITS) - 1));
    return now > before ? now : before + 1;
}

/* Everything that is there is void. */
static int begin_epoch(struct spill *s)
{
    s->epoch = next_epoch(s->epoch);
    s->at = s->end = FIRST_PAGE;
    s->n_at = 0;
    s->next_number = 1;
    s->n_rows = s->n_blocks = 0;
    buf_clear(&s->layout);
    buf_clear(&s->last_layout);
    return write_first_page(s);
}

/* -EBADMSG: it says nothing; *ret_is_damaged: it should. */
static int read_first_page(struct spill *s, bool *ret_is_damaged)
{
    static const char blank[24]; /* just made */
    char page[24];
    int r = read_at(s->fd, page, sizeof(page), 0);
    if (r < 0)
        return r;
    *ret_is_damaged = memcmp(page, blank, sizeof(page)) != 0;
    if (bytes_word(page) != MAGIC_FILE || bytes_word(page + 16) != bytes_hash(span_of(page, 16)))
        return -EBADMSG;
    s->epoch = bytes_word(page + 8);
    *ret_is_damaged = false;
    return 0;
}

static int open_file(struct spill *s, const char *path, size_t n_bytes)
{
    struct stat st;
    s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (s->fd < 0)
        return -errno;
    if (flock(s->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (fstat(s->fd, &st) < 0)
        return -errno;
    if (st.st_nlink == 0)
        return -EAGAIN;
    s->cap = (size_t)st.st_size > n_bytes ? (size_t)st.st_size : n_bytes;
    int r = -posix_fallocate(s->fd, 0, (off_t)s->cap);
    if (r < 0)
        return r;
    bool is_damaged = false;
    r = read_first_page(s, &is_damaged);
    if (r == 0 || r == -EBADMSG) /* blocks know their epoch as well */
        r = find_blocks(s, &is_damaged);
    if (r < 0 || s->n_blocks > 0)
        return r;
    return is_damaged ? -EBADMSG : begin_epoch(s);
}

/* Rows that somebody may want to rescue, or a file of somebody else's. */
static int open_other(struct spill *s, const char *path, size_t n_bytes)
{
    char aside[DAY_PATH_MAX + 64];
    int r = db_set_aside(path, aside, sizeof(aside));
    if (r < 0)
        return r;
    stat_inc(STAT_STORE_DAMAGED);
    LOG_ERROR("the spill file \"%s\" is damaged or none, moved it to \"%s\"", path, aside);
    close(s->fd);
    return open_file(s, path, n_bytes);
}

int spill_open(const char *path, size_t n_bytes, struct spill **ret, struct err *reterr)
{
    struct spill *s = mem_zalloc(1, sizeof(*s));
    if (!s)
        return err_set(reterr, -ENOMEM, "out of memory");
    s->fd = -1;
    buf_init(&s->block, BLOCK_MAX + MIB);
    buf_init(&s->layout, LAYOUT_BYTES_MAX);
    buf_init(&s->last_layout, LAYOUT_BYTES_MAX);
    size_t cap = n_bytes < SPILL_BYTES_MIN ? SPILL_BYTES_MIN : n_bytes;
    int r = open_file(s, path, cap);
    if (r == -EBADMSG)
        r = open_other(s, path, cap);
    if (r < 0) {
        spill_close(s);
        err_set(reterr, r, "could not make the spill file \"%s\" of %zu bytes: %s", path, n_bytes,
                err_str(r));
        err_hint(reterr, "rows would be lost while the database cannot be written; make room for "
                         "it, or name a smaller size");
        return r;
    }
    *ret = s;
    return 0;
}

struct spill *spill_close(struct spill *s)
{
    if (!s)
        return NULL;
    if (s->fd >= 0)
        close(s->fd);
    buf_done(&s->block);
    buf_done(&s->layout);
    buf_done(&s->last_layout);
    mem_free(s);
    return NULL;
}

bool spill_is_at(const struct spill *s, const char *path)
{
    return file_is_at(s->fd, path);
}

/* --- in --- */

static int put_layout(struct spill *s, struct span layout)
{
    char kind = KIND_LAYOUT;
    if (span_eq(buf_span(&s->last_layout), layout))
        return 0;
    buf_clear(&s->block);
    int r = buf_append(&s->block, span_of(&kind, 1));
    if (r == 0)
        r = buf_append(&s->block, layout);
    if (r == 0)
        r = write_block(s);
    return r < 0 ? r : set(&s->last_layout, layout);
}

int spill_put(struct spill *s, int64_t day, const struct day_block *block)
{
    char head[5 * VARINT_MAX_BYTES];
    char *at = bytes_put_varint(head, KIND_ROWS);
    at = bytes_put_varint(at, varint_zigzag(day));
    at = bytes_put_varint(at, block->n_rows);
    at = bytes_put_varint(at, varint_zigzag(block->from_us));
    at = bytes_put_varint(at, varint_zigzag(block->to_us));
    struct span front = {head, (size_t)(at - head)};
    size_t n = 2 * HEAD_BYTES + 1 + block->layout.n + front.n + block->rows.n;
    if (n > s->cap - s->end)
        return -ENOSPC;
    int r = put_layout(s, block->layout);
    s->n_at = 0; /* what was read is no longer there */
    buf_clear(&s->block);
    if (r == 0)
        r = buf_append(&s->block, front);
    if (r == 0)
        r = buf_append(&s->block, block->rows);
    if (r == 0)
        r = write_block(s);
    s->n_rows += r == 0 ? block->n_rows : 0;
    return r;
}

/* --- out --- */

static void take_off(struct spill *s, size_t n_bytes, uint64_t n_rows)
{
    s->at += n_bytes;
    s->n_blocks--;
    s->n_rows -= n_rows < s->n_rows ? n_rows : s->n_rows;
    s->n_at = 0;
    if (s->n_blocks == 0)
        (void)begin_epoch(s); /* without its page, blocks of before would be known by their marks */
}

int spill_next(struct spill *s, int64_t *ret_day, struct day_block *ret, struct day_mark *ret_mark)
{
    struct head h;
    while (s->n_blocks > 0) {
        uint64_t number = s->next_number - s->n_blocks;
        int r = read_block(s, s->at, number - 1, &h);
        if (r == 0 && !is_layout(buf_span(&s->block)))
            r = parse_rows(buf_span(&s->block), ret_day, ret);
        else if (r == 0)
            r = set(&s->layout, span_from(buf_span(&s->block), 1));
        if (r == -EBADMSG)
            (void)begin_epoch(s); /* nothing of it can be read any more */
        if (r < 0)
            return r;
        if (is_layout(buf_span(&s->block))) {
            take_off(s, HEAD_BYTES + h.n, 0);
            continue;
        }
        ret->layout = buf_span(&s->layout);
        *ret_mark = (struct day_mark){.epoch = s->epoch, .number = number};
        s->n_at = HEAD_BYTES + h.n;
        s->n_rows_at = ret->n_rows;
        return 1;
    }
    return 0;
}

void spill_drop(struct spill *s)
{
    if (s->n_at > 0)
        take_off(s, s->n_at, s->n_rows_at);
}

bool spill_has_blocks(const struct spill *s)
{
    return s->n_blocks > 0;
}

void spill_stats(const struct spill *s, struct spill_stats *ret)
{
    *ret = (struct spill_stats){.n_rows = s->n_rows,
                                .n_blocks = s->n_blocks,
                                .n_bytes = s->n_blocks > 0 ? s->end - FIRST_PAGE : 0,
                                .cap_bytes = s->cap};
}
