/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/path.h - the path that a client meant.
 *
 * Role:      base URLs are given with "/v1" and without, and clients add their own: "/v1/v1/..."
 * and
 *            "/chat/completions" are repaired. Pure; texts are written to a buffer of the caller's
 *            only where a part of the target will not do.
 */
#ifndef POLICY_PATH_H
#define POLICY_PATH_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"

/* Path and query of a request target, without scheme and authority. */
struct span path_of_target(struct span target);

enum path_repair {
    PATH_AS_IT_IS,
    PATH_DOUBLED, /* a version stood twice: once was taken out */
    PATH_BARE,    /* a known endpoint without version: "/v1" was put before it */
};

/*
 * *path: as path_of_target gave it; becomes the repaired one, a part of itself or in room (which
 * has to live as long). -ENOMEM, -EMSGSIZE of room.
 */
int path_repair(struct span *path, struct buf *room, enum path_repair *ret) WARN_UNUSED;

/* Takes every parameter of that name out of the query. As path_repair for room. */
int path_drop_parameter(struct span *path, struct span name, struct buf *room) WARN_UNUSED;

/* The bytes [at, at + n) of *path replaced by text, percent-encoded as a segment. */
int path_replace(struct span *path, size_t at, size_t n, struct span text,
                 struct buf *room) WARN_UNUSED;

#endif
