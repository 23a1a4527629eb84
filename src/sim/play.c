/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/play.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "wire/events.h"

enum { PATH_BYTES_MAX = 4096 };

struct play {
    const char *content_type;
    enum framing framing;
    struct buf bytes;
    struct buf ends; /* size_t each: where the writes end */
};

static const struct kind {
    struct span end;
    const char *content_type;
    enum framing framing;
} kinds[] = {
    {SPAN_INIT(".sse"), "text/event-stream; charset=utf-8", FRAMING_SSE},
    {SPAN_INIT(".ndjson"), "application/x-ndjson", FRAMING_NDJSON},
    {SPAN_INIT(".json"), "application/json", FRAMING_JSON_ARRAY},
};

static const struct kind *kind_find(struct span path)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct span end = kinds[i].end;

        if (path.n > end.n && span_eq_nocase(span_from(path, path.n - end.n), end))
            return &kinds[i];
    }
    return NULL;
}

/* --- files --- */

/* Appends the whole file. -errno, -EMSGSIZE, -ENOMEM. */
static int file_read(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;

    while (r == 0) {
        enum { ROOM = 64 * 1024 };
        ssize_t n = 0;
        char *p;

        r = buf_reserve(out, ROOM, &p);
        if (r < 0)
            break;
        n = read(fd, p, ROOM);
        if (n < 0 && errno != EINTR)
            r = -errno;
        if (n == 0)
            break;
        if (n > 0)
            buf_commit(out, (size_t)n);
    }
    if (fd >= 0)
        close(fd);
    return r;
}

static int read_failed(const char *path, int error, struct err *reterr)
{
    (void)err_set(reterr, error, "could not read \"%.300s\": %s", path, err_str(error));
    err_hint(reterr, error == -EMSGSIZE ? "a file that is played has at most 256 MiB"
                                        : "check the path and its permissions");
    return error;
}

/* --- writes --- */

static int end_add(struct play *p, size_t end)
{
    size_t n = buf_len(&p->ends) / sizeof(end);
    const size_t *ends = (const size_t *)(const void *)buf_span(&p->ends).p;

    if (end == (n > 0 ? ends[n - 1] : 0))
        return 0;
    return buf_append(&p->ends, span_of(&end, sizeof(end)));
}

/* The remedy for a list that does not fit. */
static int reads_refused(const struct play *p, struct err *reterr)
{
    err_hint(reterr,
             "it has the length of each write in bytes, one a line; their sum is the size of the "
             "file, %zu",
             buf_len(&p->bytes));
    return -EINVAL;
}

/* The lines of FILE.reads. */
static int writes_from_reads(struct play *p, const char *path, struct span lines,
                             struct err *reterr)
{
    size_t size = buf_len(&p->bytes);
    size_t end = 0;

    for (int line = 1; lines.n > 0; line++) {
        struct span text = span_trim(span_split(&lines, '\n'));
        uint64_t n = 0;
        int r;

        if (text.n > 0 && text.p[text.n - 1] == '\r')
            text.n--;
        if (num_parse_u64(text, &n) < 0 || n == 0) {
            (void)err_set(reterr, -EINVAL, "%.300s:%d: \"%.*s\" is not a length", path, line,
                          (int)(text.n < 60 ? text.n : 60), text.p);
            return reads_refused(p, reterr);
        }
        if (n > size - end) {
            (void)err_set(reterr, -EINVAL, "%.300s:%d: the writes go beyond the end of the file",
                          path, line);
            return reads_refused(p, reterr);
        }
        end += n;
        r = end_add(p, end);
        if (r < 0)
            return err_set(reterr, r, "out of memory");
    }
    if (end == size)
        return 0;
    (void)err_set(reterr, -EINVAL, "%.300s: the writes have %zu bytes, the file has %zu", path, end,
                  size);
    return reads_refused(p, reterr);
}

/* One write per event; what follows the last one is a write too. */
static int writes_from_events(struct play *p)
{
    struct span all = buf_span(&p->bytes);
    struct span in = all;
    struct events reader;
    struct event e;
    int r = 0;

    events_init(&reader, p->framing, PLAY_BYTES_MAX);
    while (r == 0) {
        enum event_status status = events_next(&reader, &in, &e);

        if (status == EVENT_NO_MEMORY)
            r = -ENOMEM;
        if (status <= EVENT_MORE)
            break;
        r = end_add(p, e.end);
    }
    events_done(&reader);
    return r < 0 ? r : end_add(p, all.n);
}

