/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/leaves: the first byte is the format, the rest a file. Every value is told with a path of
 * keys and within the limits; an error names a line of the file.
 * fuzz-links: doctor
 */
#include "fuzz.h"

#include <errno.h>

#include "base/check.h"
#include "doctor/leaves.h"

struct seen {
    size_t n_values, n_bytes;
};

static void on_leaf(void *ctx, const struct span *path, size_t n, struct span value)
{
    struct seen *s = ctx;

    ASSERT(n <= LEAVES_DEPTH_MAX && value.n <= LEAVES_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < path[i].n; k++)
            s->n_bytes += (unsigned char)path[i].p[k] != 0;
    for (size_t k = 0; k < value.n; k++)
        s->n_bytes += (unsigned char)value.p[k] != 0;
    s->n_values++;
    (void)leaves_is("env.*", path, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen once = {0, 0}, twice = {0, 0};
    struct span text;
    int line = 0, again = 0, r;

    if (size == 0)
        return 0;
    text = span_of(data + 1, size - 1);
    r = leaves_read((enum leaves_format)(data[0] % 5), text, on_leaf, &once, &line);
    ASSERT(r == 0 || r == -EINVAL);
    ASSERT(leaves_read((enum leaves_format)(data[0] % 5), text, on_leaf, &twice, &again) == r);
    ASSERT(once.n_values == twice.n_values && once.n_bytes == twice.n_bytes && line == again);
    return 0;
}
