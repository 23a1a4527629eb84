/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/hist.c - no logarithm on the way in: the leading bits of the value name the lowest
 * bucket it can be in, one comparison with that bucket's exact upper value decides, and from the
 * bucket a map gives the lowest classic bucket it can be in.
 *
 * Why one comparison is enough: a 64th of an octave is at most 1.6 % wide, a bucket 2.2 %, so that
 * no 64th touches more than two buckets. Boundaries repeat exactly every octave (32 buckets).
 *
 * Order of a record: bucket, sum, classic count, the last with release. A reader loads the classic
 * counts first (acquire) and therefore finds every sample of theirs in the buckets too; when both
 * totals agree they hold the same samples.
 *
 * _seq guards what is not monotonic: the carry of the sum and the restart with new bounds. Their
 * stores are releases behind the odd _seq, so that a reader that saw one of them also sees _seq odd
 * or moved.
 */
#include "metrics/hist.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"

/* The sum carries into _sum_parts when it reaches this: 2^62 ns are 146 years of waiting. */
#define SUM_PART_BITS 62
#define SUM_PART      (UINT64_C(1) << SUM_PART_BITS)

enum {
    PER_OCTAVE = 1 << HIST_SCHEMA,
    CONSISTENT_TRIES = 8, /* reads of one histogram until both arrays agree */
    EXEMPLAR_TRIES = 4,
    SPINS_BEFORE_YIELD = 64,
};

struct hist_page {
    _Atomic uint64_t n[HIST_PAGE_BUCKETS];
};

#define ID_WORDS (HIST_EXEMPLAR_ID_MAX / 8)

struct hist_exemplar_slot {
    _Atomic uint32_t seq; /* odd while it is written */
    _Atomic uint32_t classic;
    _Atomic int64_t raw;
    _Atomic int64_t at_us; /* 0: empty */
    _Atomic uint64_t id[ID_WORDS];
};

/* --- boundaries --- */

/* 2^(j/32) as a fixed-point number with 127 fractional bits, rounded down: high and low word. */
static const uint64_t octave_parts[PER_OCTAVE][2] = {
    {0x8000000000000000u, 0x0000000000000000u}, {0x82cd8698ac2ba1d7u, 0x3e2a475b46520bffu},
    {0x85aac367cc487b14u, 0xc5c95b8c2154c1b2u}, {0x88980e8092da8527u, 0x5df8d76c98c67562u},
    {0x8b95c1e3ea8bd6e6u, 0xfbe4628758a53c90u}, {0x8ea4398b45cd53c0u, 0x2dc0144c8783d4c5u},
    {0x91c3d373ab11c336u, 0x0fd6d8e0ae5ac9d8u}, {0x94f4efa8fef70961u, 0x2e8afad12551de54u},
    {0x9837f0518db8a96fu, 0x46ad23182e42f6f6u}, {0x9b8d39b9d54e5538u, 0xa2a817a2a3cc3f1fu},
    {0x9ef5326091a111adu, 0xa0911f09ebb9fdd1u}, {0xa27043030c496818u, 0x9b7a04ef80cfdea7u},
    {0xa5fed6a9b15138eau, 0x1cbd7f621710701bu}, {0xa9a15ab4ea7c0ef8u, 0x541e24ec3531fa73u},
    {0xad583eea42a14ac6u, 0x4980a8c8f59a2ec4u}, {0xb123f581d2ac258fu, 0x87d037e96d215d8eu},
    {0xb504f333f9de6484u, 0x597d89b3754abe9fu}, {0xb8fbaf4762fb9ee9u, 0x1b879778566b65a1u},
    {0xbd08a39f580c36beu, 0xa8811fb66d0faf7au}, {0xc12c4cca66709456u, 0x7c457d59a50087b5u},
    {0xc5672a115506daddu, 0x3e2ad0c964dd9f37u}, {0xc9b9bd866e2f27a2u, 0x80e1f92a0511697eu},
    {0xce248c151f8480e3u, 0xe235838f95f2c6edu}, {0xd2a81d91f12ae45au, 0x12248e57c3de4028u},
    {0xd744fccad69d6af4u, 0x39a68bb9902d3fdeu}, {0xdbfbb797daf23755u, 0x3d840d5a9e29aa64u},
    {0xe0ccdeec2a94e111u, 0x065895048dd333cau}, {0xe5b906e77c8348a8u, 0x1e5e8f4a4edbb0ecu},
    {0xeac0c6e7dd24392eu, 0xd02d75b3706e54fau}, {0xefe4b99bdcdaf5cbu, 0x46561cf6948db912u},
    {0xf5257d152486cc2cu, 0x7b9d0c7aed980fc3u}, {0xfa83b2db722a033au, 0x7c25bb14315d7fccu},
};

