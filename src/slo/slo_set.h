/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/slo_set.h - the SLOs of one configuration, for whoever judges by them while the configuration
 * may be replaced.
 *
 * Threading: immutable; reference-counted; ref and unref from any thread.
 */
#ifndef SLO_SLO_SET_H
#define SLO_SLO_SET_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/attr.h"
#include "slo/slo.h"

struct slo_set {
    atomic_int _refs;
    struct arena _arena; /* texts */
    size_t n;
    struct slo items[];
};

/* Copies everything. n: at most SLO_MAX. -ENOMEM. */
int slo_set_new(const struct slo *slos, size_t n, struct slo_set **ret) WARN_UNUSED;
struct slo_set *slo_set_ref(struct slo_set *s);   /* NULL is allowed */
struct slo_set *slo_set_unref(struct slo_set *s); /* NULL is allowed; returns NULL */

#endif
