/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/fingerprint.h - the number by which Alertmanager knows a set of labels.
 *
 * Source:    FNV-1a, 64 bits, over names and values in the order of names, 0xff behind each.
 * Threading: pure.
 */
#ifndef ALERT_FINGERPRINT_H
#define ALERT_FINGERPRINT_H

#include "base/fnv.h"
#include "series/labels.h"

/* The number with one text more; it begins as that of none. */
#define ALERT_FINGERPRINT_NONE FNV_START
uint64_t alert_fingerprint_add(uint64_t h, struct span s);

uint64_t alert_fingerprint(struct labels l);
/* Of the labels in names only (sorted, unique), one that is missing as an empty one. */
uint64_t alert_fingerprint_of(struct labels l, const struct span *names, size_t n);

#endif
