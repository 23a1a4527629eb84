/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/http1: the end of a head is found alike however it arrives; parts are views into it; what
 * was accepted and is written again is accepted again and means the same.
 */
#include "pieces.h"

#include "base/buf.h"
#include "wire/http1.h"

enum { TEXT_MAX = 1 << 24 };

struct search {
    struct buf text;
    size_t scanned;
    ptrdiff_t end;
    enum http1_error error;
};

static bool feed(void *ctx, struct span part)
{
    struct search *s = ctx;
    FUZZ_CHECK(buf_append(&s->text, part) == 0);
    size_t before = s->scanned;
    s->end = http1_find_end(buf_span(&s->text), &s->scanned, &s->error);
    FUZZ_CHECK(s->scanned >= before && s->scanned <= buf_len(&s->text));
    return s->end == 0;
}

static struct search find(struct span input, uint8_t choice)
{
    struct search s = {.end = 0};
    buf_init(&s.text, TEXT_MAX);
    pieces_each(input, choice, feed, &s);
    buf_done(&s.text);
    return s;
}

static enum http1_error parse(struct span head, bool is_request, struct http1_head *ret)
{
    return is_request ? http1_parse_request(head, ret) : http1_parse_response(head, false, ret);
}

static void check_views(const struct http1_head *h, struct span head)
{
    FUZZ_CHECK(pieces_is_within(h->method, head) && pieces_is_within(h->target, head));
    FUZZ_CHECK(pieces_is_within(h->reason, head) && h->n_fields <= LIMIT_HEAD_FIELDS);
    for (size_t i = 0; i < h->n_fields; i++) {
        FUZZ_CHECK(h->fields[i].name.n > 0 && pieces_is_within(h->fields[i].name, head));
        FUZZ_CHECK(pieces_is_within(h->fields[i].value, head));
        FUZZ_CHECK(http1_field_find(h, h->fields[i].name) != NULL);
        (void)http1_is_nominated(h, h->fields[i].name);
        (void)http1_is_hop_by_hop(h->fields[i].name);
    }
}

static void write_head(struct buf *out, const struct http1_head *h, bool is_request)
{
    int r = is_request ? buf_printf(out, "%.*s %.*s HTTP/1.%d\r\n", SPAN_ARG(h->method),
                                    SPAN_ARG(h->target), h->minor)
                       : buf_printf(out, "HTTP/1.%d %d %.*s\r\n", h->minor, h->status,
                                    SPAN_ARG(h->reason));
    for (size_t i = 0; i < h->n_fields; i++)
        r |= buf_printf(out, "%.*s: %.*s\r\n", SPAN_ARG(h->fields[i].name),
                        SPAN_ARG(h->fields[i].value));
    FUZZ_CHECK((r | buf_append(out, SPAN("\r\n"))) == 0);
}

static void check_rewritten(const struct http1_head *h, bool is_request)
{
    static struct http1_head again;
    struct buf out;
    size_t scanned = 0;
    enum http1_error error;
    buf_init(&out, TEXT_MAX);
    write_head(&out, h, is_request);
    struct span text = buf_span(&out);
    FUZZ_CHECK(http1_find_end(text, &scanned, &error) == (ptrdiff_t)text.n);
    FUZZ_CHECK(parse(text, is_request, &again) == HTTP1_OK);
    FUZZ_CHECK(again.framing == h->framing && again.content_length == h->content_length);
    FUZZ_CHECK(again.keep_alive == h->keep_alive && again.n_fields == h->n_fields);
    FUZZ_CHECK(again.status == h->status && span_eq(again.reason, h->reason));
    FUZZ_CHECK(span_eq(again.target, h->target) && span_eq(again.method, h->method));
    buf_done(&out);
}

static void check_head(struct span head, bool is_request)
{
    static struct http1_head h;
    if (parse(head, is_request, &h) != HTTP1_OK)
        return;
    check_views(&h, head);
    check_rewritten(&h, is_request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input;
    uint8_t choice = pieces_choice(data, size, &input);
    struct search whole = find(input, 0);
    struct search cut = find(input, choice);
    FUZZ_CHECK(whole.end == cut.end && whole.error == cut.error);
    FUZZ_CHECK(whole.end <= (ptrdiff_t)input.n);
    for (int is_request = 0; is_request <= 1; is_request++) {
        static struct http1_head h;
        if (whole.end > 0)
            check_head((struct span){input.p, (size_t)whole.end}, is_request);
        enum http1_error e = parse(input, is_request, &h); /* whatever it is */
        FUZZ_CHECK(whole.end > 0 || e != HTTP1_OK);
    }
    (void)http1_skip_empty(input);
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
