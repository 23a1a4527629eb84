/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/search: a query string becomes a question that the store takes, or an error that names what
 * is wrong; the key of a row is taken again by the same question.
 * fuzz-links: api
 */
#include "pieces.h"

#include <errno.h>
#include <math.h>

#include "api/search.h"
#include "base/buf.h"

static const wall_t now = {INT64_C(1796004600000000)};

static void check_question(const struct rows_question *q)
{
    FUZZ_CHECK(q->limit >= 1 && q->limit <= SEARCH_LIMIT_MAX);
    FUZZ_CHECK(q->from.us >= 0 && q->from.us <= q->to.us);
    FUZZ_CHECK(q->n_conditions <= SEARCH_CONDITIONS_MAX);
    FUZZ_CHECK(isfinite(q->after_number));
    for (size_t i = 0; i < q->n_conditions; i++) {
        const struct rows_condition *c = &q->conditions[i];
        FUZZ_CHECK(c->field >= record_fields && c->field < record_fields + record_n_fields);
        FUZZ_CHECK(!isnan(c->number));
    }
}

static void check_key(struct arena *a, const struct search *s, struct span query)
{
    struct record r;
    struct buf text;
    struct params p;
    struct search again;
    char key[SEARCH_KEY_BYTES];
    record_init(&r);
    r.ttft_ns = 5;
    if (s->question.order && strcmp(s->question.order->name, "ttft_ms") != 0)
        return;
    search_key(s, 77, &r, key);
    buf_init(&text, 1 << 24);
    FUZZ_CHECK(buf_printf(&text, "after=%s&", key) == 0);
    FUZZ_CHECK(query.n == 0 || buf_append(&text, query) == 0);
    if (params_parse(a, buf_span(&text), SPAN(""), &p) == 0) {
        FUZZ_CHECK(search_parse(&p, now, a, &again, NULL) == 0);
        FUZZ_CHECK(again.question.after == 77);
        FUZZ_CHECK(again.question.n_conditions == s->question.n_conditions);
    }
    buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span query = span_of((const char *)data, size);
    struct arena a;
    struct params p;
    struct search s;
    struct err err = {0};
    arena_init(&a, NULL);
    if (params_parse(&a, query, SPAN(""), &p) == 0) {
        int r = search_parse(&p, now, &a, &s, &err);
        FUZZ_CHECK(r == 0 || (r == -EINVAL && err.text[0] != '\0'));
        if (r == 0) {
            check_question(&s.question);
            check_key(&a, &s, query);
        }
    }
    arena_done(&a);
    return 0;
}
