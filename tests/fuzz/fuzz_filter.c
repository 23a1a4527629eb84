/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/filter: what comes out does not depend on the division into reads, and is the input less
 * the removed events: a client's parser sees the same events as before, without the unwanted ones.
 */
#include "pieces.h"

#include "dialect/dialect.h"
#include "policy/filter.h"
#include "wire/sse.h"

struct result {
    struct filter filter;
    char *out;
    size_t n;
    size_t cap;
};

static const struct dialect *chat(void)
{
    return dialect_by_name(SPAN("openai-chat"));
}

static bool take(struct result *r, struct span in, bool is_last)
{
    struct span out[3];
    do {
        size_t n = filter_next(&r->filter, &in, is_last, out, 3);
        FUZZ_CHECK(n <= 3);
        for (size_t i = 0; i < n; i++) {
            FUZZ_CHECK(out[i].n <= r->cap - r->n);
            memcpy(r->out + r->n, out[i].p, out[i].n);
            r->n += out[i].n;
        }
    } while (in.n > 0);
    return true;
}

static bool feed(void *ctx, struct span part)
{
    return take(ctx, part, false);
}

static struct result run(struct span input, uint8_t choice)
{
    struct result r = {.cap = input.n, .out = mem_must(mem_alloc(input.n + 1))};
    filter_init(&r.filter, chat()->may_be_bare_usage, chat()->is_bare_usage);
    pieces_each(input, choice, feed, &r);
    (void)take(&r, (struct span){0}, true);
    filter_done(&r.filter);
    return r;
}

/* The next event of the stream; false: no more. */
static bool next_event(struct sse_parser *p, struct span *in, bool *is_finished, struct event *ret)
{
    enum event_status status = sse_next(p, in, ret);
    if (status == EVENT_MORE && !*is_finished) {
        *is_finished = true;
        status = sse_finish(p, ret);
    }
    return status == EVENT_WHOLE;
}

static void check_events(struct span before, struct span after, unsigned n_removed)
{
    struct sse_parser a;
    struct sse_parser b;
    struct event x;
    struct event y;
    bool is_a_finished = false;
    bool is_b_finished = false;
    unsigned n = 0;
    sse_init(&a, 1 << 20);
    sse_init(&b, 1 << 20);
    while (next_event(&a, &before, &is_a_finished, &x)) {
        if (chat()->is_bare_usage(x.data) && chat()->may_be_bare_usage(x.data)) {
            n++;
            continue;
        }
        FUZZ_CHECK(next_event(&b, &after, &is_b_finished, &y));
        FUZZ_CHECK(span_eq(x.data, y.data) && span_eq(x.name, y.name));
    }
    FUZZ_CHECK(!next_event(&b, &after, &is_b_finished, &y));
    FUZZ_CHECK(n == n_removed);
    sse_done(&a);
    sse_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input;
    uint8_t choice = pieces_choice(data, size, &input);
    struct result whole = run(input, 0);
    struct result cut = run(input, choice);
    FUZZ_CHECK(whole.n == cut.n && memcmp(whole.out, cut.out, whole.n) == 0);
    FUZZ_CHECK(whole.filter.n_removed == cut.filter.n_removed);
    FUZZ_CHECK(whole.filter.n_removed > 0 || whole.n == input.n);
    if (size < 60000)
        check_events(input, span_of(whole.out, whole.n), whole.filter.n_removed);
    mem_free(whole.out);
    mem_free(cut.out);
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
