/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/timing.c - see timing.h.
 *
 * Invariants: stamps never go backwards here (a later event with an earlier stamp is clamped and
 * flagged). t_last_token - t_first_token = sum of gaps + sum of hidden_gaps + the blocked gaps.
 */
#include "timing/timing.h"

#include <math.h>
#include <string.h>

enum { STALL_MEDIANS = 10 };
#define STALL_MIN_NS TIMING_STALL_MIN_NS

void timing_init(struct timing *t)
{
    memset(t, 0, offsetof(struct timing, gaps));
    t->_last_gap_ns = -1;
    t->_share_ns = -1;
    gaps_init(&t->gaps);
    gaps_init(&t->hidden_gaps);
    gaps_init(&t->shares);
}

static mono_t in_order(struct timing *t, mono_t at)
{
    if (mono_is_set(t->t_last_event) && at.ns < t->t_last_event.ns) {
        t->is_order_violated = true;
        return t->t_last_event;
    }
    t->t_last_event = at;
    return at;
}

/* --- tokens that the engine told --- */

/* The last arrival is over: its tokens, if any were told, share the time that is theirs. */
static void settle_share(struct gaps *shares, int64_t ns, uint64_t n_tokens)
{
    if (ns < 0 || n_tokens == 0)
        return;
    uint32_t n = n_tokens < UINT16_MAX ? (uint32_t)n_tokens : UINT16_MAX;
    gaps_add(shares, (ns + n / 2) / n, n);
}

/* A new arrival, behind a gap whose tokens stream (else -1). */
static void open_share(struct timing *t, int64_t gap_ns)
{
    if (t->_n_share_tokens > 0) {
        settle_share(&t->shares, t->_share_ns, t->_n_share_tokens);
        t->_share_ns = 0;
        t->_n_share_tokens = 0;
    }
    if (gap_ns < 0)
        t->_share_ns = -1;
    else if (t->_share_ns >= 0)
        t->_share_ns += gap_ns;
}

/* --- arrivals --- */

/* An output event of an arrival of its own. Returns the gap to record, or -1. */
static int64_t close_gap(struct timing *t, mono_t at, bool is_answer, bool is_blocked)
{
    t->n_arrivals++;
    t->_last_gap_ns = -1;
    if (!mono_is_set(t->t_first_token))
        return -1;
    if (is_blocked) {
        t->n_blocked_gaps++;
        open_share(t, -1);
        return -1;
    }
    int64_t gap_ns = mono_diff(at, t->t_last_token);
    bool has_answer = mono_is_set(t->t_first_answer);
    t->_is_last_gap_hidden = !has_answer && !t->has_plain_reasoning;
    t->_last_gap_ns = gap_ns;
    t->_n_over_1s += gap_ns > STALL_MIN_NS;
    open_share(t, t->_is_last_gap_hidden ? -1 : gap_ns);
    if (t->_is_last_gap_hidden)
        gaps_add(&t->hidden_gaps, gap_ns, 1);
    else /* opaque reasoning behind an answer (a signature) carries no tokens of the stream */
        gaps_add(&t->gaps, gap_ns, is_answer || t->has_plain_reasoning);
    return gap_ns;
}

static void join_arrival(struct timing *t, bool is_answer)
{
    t->n_coalesced++;
    if (t->_last_gap_ns < 0)
        return;
    if (t->_is_last_gap_hidden)
        gaps_add_events(&t->hidden_gaps, t->_last_gap_ns, 1);
    else if (is_answer || t->has_plain_reasoning)
        gaps_add_events(&t->gaps, t->_last_gap_ns, 1);
}

struct timing_step timing_event(struct timing *t, mono_t at, uint32_t kinds, bool is_blocked)
{
    return timing_event_counted(t, at, kinds, is_blocked, -1);
}