/* floor(2^(index/32) * scale), INT64_MAX when it is larger. Exact (see the test with big numbers).
 */
static int64_t boundary_raw(int index, uint64_t scale)
{
    int octave = (index >= 0 ? index : index - (PER_OCTAVE - 1)) / PER_OCTAVE;
    const uint64_t *part = octave_parts[index - octave * PER_OCTAVE];
    hist_sum_t scaled = (hist_sum_t)part[0] * scale + (((hist_sum_t)part[1] * scale) >> 64);
    hist_sum_t raw = scaled >> (63 - octave);
    return raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
}

static const struct {
    uint64_t scale;
    int64_t zero_raw;
} units[HIST_UNIT_COUNT_] = {
    [HIST_NS] = {1000000000, 1000},
    [HIST_COUNT] = {1, 1},
    [HIST_MILLI] = {1000, 1},
};

static struct hist_layout layouts[HIST_UNIT_COUNT_];
static pthread_once_t layouts_once = PTHREAD_ONCE_INIT;

static void layout_init(struct hist_layout *layout, uint64_t scale, int64_t zero_raw)
{
    layout->per_unit = (double)scale;
    layout->zero_raw = zero_raw;
    int index = -PER_OCTAVE * 32;
    while (boundary_raw(index, scale) <= zero_raw)
        index++;
    layout->first_index = index;
    layout->upper[0] = zero_raw;
    uint32_t n = 1;
    while (n < HIST_BUCKETS && layout->upper[n - 1] < INT64_MAX)
        layout->upper[n++] = boundary_raw(index++, scale);
    layout->n_buckets = n;
    /* Any octave far from both ends tells the lowest bucket of each of its 64ths. */
    const int octave = 40;
    uint32_t k = 0;
    for (int64_t i = 0; i < 64; i++) {
        while (layout->upper[k] < (64 + i) << (octave - 6))
            k++;
        layout->guess[i] = (int16_t)((int)k - octave * PER_OCTAVE);
    }
}

static void layouts_init(void)
{
    for (int u = 0; u < HIST_UNIT_COUNT_; u++)
        layout_init(&layouts[u], units[u].scale, units[u].zero_raw);
}

const struct hist_layout *hist_layout_get(enum hist_unit unit)
{
    pthread_once(&layouts_once, layouts_init);
    return &layouts[unit];
}

static inline uint32_t bucket_of(const struct hist_layout *layout, int64_t raw)
{
    if (raw <= layout->zero_raw)
        return 0;
    int n_leading = __builtin_clzll((uint64_t)raw);
    uint64_t part = ((uint64_t)raw << n_leading) >> 57 & 63;
    uint32_t k = (uint32_t)((63 - n_leading) * PER_OCTAVE + layout->guess[part]);
    return k + (raw > layout->upper[k]);
}

uint32_t hist_bucket_of(const struct hist_layout *layout, int64_t raw)
{
    return bucket_of(layout, raw);
}

int hist_native_index(const struct hist_layout *layout, uint32_t k)
{
    return layout->first_index + (int)k - 1;
}

double hist_raw_to_unit(const struct hist_layout *layout, int64_t raw)
{
    return (double)raw / layout->per_unit;
}

