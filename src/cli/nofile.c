/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nofile.h"

#include <sys/resource.h>

void nofile_raise(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= l.rlim_max)
        return;
    l.rlim_cur = l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l); /* refused: fewer connections then */
}
