/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/gaps.c - see gaps.h.
 *
 * Why sparse: the gaps of one answer lie close together (a decoder's step time), so 80 slots at
 * 2.2 % hold nearly every real stream, and a wild one only becomes coarser.
 *
 * Invariants: _index is ascending; equal indexes are twins of one bucket, of which only the last
 * may have room. Lowering the schema maps index i to ceil(i / 2), which merges exactly the two
 * neighbours that make up the wider bucket.
 */
#include "timing/gaps.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SCHEMA_FIRST = 5, STEPS = 1 << SCHEMA_FIRST, GAP_MIN_NS = 1000 };

_Static_assert(sizeof(struct gaps) <= 512, "a request's gaps must stay small");
_Static_assert(GAPS_SLOTS > 63, "schema 0 has up to 63 distinct buckets, which must always fit");

void gaps_init(struct gaps *g)
{
    /* The slots are set as they come into use; clearing them would cost each request a KiB. */
    g->_schema = SCHEMA_FIRST;
    g->_n = 0;
    g->n_gaps = 0;
    g->max_ns = 0;
    g->sum_ns = 0;
}

/* Index at schema 5 of the bucket that holds ns. Exact: integers and table bounds only. */
static uint32_t index_finest(int64_t ns)
{
    /* floor(2^(62 + k/32)), k = 0..31: the upper bounds within one octave, for a mantissa that is
     * shifted to lie in [2^62, 2^63). */
    static const uint64_t bounds[STEPS] = {
        0x4000000000000000, 0x4166c34c5615d0eb, 0x42d561b3e6243d8a, 0x444c0740496d4293,
        0x45cae0f1f545eb73, 0x47521cc5a2e6a9e0, 0x48e1e9b9d588e19b, 0x4a7a77d47f7b84b0,
        0x4c1bf828c6dc54b7, 0x4dc69cdceaa72a9c, 0x4f7a993048d088d6, 0x513821818624b40c,
        0x52ff6b54d8a89c75, 0x54d0ad5a753e077c, 0x56ac1f752150a563, 0x5891fac0e95612c7,
        0x5a827999fcef3242, 0x5c7dd7a3b17dcf74, 0x5e8451cfac061b5f, 0x6096266533384a2b,
        0x62b39508aa836d6e, 0x64dcdec3371793d1, 0x6712460a8fc24071, 0x69540ec8f895722d,
        0x6ba27e656b4eb57a, 0x6dfddbcbed791baa, 0x70666f76154a7088, 0x72dc8373be41a454,
        0x75606373ee921c97, 0x77f25ccdee6d7ae5, 0x7a92be8a92436616, 0x7d41d96db915019d,
    };
    uint64_t v = (uint64_t)(ns < GAP_MIN_NS ? GAP_MIN_NS : ns);
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(v); /* floor(log2 v), 9 .. 62 */
    uint64_t mantissa = v << (62 - octave);
    uint32_t step = 0; /* the first bound that is not below the mantissa */
    for (uint32_t half = STEPS / 2; half > 0; half /= 2) {
        if (bounds[step + half - 1] < mantissa)
            step += half;
    }
    if (bounds[step] < mantissa)
        step++; /* above the last bound: the first bucket of the next octave */
    return octave * STEPS + step;
}

/* ceil(i / 2^by): the index of the same value `by` schemas lower. */
static uint32_t coarsen(uint32_t i, uint32_t by)
{
    return (i + (1u << by) - 1) >> by;
}

static uint32_t index_of(const struct gaps *g, int64_t ns)
{
    return coarsen(index_finest(ns), SCHEMA_FIRST - g->_schema);
}

static int64_t bucket_middle(const struct gaps *g, uint32_t i)
{
    double middle = exp2(((double)i - 0.5) / (double)(1u << g->_schema));
    return middle >= (double)g->max_ns ? g->max_ns : (int64_t)llround(middle);
}

static void lower_schema(struct gaps *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->_n;) {
        uint32_t index = coarsen(g->_index[i], 1);
        uint32_t n_gaps = 0;
        uint32_t n_events = 0;
        for (; i < g->_n && coarsen(g->_index[i], 1) == index; i++) {
            n_gaps += g->_n_gaps[i];
            n_events += g->_n_events[i];
        }
        /* k entries never need more than k slots again, so reading stays ahead of writing. */
        do {
            uint32_t gaps_now = n_gaps < UINT16_MAX ? n_gaps : UINT16_MAX;
            uint32_t events_now = n_events < UINT16_MAX ? n_events : UINT16_MAX;
            g->_index[n] = (uint16_t)index;
            g->_n_gaps[n] = (uint16_t)gaps_now;
            g->_n_events[n] = (uint16_t)events_now;
            n_gaps -= gaps_now;
            n_events -= events_now;
            n++;
        } while (n_gaps > 0 || n_events > 0);
    }
    g->_n = (uint8_t)n;
    g->_schema--;
}

