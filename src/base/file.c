/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read_fd(int fd, size_t max, struct buf *out)
{
    enum { STEP_BYTES = 16384 };
    size_t n_before = buf_len(out);

    while (buf_len(out) - n_before <= max) {
        char *p;
        ssize_t n;
        int r = buf_reserve(out, STEP_BYTES, &p);

        if (r < 0)
            return r;
        n = read(fd, p, STEP_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        buf_commit(out, (size_t)n);
    }
    return 0;
}

int file_read(const char *path, size_t max, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n_before = buf_len(out);
    int r;

    if (fd < 0)
        return -errno;
    r = file_read_fd(fd, max, out);
    (void)close(fd); /* only read from */
    return r == 0 && buf_len(out) - n_before > max ? -EFBIG : r;
}

bool file_is_at(int fd, const char *path)
{
    struct stat mine, there;

    return fd >= 0 && fstat(fd, &mine) == 0 && stat(path, &there) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}
