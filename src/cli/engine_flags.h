/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/engine_flags.h - flags of the simulator's batching engine: which engine, on what, its script.
 *
 * Ownership: what engine_flags_finish puts into a configuration lives as long as the flags.
 */
#ifndef CLI_ENGINE_FLAGS_H
#define CLI_ENGINE_FLAGS_H

#include "base/suggest.h"
#include "cli/flag.h"
#include "sim/sim_server.h"

struct engine_flags {
    struct sim_live_config live;
    struct sim_script *script;
    int64_t kv_tokens;     /* -1: as the hardware has */
    int64_t max_model_len; /* -1: the default, or what KV has room for */
    bool is_on;
    const char *first; /* flag that needs --engine; NULL: none was given */
};

void engine_flags_init(struct engine_flags *e);
void engine_flags_done(struct engine_flags *e);

/* 1: it was one of them, 0: it is another's; -EINVAL, or why the script cannot be read. */
int engine_flags_apply(struct engine_flags *e, struct flag *f, struct err *reterr) WARN_UNUSED;
/* When all flags have been seen. */
int engine_flags_finish(struct engine_flags *e, struct sim_config *c,
                        struct err *reterr) WARN_UNUSED;

void engine_flags_offer(struct suggest *s);
void engine_flags_help(void); /* to standard output, faults included */

#endif
