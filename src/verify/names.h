/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/names.h - which metrics there can be, and which of them latency moves.
 *
 * Role:      what a rule reads, looked up in the tables of the gateway (metrics/family.h) and of
 *            engines (engine/map.h).
 * Threading: pure.
 */
#ifndef VERIFY_NAMES_H
#define VERIFY_NAMES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"

enum verify_name {
    VERIFY_NAME_UNKNOWN, /* nobody whom we know has it */
    VERIFY_NAME_KNOWN,
    VERIFY_NAME_MOVED, /* distribution of what the injected latency is a part of */
};

struct verify_name_info {
    enum verify_name kind;
    bool is_ttft;   /* MOVED: time to first token; else time of the whole request */
    bool is_engine; /* told by an engine (or made of it), not measured by the gateway */
};

/*
 * name: of a series, as a selector has it. Of a histogram only _bucket and _sum are moved: _count
 * counts requests. What rules record is not looked up here.
 */
struct verify_name_info verify_name_find(struct span name);

/* What was probably meant by a name that nobody has: static, or in a; NULL: no idea. */
const char *verify_name_suggest(struct arena *a, struct span name);

/*
 * Whether an unknown name must be a mistake, and not somebody else's: it begins as ours or an
 * engine's do, or is hardly different from meant (may be NULL).
 */
bool verify_name_is_slip(struct span name, const char *meant);

#endif
