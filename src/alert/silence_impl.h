/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence_impl.h - between the keeper of silences and their JSON.
 *
 * Errors:    as in silence.h.
 * Threading: pure.
 */
#ifndef ALERT_SILENCE_IMPL_H
#define ALERT_SILENCE_IMPL_H

#include "alert/matchers.h"
#include "alert/silence.h"

/* A silence as it was written, checked; texts in a, its matchers in *m, which the caller ends on
 * failure, too. */
int silence_read(struct span json, int64_t now_ms, struct arena *a, struct alert_matchers *m,
                 struct silence *to, struct err *reterr) WARN_UNUSED;
int silence_copy(const struct silence *from, struct arena *a, struct alert_matchers *m,
                 struct silence *to) WARN_UNUSED;

#endif
