/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_pages.h - what a live engine answers besides completions: metrics, version, load,
 * tokenizer, faults.
 *
 * Role:      a body for a path, into a buffer; sim_server.h has the paths and sends it.
 * Form:      vLLM's /version, /load, /tokenize and /detokenize, SGLang's /get_server_info, as those
 *            engines answer them. Tokens of a text are its bytes, four to a token, so that every
 *            text comes back from its tokens.
 * Errors:    a status that is no success has a text, and a hint or "".
 * Threading: the loop's.
 */
#ifndef SIM_SIM_PAGES_H
#define SIM_SIM_PAGES_H

#include "sim/sim_live.h"

enum sim_page_id {
    SIM_PAGE_METRICS,
    SIM_PAGE_GPU_METRICS,
    SIM_PAGE_VERSION,
    SIM_PAGE_SERVER_INFO,
    SIM_PAGE_LOAD,
    SIM_PAGE_TOKENIZE,
    SIM_PAGE_DETOKENIZE,
    SIM_PAGE_FAULTS,
    SIM_PAGE_COUNT_
};

struct sim_page_ask {
    struct span method, body;
    struct span name; /* what follows the path; of a fault */
};

/* The answer's status, with its body in out; what is no success has *reterr instead. */
int sim_pages_answer(enum sim_page_id id, struct sim_live *l, const struct sim_page_ask *ask,
                     struct buf *out, struct err *reterr) WARN_UNUSED;
const char *sim_pages_type(enum sim_page_id id); /* Content-Type */
/* How long the answer takes, without the network. */
int64_t sim_pages_delay_ns(enum sim_page_id id, const struct sim_live *l);

#endif
