/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/err.c - texts for people.
 *
 * Our own names for errno values instead of strerror's: they are lower case (they end sentences in
 * log lines), static and the same under every locale. Only values that our calls can produce are
 * listed; the rest falls back to the C library's description.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int code;
    const char *text;
} texts[] = {
    {EPERM, "operation not permitted"},
    {ENOENT, "no such file or directory"},
    {EINTR, "interrupted"},
    {EIO, "input/output error"},
    {ENXIO, "no such device or address"},
    {E2BIG, "argument list too long"},
    {EBADF, "bad file descriptor"},
    {EAGAIN, "temporarily unavailable"},
    {ENOMEM, "out of memory"},
    {EACCES, "permission denied"},
    {EFAULT, "bad address"},
    {EBUSY, "busy"},
    {EEXIST, "already exists"},
    {ENODEV, "no such device"},
    {ENOTDIR, "not a directory"},
    {EISDIR, "is a directory"},
    {EINVAL, "invalid argument"},
    {ENFILE, "too many open files in the system"},
    {EMFILE, "too many open files"},
    {EFBIG, "file too large"},
    {ENOSPC, "no space left on device"},
    {EROFS, "read-only file system"},
    {EPIPE, "broken pipe"},
    {ERANGE, "out of range"},
    {ENAMETOOLONG, "name too long"},
    {ENOSYS, "not implemented by the kernel"},
    {ELOOP, "too many symbolic links"},
    {ENODATA, "no data"},
    {EPROTO, "protocol error"},
    {EBADMSG, "malformed message"},
    {EOVERFLOW, "value too large"},
    {EILSEQ, "invalid byte sequence"},
    {EMSGSIZE, "too large"},
    {ENOTSUP, "not supported"},
    {EAFNOSUPPORT, "address family not supported"},
    {EADDRINUSE, "address already in use"},
    {EADDRNOTAVAIL, "address not available"},
    {ENETDOWN, "network is down"},
    {ENETUNREACH, "network unreachable"},
    {ECONNABORTED, "connection aborted"},
    {ECONNRESET, "connection reset by peer"},
    {ENOBUFS, "no room in queue"},
    {ENOTCONN, "not connected"},
    {ETIMEDOUT, "timed out"},
    {ECONNREFUSED, "connection refused"},
    {EHOSTUNREACH, "host unreachable"},
    {EALREADY, "already in progress"},
    {EINPROGRESS, "in progress"},
    {EDQUOT, "disk quota exceeded"},
    {ECANCELED, "cancelled"},
};

int err_set(struct err *reterr, int code, const char *fmt, ...)
{
    if (!reterr)
        return code;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(reterr->text, sizeof(reterr->text), fmt, args); /* cut when too long */
    va_end(args);
    reterr->code = code;
    reterr->hint[0] = '\0'; /* a hint belongs to the text it was written for */
    return code;
}

void err_hint(struct err *reterr, const char *fmt, ...)
{
    if (!reterr)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(reterr->hint, sizeof(reterr->hint), fmt, args);
    va_end(args);
}

const char *err_str(int code)
{
    if (code == 0)
        return "success";
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].code == -code)
            return texts[i].text;
    }
    const char *text = code < 0 && code > -4096 ? strerrordesc_np(-code) : NULL;
    return text ? text : "unknown error";
}
