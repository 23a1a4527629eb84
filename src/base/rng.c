/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/rng.c - xoshiro256** (Blackman and Vigna, 2018, public domain), seeded by splitmix64.
 */
#include "base/rng.h"

#include <math.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void rng_seed(struct rng *r, uint64_t seed)
{
    /* Four outputs of splitmix64 are never all zero, the one state xoshiro cannot leave. */
    for (size_t i = 0; i < ARRAY_LEN(r->_s); i++)
        r->_s[i] = splitmix64(&seed);
}

void rng_seed_random(struct rng *r)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
        /* Early boot without entropy: ids must differ between processes, no more. */
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        seed = (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
        seed ^= (uint64_t)getpid() << 48;
    }
    rng_seed(r, seed);
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->_s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1.0p-53; /* the 53 bits a double holds */
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    if (NEVER(n == 0))
        return 0;
    /* 2^64 mod n values at the bottom are refused, so that each remainder is equally likely. */
    uint64_t threshold = -n % n;
    uint64_t x;
    do {
        x = rng_u64(r);
    } while (x < threshold);
    return x % n;
}

double rng_exponential(struct rng *r, double mean)
{
    return -mean * log1p(-rng_unit(r)); /* rng_unit is below 1, so the logarithm is finite */
}

double rng_normal(struct rng *r)
{
    /* Box and Muller; the second value is thrown away to keep the state the plain generator's. */
    double radius = sqrt(-2.0 * log1p(-rng_unit(r)));
    return radius * cos(2.0 * M_PI * rng_unit(r));
}

double rng_lognormal(struct rng *r, double median, double sigma)
{
    return median * exp(sigma * rng_normal(r));
}

void rng_hex(struct rng *r, char *dst, int n)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) {
        if (i % 16 == 0)
            bits = rng_u64(r);
        dst[i] = digits[bits & 15];
        bits >>= 4;
    }
}