int hist_bounds_new(enum hist_unit unit, const int64_t *values, size_t n, wall_t created_at,
                    struct hist_bounds **ret)
{
    if (n > HIST_BOUNDS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        if (values[i] < 0 || values[i] == INT64_MAX || (i > 0 && values[i] <= values[i - 1]))
            return -EINVAL;
    }
    struct hist_bounds *b = mem_zalloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    b->layout = hist_layout_get(unit);
    b->created_at = created_at;
    b->n = n;
    if (n > 0)
        memcpy(b->upper, values, n * sizeof(*values));
    b->upper[n] = INT64_MAX;
    uint8_t c = 0;
    for (uint32_t k = 0; k < b->layout->n_buckets; k++) {
        int64_t lowest = k == 0 ? 0 : b->layout->upper[k - 1] + 1;
        while (b->upper[c] < lowest)
            c++;
        b->first[k] = c;
    }
    *ret = b;
    return 0;
}

struct hist_bounds *hist_bounds_free(struct hist_bounds *b)
{
    mem_free(b);
    return NULL;
}

/* --- writing --- */

void hist_init(struct hist *h, hist_source *source)
{
    memset(h, 0, sizeof(*h));
    h->_source = source;
    atomic_store_explicit(&h->_bounds, atomic_load_explicit(source, memory_order_acquire),
                          memory_order_relaxed);
}

void hist_done(struct hist *h)
{
    for (int i = 0; i < HIST_PAGES; i++)
        mem_free(atomic_load_explicit(&h->_pages[i], memory_order_relaxed));
    mem_free(atomic_load_explicit(&h->_exemplars, memory_order_relaxed));
    memset(h, 0, sizeof(*h));
}

/* Single writer: a plain addition, made readable by others. */
static inline void bump(_Atomic uint64_t *p, uint64_t n, memory_order order)
{
    atomic_store_explicit(p, atomic_load_explicit(p, memory_order_relaxed) + n, order);
}

