/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/judgement.c - what a firing was: what a person says counts before what was measured.
 */
#include "review/review_private.h"

enum verdict judgement_of(const struct firing *f)
{
    if (f->is_marked)
        return VERDICT_NOISE;
    if (!f->has_requests)
        return VERDICT_UNJUDGED;
    return f->burn >= REVIEW_BURN_MIN ? VERDICT_REAL : VERDICT_NOISE;
}

void judgement_add(struct verdict_count *c, enum verdict v)
{
    c->n_real += v == VERDICT_REAL;
    c->n_noise += v == VERDICT_NOISE;
    c->n_unjudged += v == VERDICT_UNJUDGED;
}
