/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

void guard_init(struct guard *g, size_t max_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (max_bytes / page + 1) * page;
    char *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + room, page, PROT_NONE), 0);
    *g = (struct guard){._map = map, ._map_bytes = room + page, ._room_bytes = room};
}

void guard_done(struct guard *g)
{
    munmap(g->_map, g->_map_bytes);
    *g = (struct guard){0};
}

struct span guard_copy(struct guard *g, struct span s)
{
    assert_true(s.n <= g->_room_bytes);
    char *p = g->_map + g->_room_bytes - s.n;
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return span_of(p, s.n);
}
