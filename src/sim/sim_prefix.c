/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_prefix.h"

#include <errno.h>

#include "base/fnv.h"
#include "base/mem.h"

struct family {
    uint64_t *path; /* hashes; the first is the family's number. NULL: not used yet */
    size_t n;
    uint64_t used_at;
};

struct sim_prefixes {
    size_t block_bytes;
    uint64_t n_taken;
    struct family families[SIM_PREFIX_FAMILIES];
    uint64_t hashes[SIM_PREFIX_BLOCKS]; /* of the prompt at hand */
};

int sim_prefixes_new(size_t block_bytes, struct sim_prefixes **ret)
{
    struct sim_prefixes *p = mem_zalloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->block_bytes = block_bytes > 0 ? block_bytes : 1;
    *ret = p;
    return 0;
}

struct sim_prefixes *sim_prefixes_free(struct sim_prefixes *p)
{
    for (size_t i = 0; p && i < SIM_PREFIX_FAMILIES; i++)
        mem_free(p->families[i].path);
    mem_free(p);
    return NULL;
}

/* Of every whole block the hash of all up to its end. */
static size_t hash_blocks(struct sim_prefixes *p, const struct span *parts, size_t n)
{
    uint64_t h = FNV_START;
    size_t n_blocks = 0, filled = 0;

    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < parts[k].n; i++) {
            h = fnv_byte(h, (unsigned char)parts[k].p[i]);
            if (++filled < p->block_bytes)
                continue;
            filled = 0;
            p->hashes[n_blocks++] = h != 0 ? h : 1;
            if (n_blocks == SIM_PREFIX_BLOCKS)
                return n_blocks;
        }
    }
    return n_blocks;
}

static struct family *family_find(struct sim_prefixes *p, uint64_t id)
{
    struct family *oldest = &p->families[0];

    for (size_t i = 0; i < SIM_PREFIX_FAMILIES; i++) {
        struct family *f = &p->families[i];

        if (f->n > 0 && f->path[0] == id)
            return f;
        if (f->used_at < oldest->used_at)
            oldest = f;
    }
    if (!oldest->path)
        oldest->path = mem_zalloc(SIM_PREFIX_BLOCKS, sizeof(*oldest->path));
    oldest->n = 0;
    return oldest->path ? oldest : NULL;
}

struct sim_prefix sim_prefixes_take(struct sim_prefixes *p, const struct span *parts, size_t n)
{
    size_t n_blocks = hash_blocks(p, parts, n);
    struct family *f = n_blocks > 0 ? family_find(p, p->hashes[0]) : NULL;
    size_t same = 0;

    if (!f)
        return (struct sim_prefix){0};
    while (same < n_blocks && same < f->n && f->path[same] == p->hashes[same])
        same++;
    if (same == f->n) /* goes on where the path ends */
        for (; same < n_blocks; same++)
            f->path[f->n++] = p->hashes[same];
    f->used_at = ++p->n_taken;
    return (struct sim_prefix){f->path[0], (int64_t)same};
}