struct timing_step timing_event_counted(struct timing *t, mono_t at, uint32_t kinds,
                                        bool is_blocked, int64_t n_tokens)
{
    struct timing_step step = {.gap_ns = -1};
    at = in_order(t, at);
    t->n_events++;
    if (t->n_events == 1)
        t->t_first_event = at;
    if (kinds == 0)
        return step;

    bool is_answer = (kinds & ~(uint32_t)OUTPUT_ANY_REASONING) != 0;
    if ((kinds & OUTPUT_REASONING) && !(kinds & OUTPUT_REASONING_SUMMARY))
        t->has_plain_reasoning = true;
    if (t->n_output_events > 0 && at.ns == t->t_last_token.ns)
        join_arrival(t, is_answer);
    else
        step.gap_ns = close_gap(t, at, is_answer, is_blocked);
    if (t->n_output_events == 0)
        t->_is_counted = n_tokens > 0;
    if (t->_is_counted && n_tokens > 0 && (is_answer || t->has_plain_reasoning))
        t->_n_share_tokens += (uint64_t)n_tokens;

    t->n_output_events++;
    t->n_content_events += (kinds & OUTPUT_CONTENT) != 0;
    t->n_answer_events += is_answer;
    t->kinds |= kinds;
    t->t_last_token = at;
    step.is_first_token = t->n_output_events == 1;
    if (step.is_first_token)
        t->t_first_token = at;
    step.is_first_answer = is_answer && t->n_answer_events == 1;
    if (step.is_first_answer)
        t->t_first_answer = at;
    return step;
}

const char *tpot_status_name(enum tpot_status s)
{
    static const char *const names[TPOT_STATUS_COUNT_] = {
        [TPOT_OK] = "ok",
        [TPOT_NOT_STREAM] = "not_stream",
        [TPOT_NO_USAGE] = "no_usage",
        [TPOT_TOO_FEW_TOKENS] = "too_few_tokens",
        [TPOT_ONE_ARRIVAL] = "one_arrival",
        [TPOT_MULTI_CHOICE] = "multi_choice",
        [TPOT_HIDDEN_REASONING] = "hidden_reasoning",
        [TPOT_UNOBSERVED] = "unobserved",
    };
    return (unsigned)s < TPOT_STATUS_COUNT_ ? names[s] : "unknown";
}

void timing_summary_init(struct timing_summary *s, enum tpot_status status)
{
    *s = (struct timing_summary){.tpot_status = status,
                                 .tpot_ns = -1,
                                 .jitter_ns = -1,
                                 .gap_p50_ns = -1,
                                 .gap_p95_ns = -1,
                                 .gap_max_ns = -1,
                                 .tokens_per_event = -1.0};
}

/* Readable reasoning settles it: its tokens streamed. Otherwise any trace of reasoning is hidden.
 */
static bool is_reasoning_hidden(const struct timing *t, int64_t reasoning)
{
    if (t->has_plain_reasoning)
        return false;
    return reasoning > 0 || (t->kinds & (OUTPUT_REASONING_OPAQUE | OUTPUT_REASONING_SUMMARY)) != 0;
}

/* The tokens that streamed, the events that carried them, and where they began. */
struct streamed {
    int64_t n_tokens; /* -1: unknown */
    uint32_t n_events;
    mono_t t_first;
};

static struct streamed streamed_of(const struct timing *t, struct timing_tokens tokens,
                                   bool is_hidden)
{
    if (!is_hidden)
        return (struct streamed){tokens.completion, t->n_output_events, t->t_first_token};
    bool is_known = tokens.completion >= 0 && tokens.reasoning >= 0;
    return (struct streamed){is_known ? tokens.completion - tokens.reasoning : -1,
                             t->n_answer_events, t->t_first_answer};
}

static enum tpot_status tpot(const struct timing *t, const struct streamed *s,
                             struct timing_tokens tokens, bool is_hidden, int64_t *ret_ns)
{
    if (tokens.completion < 0)
        return TPOT_NO_USAGE;
    if (is_hidden && tokens.reasoning < 0)
        return TPOT_HIDDEN_REASONING;
    if (s->n_tokens < 2)
        return TPOT_TOO_FEW_TOKENS;
    if (!mono_is_set(s->t_first) || s->t_first.ns == t->t_last_token.ns)
        return TPOT_ONE_ARRIVAL;
    int64_t steps = s->n_tokens - 1;
    *ret_ns = (mono_diff(t->t_last_token, s->t_first) + steps / 2) / steps;
    return tokens.is_multi_choice ? TPOT_MULTI_CHOICE : TPOT_OK;
}

static int64_t stall_after_ns(int64_t median_ns)
{
    return median_ns > STALL_MIN_NS / STALL_MEDIANS ? median_ns * STALL_MEDIANS : STALL_MIN_NS;
}

int64_t timing_stall_after_ns(const struct timing *t)
{
    if (t->hidden_gaps.n_gaps == 0)
        return stall_after_ns(gaps_quantile(&t->gaps, 0.50)); /* -1 when there are none */
    struct gaps all = t->gaps;
    gaps_merge(&all, &t->hidden_gaps);
    return stall_after_ns(gaps_quantile(&all, 0.50));
}

