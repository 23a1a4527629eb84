/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/judge_private.h - what the files that judge share.
 */
#ifndef VERIFY_JUDGE_PRIVATE_H
#define VERIFY_JUDGE_PRIVATE_H

#include "verify/judge.h"

/* Sets verdict, text and (may be NULL) hint. */
void verify_judge_set(struct verify_finding *f, enum verify_verdict v, const char *hint,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);

/* judge_chain.c */
void verify_judge_client(const struct verify_plan *p, const struct verify_result *r,
                         struct verify_finding *ret);
void verify_judge_engine(const struct verify_result *r, struct verify_finding *ret);

/* judge_alert.c */
void verify_judge_alert(const struct verify_plan *p, const struct verify_result *r, size_t i,
                        enum verify_where where, struct verify_finding *ret);
void verify_judge_delivery(const struct verify_result *r, size_t i, struct verify_finding *ret);

#endif