/* Position behind the last entry whose index is <= index. */
static size_t position_behind(const struct gaps *g, uint32_t index)
{
    size_t low = 0;
    size_t high = g->_n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (g->_index[middle] <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_slot(struct gaps *g, size_t at, uint32_t index)
{
    size_t n_behind = (size_t)g->_n - at;
    memmove(&g->_index[at + 1], &g->_index[at], n_behind * sizeof(g->_index[0]));
    memmove(&g->_n_gaps[at + 1], &g->_n_gaps[at], n_behind * sizeof(g->_n_gaps[0]));
    memmove(&g->_n_events[at + 1], &g->_n_events[at], n_behind * sizeof(g->_n_events[0]));
    g->_index[at] = (uint16_t)index;
    g->_n_gaps[at] = 0;
    g->_n_events[at] = 0;
    g->_n++;
}

/* A slot of the bucket (named by its index at schema 5) with room for the counts; false: full. */
static bool find_slot(struct gaps *g, uint32_t finest, uint32_t n_gaps, uint32_t n_events,
                      size_t *ret)
{
    for (;;) {
        uint32_t index = coarsen(finest, SCHEMA_FIRST - g->_schema);
        size_t at = position_behind(g, index);
        if (at > 0 && g->_index[at - 1] == index && g->_n_gaps[at - 1] + n_gaps <= UINT16_MAX &&
            g->_n_events[at - 1] + n_events <= UINT16_MAX) {
            *ret = at - 1;
            return true;
        }
        if (g->_n < GAPS_SLOTS) {
            insert_slot(g, at, index);
            *ret = at;
            return true;
        }
        if (g->_schema == 0)
            return false;
        lower_schema(g);
    }
}

/* n_gaps and n_events: at most UINT16_MAX each. */
static void count(struct gaps *g, uint32_t finest, uint32_t n_gaps, uint32_t n_events)
{
    size_t at;
    if (!find_slot(g, finest, n_gaps, n_events, &at))
        return;
    g->_n_gaps[at] = (uint16_t)(g->_n_gaps[at] + n_gaps);
    g->_n_events[at] = (uint16_t)(g->_n_events[at] + n_events);
}

void gaps_add(struct gaps *g, int64_t gap_ns, uint32_t n_events)
{
    int64_t ns = gap_ns > 0 ? gap_ns : 0;
    g->n_gaps++;
    g->sum_ns += ns;
    g->max_ns = ns > g->max_ns ? ns : g->max_ns;
    count(g, index_finest(ns), 1, n_events < UINT16_MAX ? n_events : UINT16_MAX);
}

void gaps_add_events(struct gaps *g, int64_t gap_ns, uint32_t n_events)
{
    count(g, index_finest(gap_ns), 0, n_events < UINT16_MAX ? n_events : UINT16_MAX);
}

void gaps_merge(struct gaps *g, const struct gaps *other)
{
    while (g->_schema > other->_schema)
        lower_schema(g);
    g->n_gaps += other->n_gaps;
    g->sum_ns += other->sum_ns;
    g->max_ns = other->max_ns > g->max_ns ? other->max_ns : g->max_ns;
    for (size_t i = 0; i < other->_n; i++) {
        /* Any index at schema 5 that coarsens to the bucket will do: take its upper end. */
        uint32_t finest = (uint32_t)other->_index[i] << (SCHEMA_FIRST - other->_schema);
        count(g, finest, other->_n_gaps[i], other->_n_events[i]);
    }
}

/* Position of the entry that holds the quantile, or _n when there are no gaps. */
static size_t quantile_position(const struct gaps *g, double q)
{
    uint64_t total = 0;
    for (size_t i = 0; i < g->_n; i++)
        total += g->_n_gaps[i];
    if (total == 0)
        return g->_n;
    double exact = q * (double)total;
    double rank = ceil(exact - exact * 1e-12); /* 0.07 * 100 is a little more than 7 */
    uint64_t want = rank < 1.0 ? 1 : rank > (double)total ? total : (uint64_t)rank;
    uint64_t seen = 0;
    size_t at = 0;
    for (size_t i = 0; i < g->_n && seen < want; i++) {
        seen += g->_n_gaps[i];
        at = i;
    }
    return at;
}

int64_t gaps_quantile(const struct gaps *g, double q)
{
    size_t at = quantile_position(g, q);
    return at < g->_n ? bucket_middle(g, g->_index[at]) : -1;
}

int64_t gaps_quantile_upper(const struct gaps *g, double q)
{
    size_t at = quantile_position(g, q);
    if (at == g->_n)
        return -1;
    double upper = ceil(exp2((double)g->_index[at] / (double)(1u << g->_schema)));
    return upper < 0x1p62 ? (int64_t)upper : INT64_MAX;
}

uint32_t gaps_count_above(const struct gaps *g, int64_t threshold_ns)
{
    uint32_t n = 0;
    for (size_t i = position_behind(g, index_of(g, threshold_ns)); i < g->_n; i++)
        n += g->_n_gaps[i];
    return n;
}

size_t gaps_len(const struct gaps *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->_n; i++)
        n += i == 0 || g->_index[i] != g->_index[i - 1];
    return n;
}

struct gaps_bucket gaps_at(const struct gaps *g, size_t i)
{
    struct gaps_bucket b = {0};
    size_t at = 0;
    for (; at < g->_n && i > 0; at++)
        i -= at + 1 < g->_n && g->_index[at + 1] != g->_index[at];
    if (at >= g->_n)
        return b;
    uint16_t index = g->_index[at];
    for (; at < g->_n && g->_index[at] == index; at++) {
        b.n_gaps += g->_n_gaps[at];
        b.n_events += g->_n_events[at];
    }
    b.middle_ns = bucket_middle(g, index);
    return b;
}