static void summarise_gaps(const struct timing *t, struct timing_summary *ret)
{
    struct gaps all = t->gaps;
    gaps_merge(&all, &t->hidden_gaps);
    if (all.n_gaps == 0)
        return;
    ret->gap_p50_ns = gaps_quantile(&all, 0.50);
    ret->gap_p95_ns = gaps_quantile(&all, 0.95);
    ret->gap_max_ns = all.max_ns;
    if (all.n_gaps >= 2)
        ret->jitter_ns = ret->gap_p95_ns - ret->gap_p50_ns;

    int64_t threshold_ns = stall_after_ns(ret->gap_p50_ns);
    if (all.max_ns <= threshold_ns)
        return;
    /* Below 100 ms of median the count is exact; above, gaps in the threshold's own bucket are
     * missed, but never the longest one. */
    uint32_t n =
        threshold_ns == STALL_MIN_NS ? t->_n_over_1s : gaps_count_above(&all, threshold_ns);
    ret->n_stalls = n > 0 ? n : 1;
    ret->stall_max_ns = all.max_ns;
}

void timing_summarise(const struct timing *t, struct timing_tokens tokens,
                      struct timing_summary *ret)
{
    timing_summary_init(ret, TPOT_NO_USAGE);
    ret->is_reasoning_hidden = is_reasoning_hidden(t, tokens.reasoning);
    struct streamed s = streamed_of(t, tokens, ret->is_reasoning_hidden);
    ret->tpot_status = tpot(t, &s, tokens, ret->is_reasoning_hidden, &ret->tpot_ns);
    if (s.n_tokens >= 0 && s.n_events > 0)
        ret->tokens_per_event = (double)s.n_tokens / (double)s.n_events;
    summarise_gaps(t, ret);
}

/* One emission is held back, so that time without tokens behind it can still join it. */
struct itl_run {
    double tokens_per_event;
    uint64_t n_events; /* so far */
    uint64_t n_tokens; /* so far, = round(n_events * tokens_per_event) */
    double held_ns;
    uint64_t n_held_tokens;
    void (*emit)(void *ctx, int64_t itl_ns, uint64_t n_tokens);
    void *ctx;
};

static void itl_flush(struct itl_run *run)
{
    if (run->n_held_tokens == 0)
        return;
    run->emit(run->ctx, (int64_t)llround(run->held_ns / (double)run->n_held_tokens),
              run->n_held_tokens);
    run->held_ns = 0.0;
    run->n_held_tokens = 0;
}

static void itl_histogram(struct itl_run *run, const struct gaps *g)
{
    size_t n = gaps_len(g);
    for (size_t i = 0; i < n; i++) {
        struct gaps_bucket b = gaps_at(g, i);
        run->n_events += b.n_events;
        uint64_t total = (uint64_t)llround((double)run->n_events * run->tokens_per_event);
        uint64_t n_tokens = total - run->n_tokens;
        run->n_tokens = total;
        if (n_tokens > 0)
            itl_flush(run);
        run->held_ns += (double)b.middle_ns * (double)b.n_gaps;
        run->n_held_tokens += n_tokens;
    }
}

/* true: the engine told tokens, and these were the samples. */
static bool each_share(const struct timing *t,
                       void (*emit)(void *ctx, int64_t itl_ns, uint64_t n_tokens), void *ctx)
{
    struct gaps shares = t->shares;
    settle_share(&shares, t->_share_ns, t->_n_share_tokens);
    size_t n = gaps_len(&shares);
    for (size_t i = 0; i < n; i++) {
        struct gaps_bucket b = gaps_at(&shares, i);
        emit(ctx, b.middle_ns, b.n_events);
    }
    return n > 0;
}

void timing_each_itl(const struct timing *t, double tokens_per_event,
                     void (*emit)(void *ctx, int64_t itl_ns, uint64_t n_tokens), void *ctx)
{
    if (t->_is_counted && each_share(t, emit, ctx))
        return;
    if (tokens_per_event < 0.0)
        return;
    struct itl_run run = {.tokens_per_event = tokens_per_event, .emit = emit, .ctx = ctx};
    if (t->has_plain_reasoning)
        itl_histogram(&run, &t->hidden_gaps); /* it was readable after all */
    itl_histogram(&run, &t->gaps);
    itl_flush(&run);
}
