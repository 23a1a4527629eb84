/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/rng.h - pseudo-random numbers for ids and simulation (xoshiro256**). Not for secrets.
 *
 * Threading: one owner per struct rng.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t _s[4];
};

void rng_seed(struct rng *r, uint64_t seed); /* the same seed gives the same sequence */
void rng_seed_random(struct rng *r);         /* from getrandom(2) */

uint64_t rng_u64(struct rng *r);
double rng_unit(struct rng *r);                     /* [0, 1) */
uint64_t rng_below(struct rng *r, uint64_t n);      /* [0, n); n > 0 */
double rng_exponential(struct rng *r, double mean); /* >= 0 */
double rng_normal(struct rng *r);                   /* mean 0, deviation 1 */
double rng_lognormal(struct rng *r, double median, double sigma);

/* Fills dst with n lower-case hex digits; not terminated. */
void rng_hex(struct rng *r, char *dst, int n);

#endif
