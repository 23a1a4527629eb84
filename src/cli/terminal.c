/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80 };

int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return WIDTH_DEFAULT;
}

bool terminal_has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8");
    }
    return false;
}

size_t terminal_columns(struct span s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* Of ASCII, and those of two bytes that begin with 0xc2. Returns its length, or 0. */
static size_t control_at(struct span s)
{
    unsigned char c = (unsigned char)s.p[0];
    if (c < 0x20 || c == 0x7f)
        return 1;
    return c == 0xc2 && s.n > 1 && (unsigned char)s.p[1] < 0xa0 ? 2 : 0;
}

int terminal_put(struct span s, struct buf *out)
{
    int r = 0;
    while (s.n > 0 && r == 0) {
        size_t n = 0, control = 0;
        while (n < s.n && (control = control_at(span_from(s, n))) == 0)
            n++;
        struct span plain = span_take(&s, n);
        if (plain.n > 0)
            r = buf_append(out, plain);
        if (control > 0 && r == 0)
            r = buf_append(out, SPAN("?"));
        (void)span_take(&s, control < s.n ? control : s.n);
    }
    return r;
}

int terminal_flush(struct err *reterr)
{
    int r = fflush(stdout) != 0 ? -errno : ferror(stdout) ? -EIO : 0;
    return r < 0 ? err_set(reterr, r, "standard output cannot be written: %s", err_str(r)) : 0;
}
