/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool is_one_of(const char *const *names, const char *pair)
{
    size_t n = strcspn(pair, "=");

    for (; *names; names++)
        if (strlen(*names) == n && strncmp(*names, pair, n) == 0)
            return true;
    return false;
}

size_t environment_pick(const char *const *names, char **dst, size_t cap)
{
    size_t n = 0;

    for (char **at = environ; at && *at && n + 1 < cap; at++)
        if (is_one_of(names, *at))
            dst[n++] = *at;
    dst[n] = NULL;
    return n;
}
