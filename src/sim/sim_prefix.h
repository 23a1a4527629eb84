/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_prefix.h - which prompts begin alike, from their bytes.
 *
 * Role:      gives each prompt the number of its beginning and how much of it is shared, as
 *            batching.h wants it. Bytes are taken in blocks; a block is known by the hash of all
 *            bytes up to its end.
 * Model:     prompts with the same first block are one family. A family has one path, that of the
 *            first prompt; a prompt that goes on where the path ends makes it longer (the next turn
 *            of a conversation), one that leaves it shares only what lies before.
 * Limits:    SIM_PREFIX_FAMILIES families, the least recently used goes first; the first
 *            SIM_PREFIX_BLOCKS blocks of a prompt.
 * Memory:    16 KiB a family, when it appears.
 * Errors:    without memory a prompt is like no other.
 * Threading: one owner; pure.
 */
#ifndef SIM_SIM_PREFIX_H
#define SIM_SIM_PREFIX_H

#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

enum { SIM_PREFIX_FAMILIES = 256, SIM_PREFIX_BLOCKS = 2048 };

struct sim_prefixes;

int sim_prefixes_new(size_t block_bytes, struct sim_prefixes **ret) WARN_UNUSED; /* -ENOMEM */
struct sim_prefixes *sim_prefixes_free(struct sim_prefixes *p);

struct sim_prefix {
    uint64_t id;      /* of the family; 0: none */
    int64_t n_blocks; /* that are the family's path */
};
/* The prompt is all parts one after the other. */
struct sim_prefix sim_prefixes_take(struct sim_prefixes *p, const struct span *parts, size_t n);

#endif
