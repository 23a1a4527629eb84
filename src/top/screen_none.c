/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/screen_none.c - stands in for screen.c where ncurses is not there.
 */
#include <errno.h>

#include "top/screen.h"

int top_screen_open(struct err *reterr)
{
    (void)err_set(reterr, -ENOSYS, "this program was built without ncurses");
    err_hint(reterr, "--once prints the table once; cmake -DNCURSES=ON builds with it");
    return -ENOSYS;
}

void top_screen_close(void)
{
}

void top_screen_size(size_t *ret_width, size_t *ret_height)
{
    *ret_width = 0;
    *ret_height = 0;
}

void top_screen_show(struct span lines)
{
    (void)lines;
}

bool top_screen_is_interrupted(void)
{
    return false;
}

int top_screen_key(int wait_ms)
{
    (void)wait_ms;
    return TOP_KEY_GONE;
}