/* --- life --- */

static int play_read(struct play *p, const char *path, struct err *reterr)
{
    char reads[PATH_BYTES_MAX + 8];
    struct buf lines;
    int r = file_read(path, &p->bytes);

    if (r < 0)
        return read_failed(path, r, reterr);
    buf_init(&lines, PLAY_BYTES_MAX);
    (void)snprintf(reads, sizeof(reads), "%s.reads", path);
    r = file_read(reads, &lines);
    if (r == 0)
        r = writes_from_reads(p, reads, buf_span(&lines), reterr);
    else if (r != -ENOENT)
        r = read_failed(reads, r, reterr);
    else if ((r = writes_from_events(p)) < 0)
        (void)err_set(reterr, r, "out of memory");
    buf_done(&lines);
    return r;
}

int play_open(const char *path, struct play **ret, struct err *reterr)
{
    const struct kind *kind = kind_find(span_cstr(path));
    struct play *p;
    int r;

    if (!kind) {
        (void)err_set(reterr, -EINVAL, "\"%.300s\" is not a file that can be played", path);
        err_hint(reterr, "the name says what it is: .sse, .ndjson or .json");
        return -EINVAL;
    }
    if (strlen(path) >= PATH_BYTES_MAX)
        return read_failed(path, -ENAMETOOLONG, reterr);
    p = mem_zalloc(1, sizeof(*p));
    if (!p)
        return err_set(reterr, -ENOMEM, "out of memory");
    p->content_type = kind->content_type;
    p->framing = kind->framing;
    buf_init(&p->bytes, PLAY_BYTES_MAX);
    buf_init(&p->ends, PLAY_BYTES_MAX);
    r = play_read(p, path, reterr);
    if (r < 0)
        (void)play_free(p); /* always NULL */
    else
        *ret = p;
    return r;
}

struct play *play_free(struct play *p)
{
    if (p) {
        buf_done(&p->bytes);
        buf_done(&p->ends);
        mem_free(p);
    }
    return NULL;
}

static bool is_plain_name(struct span name)
{
    return name.n > 0 && name.n < PLAY_NAME_MAX && name.p[0] != '.' &&
           span_find_char(name, '/') == name.n && span_find_char(name, '\0') == name.n;
}

int play_open_in(const char *dir, struct span name, struct play **ret, struct err *reterr)
{
    char path[PATH_BYTES_MAX];
    int n;

    if (!is_plain_name(name)) {
        (void)err_set(reterr, -EINVAL, "\"%.*s\" is not the plain name of a file",
                      (int)(name.n < 60 ? name.n : 60), name.p);
        err_hint(reterr, "name a file of the directory given with --play-dir, without a path");
        return -EINVAL;
    }
    n = snprintf(path, sizeof(path), "%s/%.*s", dir, SPAN_ARG(name));
    if (n < 0 || (size_t)n >= sizeof(path))
        return read_failed(dir, -ENAMETOOLONG, reterr);
    return play_open(path, ret, reterr);
}

/* --- writes of an answer --- */

const char *play_content_type(const struct play *p)
{
    return p->content_type;
}

struct span play_take(const struct play *p, struct play_place *at, int64_t n_bytes)
{
    struct span left = span_from(buf_span(&p->bytes), at->offset);
    const size_t *ends = (const size_t *)(const void *)buf_span(&p->ends).p;
    size_t n;

    if (left.n == 0)
        return left;
    if (n_bytes > 0)
        n = (size_t)n_bytes < left.n ? (size_t)n_bytes : left.n;
    else
        n = ends[at->_write++] - at->offset;
    at->offset += n;
    return span_of(left.p, n);
}

size_t play_n_writes(const struct play *p, int64_t n_bytes)
{
    if (n_bytes > 0)
        return (buf_len(&p->bytes) + (size_t)n_bytes - 1) / (size_t)n_bytes;
    return buf_len(&p->ends) / sizeof(size_t);
}

size_t play_len(const struct play *p)
{
    return buf_len(&p->bytes);
}
