/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/usage.c - from what an engine reported to what the definitions mean.
 *
 * A dialect says which counts it keeps beside each other (Anthropic: cached beside prompt; Gemini:
 * thoughts beside candidates). What differs between providers of one dialect is decided by the
 * numbers of the one answer, so that a provider that changes its convention is followed at once.
 */
#include "dialect/dialect.h"

void dialect_answer_init(struct dialect_answer *a)
{
    *a = (struct dialect_answer){
        .usage = USAGE_NONE, .engine = ENGINE_TIMES_NONE, .max_choice_index = -1};
}

void usage_fold(struct usage *into, const struct usage *u)
{
    into->prompt = usage_first_told(u->prompt, into->prompt);
    into->completion = usage_first_told(u->completion, into->completion);
    into->cached = usage_first_told(u->cached, into->cached);
    into->cache_write = usage_first_told(u->cache_write, into->cache_write);
    into->reasoning = usage_first_told(u->reasoning, into->reasoning);
    into->total = usage_first_told(u->total, into->total);
    into->tool_prompt = usage_first_told(u->tool_prompt, into->tool_prompt);
}

static void fold_time(int64_t *into, int64_t ns)
{
    if (ns >= 0)
        *into = ns;
}

void usage_fold_times(struct engine_times *into, const struct engine_times *t)
{
    fold_time(&into->queue_ns, t->queue_ns);
    fold_time(&into->load_ns, t->load_ns);
    fold_time(&into->prefill_ns, t->prefill_ns);
    fold_time(&into->decode_ns, t->decode_ns);
    fold_time(&into->total_ns, t->total_ns);
}

/* A reported count, or -1; one that is negative or too large was reported and cannot be right. */
static int64_t known(int64_t v, bool *is_anomalous)
{
    if (usage_is_count(v))
        return v;
    *is_anomalous = *is_anomalous || v != USAGE_UNTOLD;
    return -1;
}

/* a + b, or -1 when that is more than there can be. */
static int64_t sum(int64_t a, int64_t b)
{
    int64_t r;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &r) ? -1 : r;
}

/* a + b, of which either may be unknown and then counts as 0; -1 when that is more than there can
 * be. */
static int64_t sum_known(int64_t a, int64_t b)
{
    return sum(a > 0 ? a : 0, b > 0 ? b : 0);
}

/* completion counts reasoning beside itself: seen from xAI, Vercel's gateway, and others. */
static bool is_reasoning_beside(const struct dialect_tokens *t, int64_t total, bool *is_anomalous)
{
    if (t->reasoning <= 0 || t->completion < 0)
        return false;
    int64_t without = t->prompt >= 0 ? sum(t->prompt, t->completion) : -1;
    int64_t with = without >= 0 ? sum(without, t->reasoning) : -1;
    if (total >= 0 && total == with)
        return true;
    if (t->reasoning <= t->completion)
        return false;
    if (total >= 0 && total == without)
        *is_anomalous = true; /* its own total says the opposite */
    return true;
}

int64_t usage_generated(const struct dialect *d, const struct usage *raw)
{
    if (!usage_is_count(raw->completion))
        return -1;
    if (d->is_reasoning_beside_completion && raw->reasoning > USAGE_MAX)
        return -1;
    return d->is_reasoning_beside_completion ? sum(raw->completion, sum_known(raw->reasoning, 0))
                                             : raw->completion;
}

/* Gemini leaves out what is 0: no completion yet, where its own total says so. */
static bool is_all_reasoning(const struct dialect_tokens *t, const struct usage *raw)
{
    return raw->completion == USAGE_UNTOLD && t->reasoning > 0 && t->prompt >= 0 &&
           sum(t->prompt, t->reasoning) == raw->total;
}

struct dialect_tokens dialect_normalise(const struct dialect *d, const struct usage *raw,
                                        bool *ret_is_anomalous)
{
    bool is_anomalous = false;
    struct dialect_tokens t = {
        .prompt = known(raw->prompt, &is_anomalous),
        .completion = known(raw->completion, &is_anomalous),
        .cached = known(raw->cached, &is_anomalous),
        .cache_write = known(raw->cache_write, &is_anomalous),
        .reasoning = known(raw->reasoning, &is_anomalous),
    };
    if (d->is_cached_beside_prompt && t.prompt >= 0) {
        t.prompt = sum(t.prompt, sum_known(t.cached, t.cache_write));
        is_anomalous = is_anomalous || t.prompt < 0;
    }
    int64_t tool_prompt = known(raw->tool_prompt, &is_anomalous);
    if (tool_prompt > 0 && t.prompt >= 0) {
        t.prompt = sum(t.prompt, tool_prompt);
        is_anomalous = is_anomalous || t.prompt < 0;
    }
    if (t.cached >= 0 && t.prompt >= 0 && t.cached > t.prompt) {
        t.cached = -1;
        is_anomalous = true;
    }
    int64_t uncached = t.prompt - (t.cached > 0 ? t.cached : 0);
    if (t.cache_write >= 0 && t.prompt >= 0 && t.cache_write > uncached) {
        t.cache_write = -1;
        is_anomalous = true;
    }
    if (d->is_reasoning_beside_completion && is_all_reasoning(&t, raw))
        t.completion = 0;
    bool is_beside = d->is_reasoning_beside_completion
                         ? t.reasoning > 0 && t.completion >= 0
                         : is_reasoning_beside(&t, raw->total, &is_anomalous);
    if (is_beside) {
        t.completion = sum(t.completion, t.reasoning);
        is_anomalous = is_anomalous || t.completion < 0;
    }
    *ret_is_anomalous = is_anomalous;
    return t;
}