static void seq_begin(_Atomic uint32_t *seq)
{
    atomic_store_explicit(seq, atomic_load_explicit(seq, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void seq_end(_Atomic uint32_t *seq)
{
    atomic_store_explicit(seq, atomic_load_explicit(seq, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* Throws the data away and starts with the family's new bounds. */
static void restart(struct hist *h, const struct hist_bounds *bounds)
{
    seq_begin(&h->_seq);
    for (int i = 0; i < HIST_PAGES; i++) {
        struct hist_page *page = atomic_load_explicit(&h->_pages[i], memory_order_relaxed);
        for (int k = 0; page && k < HIST_PAGE_BUCKETS; k++)
            atomic_store_explicit(&page->n[k], 0, memory_order_release);
    }
    for (int i = 0; i <= HIST_BOUNDS_MAX; i++)
        atomic_store_explicit(&h->_classic[i], 0, memory_order_release);
    atomic_store_explicit(&h->_sum, 0, memory_order_release);
    atomic_store_explicit(&h->_sum_parts, 0, memory_order_release);
    struct hist_exemplar_slot *slots = atomic_load_explicit(&h->_exemplars, memory_order_relaxed);
    for (int i = 0; slots && i < HIST_EXEMPLARS; i++)
        atomic_store_explicit(&slots[i].at_us, 0, memory_order_release);
    atomic_store_explicit(&h->_bounds, bounds, memory_order_release);
    seq_end(&h->_seq);
}

static void carry_sum(struct hist *h, hist_sum_t sum)
{
    seq_begin(&h->_seq);
    atomic_store_explicit(&h->_sum, (uint64_t)sum & (SUM_PART - 1), memory_order_release);
    uint64_t parts = atomic_load_explicit(&h->_sum_parts, memory_order_relaxed);
    atomic_store_explicit(&h->_sum_parts, parts + (uint64_t)(sum >> SUM_PART_BITS),
                          memory_order_release);
    seq_end(&h->_seq);
}

static struct hist_page *page_new(struct hist *h, uint32_t i)
{
    struct hist_page *page = mem_zalloc(1, sizeof(*page));
    if (page)
        atomic_store_explicit(&h->_pages[i], page, memory_order_release);
    else
        stat_inc(STAT_DROP_NO_MEMORY);
    return page;
}

/* Returns the classic bucket, or -1 when the sample was lost. */
static inline int record(struct hist *h, int64_t raw, uint64_t n)
{
    const struct hist_bounds *b = atomic_load_explicit(h->_source, memory_order_acquire);
    if (UNLIKELY(atomic_load_explicit(&h->_bounds, memory_order_relaxed) != b))
        restart(h, b);
    if (UNLIKELY(raw < 0))
        raw = 0;
    uint32_t k = bucket_of(b->layout, raw);
    struct hist_page *page =
        atomic_load_explicit(&h->_pages[k / HIST_PAGE_BUCKETS], memory_order_relaxed);
    if (UNLIKELY(!page)) {
        page = page_new(h, k / HIST_PAGE_BUCKETS);
        if (!page)
            return -1;
    }
    int c = b->first[k];
    while (raw > b->upper[c])
        c++;
    bump(&page->n[k % HIST_PAGE_BUCKETS], n, memory_order_relaxed);
    hist_sum_t sum =
        (hist_sum_t)(uint64_t)raw * n + atomic_load_explicit(&h->_sum, memory_order_relaxed);
    if (LIKELY(sum < SUM_PART))
        atomic_store_explicit(&h->_sum, (uint64_t)sum, memory_order_relaxed);
    else
        carry_sum(h, sum);
    bump(&h->_classic[c], n, memory_order_release);
    return c;
}

void hist_record(struct hist *h, int64_t raw)
{
    (void)record(h, raw, 1); /* a lost sample is counted */
}

void hist_record_n(struct hist *h, int64_t raw, uint64_t n)
{
    if (n > 0)
        (void)record(h, raw, n); /* a lost sample is counted */
}

void hist_record_exemplar(struct hist *h, int64_t raw, const char *id, wall_t at)
{
    int c = record(h, raw, 1);
    if (c < 0 || !id || !*id)
        return;
    struct hist_exemplar_slot *slots = atomic_load_explicit(&h->_exemplars, memory_order_relaxed);
    if (!slots) {
        slots = mem_zalloc(HIST_EXEMPLARS, sizeof(*slots));
        if (!slots)
            return; /* the sample itself is recorded; an exemplar is a help, not a number */
        atomic_store_explicit(&h->_exemplars, slots, memory_order_release);
    }
    struct hist_exemplar_slot *slot = &slots[c % HIST_EXEMPLARS];
    uint64_t words[ID_WORDS] = {0};
    memcpy(words, id, strnlen(id, HIST_EXEMPLAR_ID_MAX));
    seq_begin(&slot->seq);
    atomic_store_explicit(&slot->classic, (uint32_t)c, memory_order_release);
    atomic_store_explicit(&slot->raw, raw, memory_order_release);
    atomic_store_explicit(&slot->at_us, at.us, memory_order_release);
    for (int i = 0; i < ID_WORDS; i++)
        atomic_store_explicit(&slot->id[i], words[i], memory_order_release);
    seq_end(&slot->seq);
}

/* --- reading --- */

void hist_snapshot_init(struct hist_snapshot *s, const struct hist_bounds *bounds)
{
    s->bounds = bounds;
    s->n = 0;
    s->sum_raw = 0;
    memset(s->classic, 0, sizeof(s->classic));
    s->first = HIST_BUCKETS;
    s->end = 0;
    memset(s->buckets, 0, sizeof(s->buckets));
    for (size_t i = 0; i < ARRAY_LEN(s->exemplars); i++)
        s->exemplars[i].at = (wall_t){0};
}

/* One histogram as read; its buckets are in the snapshot's scratch array. */
struct reading {
    uint64_t n_classic, n_buckets;
    hist_sum_t sum_raw;
    uint64_t classic[HIST_BOUNDS_MAX + 1];
    uint64_t page_bits; /* pages that exist */
};

static void read_numbers(const struct hist *h, struct reading *r, uint64_t *buckets)
{
    memset(r, 0, sizeof(*r));
    for (int i = 0; i <= HIST_BOUNDS_MAX; i++) {
        r->classic[i] = atomic_load_explicit(&h->_classic[i], memory_order_acquire);
        r->n_classic += r->classic[i];
    }
    r->sum_raw = atomic_load_explicit(&h->_sum, memory_order_acquire);
    r->sum_raw += (hist_sum_t)atomic_load_explicit(&h->_sum_parts, memory_order_acquire)
                  << SUM_PART_BITS;
    for (int i = 0; i < HIST_PAGES; i++) {
        const struct hist_page *page = atomic_load_explicit(&h->_pages[i], memory_order_acquire);
        if (!page)
            continue;
        r->page_bits |= UINT64_C(1) << i;
        for (int k = 0; k < HIST_PAGE_BUCKETS; k++) {
            uint64_t n = atomic_load_explicit(&page->n[k], memory_order_acquire);
            buckets[i * HIST_PAGE_BUCKETS + k] = n;
            r->n_buckets += n;
        }
    }
}

/*
 * Both arrays with the same samples, or, under a writer that never pauses, after CONSISTENT_TRIES
 * with some samples in the buckets only (fill_classic). False: the data is of other bounds.
 */
static bool read_consistent(const struct hist *h, const struct hist_bounds *bounds,
                            struct reading *r, uint64_t *buckets)
{
    for (int n_tries = 0;; n_tries++) {
        uint32_t seq = atomic_load_explicit(&h->_seq, memory_order_acquire);
        bool is_current = atomic_load_explicit(&h->_bounds, memory_order_acquire) == bounds;
        if (is_current)
            read_numbers(h, r, buckets);
        if (seq % 2 == 0 && atomic_load_explicit(&h->_seq, memory_order_relaxed) == seq) {
            if (!is_current)
                return false;
            if (r->n_classic == r->n_buckets || n_tries >= CONSISTENT_TRIES)
                return true;
        }
        if (n_tries % SPINS_BEFORE_YIELD == SPINS_BEFORE_YIELD - 1)
            sched_yield();
    }
}

/*
 * n_buckets > n_classic: the missing samples go where their bucket ends, the highest first, so that
 * no cumulative count is ever larger than the truth and none falls from one reading to the next.
 */
static void fill_classic(const struct hist_bounds *b, struct reading *r, const uint64_t *buckets)
{
    uint64_t derived[HIST_BOUNDS_MAX + 1] = {0};
    for (uint32_t k = 0; k < HIST_BUCKETS; k++) {
        if (!(r->page_bits >> k / HIST_PAGE_BUCKETS & 1) || buckets[k] == 0)
            continue;
        int c = b->first[k];
        while (b->layout->upper[k] > b->upper[c])
            c++;
        derived[c] += buckets[k];
    }
    for (size_t c = b->n + 1; c-- > 0 && r->n_classic < r->n_buckets;) {
        uint64_t n_missing = r->n_buckets - r->n_classic;
        uint64_t n_more = derived[c] > r->classic[c] ? derived[c] - r->classic[c] : 0;
        n_more = n_more < n_missing ? n_more : n_missing;
        r->classic[c] += n_more;
        r->n_classic += n_more;
    }
}

static bool read_exemplar(const struct hist_exemplar_slot *slot, uint32_t *ret_classic,
                          struct hist_exemplar *ret)
{
    for (int i = 0; i < EXEMPLAR_TRIES; i++) {
        uint64_t words[ID_WORDS];
        uint32_t seq = atomic_load_explicit(&slot->seq, memory_order_acquire);
        uint32_t classic = atomic_load_explicit(&slot->classic, memory_order_acquire);
        int64_t raw = atomic_load_explicit(&slot->raw, memory_order_acquire);
        int64_t at_us = atomic_load_explicit(&slot->at_us, memory_order_acquire);
        for (int w = 0; w < ID_WORDS; w++)
            words[w] = atomic_load_explicit(&slot->id[w], memory_order_acquire);
        if (seq % 2 != 0 || atomic_load_explicit(&slot->seq, memory_order_relaxed) != seq)
            continue;
        if (at_us == 0)
            return false;
        *ret_classic = classic;
        ret->raw = raw;
        ret->at = (wall_t){at_us};
        memcpy(ret->id, words, sizeof(words));
        ret->id[HIST_EXEMPLAR_ID_MAX] = '\0';
        return true;
    }
    return false;
}

static void add_exemplars(struct hist_snapshot *s, const struct hist *h)
{
    const struct hist_exemplar_slot *slots =
        atomic_load_explicit(&h->_exemplars, memory_order_acquire);
    for (int i = 0; slots && i < HIST_EXEMPLARS; i++) {
        uint32_t c = 0;
        struct hist_exemplar e = {0};
        if (!read_exemplar(&slots[i], &c, &e) || c > s->bounds->n)
            continue;
        /* A restart may have come in between; an exemplar must lie in its bucket. */
        bool is_inside =
            e.raw <= s->bounds->upper[c] && (c == 0 || e.raw > s->bounds->upper[c - 1]);
        if (is_inside && e.at.us > s->exemplars[c].at.us)
            s->exemplars[c] = e;
    }
}

void hist_snapshot_add(struct hist_snapshot *s, const struct hist *h)
{
    struct reading r;
    if (!read_consistent(h, s->bounds, &r, s->_scratch))
        return;
    if (r.n_classic < r.n_buckets)
        fill_classic(s->bounds, &r, s->_scratch);
    s->n += r.n_buckets;
    s->sum_raw += r.sum_raw;
    for (size_t i = 0; i <= s->bounds->n; i++)
        s->classic[i] += r.classic[i];
    for (uint32_t i = 0; i < HIST_PAGES; i++) {
        if (!(r.page_bits >> i & 1))
            continue;
        uint32_t first = i * HIST_PAGE_BUCKETS;
        for (uint32_t k = first; k < first + HIST_PAGE_BUCKETS; k++)
            s->buckets[k] += s->_scratch[k];
        s->first = first < s->first ? first : s->first;
        s->end = first + HIST_PAGE_BUCKETS > s->end ? first + HIST_PAGE_BUCKETS : s->end;
    }
    add_exemplars(s, h);
}

double hist_snapshot_sum(const struct hist_snapshot *s)
{
    /* Units and remainder apart: exact up to 2^53 units, where the raw sum alone would not be. */
    hist_sum_t per_unit = (hist_sum_t)s->bounds->layout->per_unit;
    hist_sum_t n_units = s->sum_raw / per_unit;
    hist_sum_t rest = s->sum_raw % per_unit;
    return (double)n_units + (double)rest / s->bounds->layout->per_unit;
}

double hist_snapshot_quantile(const struct hist_snapshot *s, double q)
{
    if (s->n == 0)
        return -1;
    const struct hist_layout *layout = s->bounds->layout;
    double rank = q * (double)s->n;
    double n_below = 0;
    for (uint32_t k = s->first; k < s->end; k++) {
        double n = (double)s->buckets[k];
        if (n == 0 || n_below + n < rank) {
            n_below += n;
            continue;
        }
        double part = (rank - n_below) / n;
        if (k == 0)
            return part * (double)layout->zero_raw;
        double upper = exp2((double)hist_native_index(layout, k) / PER_OCTAVE) * layout->per_unit;
        return upper * exp2((part - 1) / PER_OCTAVE);
    }
    return (double)layout->upper[s->end > 0 ? s->end - 1 : 0];
}
