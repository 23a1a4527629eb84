/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_text.c - words and numbers of files of /proc.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/num.h"
#include "collect/host_private.h"

struct span host_word(struct span *line)
{
    *line = span_trim(*line);
    for (size_t i = 0; i < line->n; i++)
        if (line->p[i] == ' ' || line->p[i] == '\t')
            return span_take(line, i);
    return span_take(line, line->n);
}

double host_number(struct span word)
{
    uint64_t v;

    return num_parse_u64(word, &v) == 0 ? (double)v : (double)NAN;
}

double host_next(struct span *line)
{
    return host_number(host_word(line));
}

struct span host_whole_lines(struct span text)
{
    while (text.n > 0 && text.p[text.n - 1] != '\n')
        text.n--;
    return text;
}

struct span host_file(struct host *h, const char *path, int *ret_r)
{
    char at[PATH_MAX];
    int r;

    (void)snprintf(at, sizeof(at), "%s%s", h->config.root, path);
    buf_clear(&h->text);
    r = file_read(at, HOST_FILE_BYTES, &h->text);
    if (r == -EFBIG)
        r = 0;
    h->has_no_memory |= r == -ENOMEM;
    if (r < 0)
        buf_clear(&h->text); /* half of it may be worse than nothing */
    if (ret_r)
        *ret_r = r;
    return buf_span(&h->text);
}

void host_add(struct source_out *o, const char *series, double v)
{
    source_out_add(o, series, NULL, 0, v);
}

void host_add_of(struct source_out *o, const char *series, const char *label, struct span is,
                 double v)
{
    struct label l = {span_cstr(label), is};

    source_out_add(o, series, &l, 1, v);
}
