/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/admission.h - who may go to an upstream now: one object per upstream, shared by all
 * workers.
 *
 * Role:      every exchange enters before it connects and leaves when it is over; the object knows
 *            how many are in flight. No limit is set yet, so entering always succeeds at once;
 *            limits, classes and queues come in behind this call.
 * Threading: any thread; one lock per operation.
 */
#ifndef GATEWAY_ADMISSION_H
#define GATEWAY_ADMISSION_H

#include <stdint.h>

#include "base/attr.h"

struct admission;

int admission_new(struct admission **ret) WARN_UNUSED; /* -ENOMEM */
struct admission *admission_free(struct admission *a);

struct admission_request {
    int priority; /* 0 interactive, 1 batch */
    uint32_t estimated_tokens;
};

enum admission_verdict { ADMISSION_GRANTED };

enum admission_verdict admission_enter(struct admission *a, const struct admission_request *r);
void admission_leave(struct admission *a, const struct admission_request *r);

/* Granted and not left, at this moment. */
uint64_t admission_n_inflight(const struct admission *a);

#endif
