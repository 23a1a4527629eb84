/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - made-up pages in either format: families of all types, texts with everything that may
 * be in them, odd blanks; and the same with bytes gone wrong.
 */
#ifndef PAGES_H
#define PAGES_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/num.h"
#include "base/rng.h"
#include "scrape/text.h"

#include "harness.h"

struct pages {
    struct rng rng;
    struct buf out;
    enum text_format format;
};

static inline void pages_put(struct pages *p, const char *text)
{
    assert_int_equal(buf_append(&p->out, span_cstr(text)), 0);
}

static inline const char *pages_pick(struct pages *p, const char *const *of, size_t n)
{
    return of[rng_below(&p->rng, n)];
}
#define PAGES_PICK(p, ...)                                                                         \
    pages_pick(p, (const char *const[]){__VA_ARGS__},                                              \
               ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static inline bool pages_one_in(struct pages *p, uint64_t n)
{
    return rng_below(&p->rng, n) == 0;
}

static inline const char *pages_name(struct pages *p)
{
    return PAGES_PICK(p, "a", "up", "vllm:num_requests_running", "http_requests_total", "a_total",
                      "lag_sum", "a_bucket", "a_count", "x:y:z", "_", "nv_inference_count");
}

static inline void pages_put_blank(struct pages *p)
{
    if (pages_one_in(p, 12))
        pages_put(p, PAGES_PICK(p, " ", "  ", "\t", " \t "));
}

static inline void pages_put_text(struct pages *p)
{
    for (uint64_t n = rng_below(&p->rng, 6); n > 0; n--)
        pages_put(p, PAGES_PICK(p, "x", "0.5", "meta-llama/Llama-3.1-8B", "\\\\", "\\\"", "\\n",
                                "{", "}", ",", "=", "#", " ", "\xc3\xbc", "\xe6\xbc\xa2", "\\d",
                                "+Inf", "a text of more than sixteen bytes"));
}

static inline void pages_put_labels(struct pages *p)
{
    static const char *const names[] = {"le", "model_name", "engine", "a", "_b", "Z9", "quantile"};
    uint64_t n = rng_below(&p->rng, 5), at = rng_below(&p->rng, ARRAY_LEN(names));
    pages_put(p, "{");
    for (uint64_t i = 0; i < n; i++) {
        pages_put_blank(p);
        pages_put(p, pages_one_in(p, 40) ? names[0] : names[(at + i) % ARRAY_LEN(names)]);
        pages_put_blank(p);
        pages_put(p, "=");
        pages_put_blank(p);
        pages_put(p, "\"");
        pages_put_text(p);
        pages_put(p, "\"");
        pages_put_blank(p);
        if (i + 1 < n || pages_one_in(p, 6))
            pages_put(p, ",");
    }
    pages_put(p, "}");
}

static inline void pages_put_value(struct pages *p)
{
    char text[400];
    uint64_t n = rng_u64(&p->rng) >> rng_below(&p->rng, 64);
    switch (rng_below(&p->rng, 5)) {
    case 0:
        text[num_format_u64(n, text)] = '\0';
        break;
    case 1:
        (void)snprintf(text, sizeof(text), "%.*g", 1 + (int)rng_below(&p->rng, 17),
                       (double)n / (double)(1 + rng_below(&p->rng, 1000000)));
        break;
    case 2:
        (void)snprintf(text, sizeof(text), "-%.6f", (double)n / 1e9);
        break;
    case 3:
        (void)snprintf(text, sizeof(text), "%.1f", (double)(n >> 20));
        break;
    default:
        pages_put(p, PAGES_PICK(p, "NaN", "+Inf", "-Inf", "nan", "inf", "0", "1.", ".5", "1e-400",
                                "9223372036854775794", "1E+06", "-0"));
        return;
    }
    pages_put(p, text);
}

static inline void pages_put_time(struct pages *p)
{
    char text[400];
    uint64_t n = rng_below(&p->rng, 4000000000000);
    if (p->format == TEXT_OPENMETRICS)
        (void)snprintf(text, sizeof(text), " %.3f", (double)n / 1000);
    else
        (void)snprintf(text, sizeof(text), " %llu", (unsigned long long)n);
    pages_put(p, text);
}

static inline void pages_put_sample(struct pages *p)
{
    pages_put(p, pages_name(p));
    pages_put_blank(p);
    if (!pages_one_in(p, 5))
        pages_put_labels(p);
    pages_put(p, " ");
    pages_put_blank(p);
    pages_put_value(p);
    if (pages_one_in(p, 6))
        pages_put_time(p);
    if (p->format == TEXT_OPENMETRICS && pages_one_in(p, 6)) {
        pages_put(p, " # ");
        pages_put_labels(p);
        pages_put(p, " ");
        pages_put_value(p);
        if (pages_one_in(p, 2))
            pages_put_time(p);
    }
}

static inline void pages_put_comment(struct pages *p)
{
    const char *word = PAGES_PICK(p, "HELP", "TYPE", "HELP", "TYPE", "UNIT", "NOTE");
    pages_put(p, "# ");
    pages_put(p, word);
    pages_put(p, " ");
    pages_put(p, pages_name(p));
    if (word[0] == 'T') {
        pages_put(p, " ");
        pages_put(p, PAGES_PICK(p, "counter", "gauge", "histogram", "summary"));
    } else if (!pages_one_in(p, 5)) {
        pages_put(p, " ");
        pages_put_text(p);
    }
}

/* The page is in p->out then. */
static inline void pages_make(struct pages *p, uint64_t n_lines)
{
    buf_clear(&p->out);
    for (uint64_t i = 0; i < n_lines; i++) {
        if (pages_one_in(p, 4))
            pages_put_comment(p);
        else if (!pages_one_in(p, 30))
            pages_put_sample(p);
        pages_put(p, pages_one_in(p, 30) ? "\r\n" : "\n");
    }
    if (p->format == TEXT_OPENMETRICS)
        pages_put(p, "# EOF\n");
}

/* Some bytes changed, taken out or put in; text has room for size bytes. Returns the new length. */
static inline size_t pages_spoil(struct pages *p, char *text, size_t n, size_t size)
{
    static const char bytes[] = "\n\"\\{},= #\t\r1ae.+-_x\xc3";
    for (uint64_t k = 1 + rng_below(&p->rng, 8); k > 0 && n > 1; k--) {
        size_t at = (size_t)rng_below(&p->rng, n);
        char c = bytes[rng_below(&p->rng, sizeof(bytes) - 1)];
        uint64_t way = rng_below(&p->rng, 3);
        if (way == 0) {
            text[at] = c;
        } else if (way == 1) {
            memmove(text + at, text + at + 1, --n - at);
        } else if (n < size) {
            memmove(text + at + 1, text + at, n++ - at);
            text[at] = c;
        }
    }
    return n;
}

#endif
