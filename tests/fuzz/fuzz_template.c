/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template: any text is a template or is refused with its place; a template runs to an end within
 * its limits, and twice to the same.
 * fuzz-links: template
 */
#include "pieces.h"

#include <errno.h>
#include <stdio.h>

#include "template/template.h"

static const struct label labels[] = {
    {SPAN_INIT("instance"), SPAN_INIT("web-1.example.com:9100")},
    {SPAN_INIT("job"), SPAN_INIT("\xc3\xa4pi")},
};

/* As many samples as the expression has bytes; none is an error. */
static int answer(void *ctx, struct span expr, struct arena *a, struct template_sample **ret,
                  size_t *ret_n, struct err *reterr)
{
    static struct fhist_bucket buckets[] = {{.index = 1, .count = 3}};
    static const struct fhist hist = {.count = 3, .sum = 10, .positive = {.at = buckets, .n = 1}};
    (void)ctx;
    if (expr.n == 0)
        return err_set(reterr, -EINVAL, "nothing");
    struct template_sample *at = arena_zalloc(a, expr.n, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < expr.n; i++) {
        at[i].labels = (struct labels){labels, i % 3};
        at[i].v = (double)(unsigned char)expr.p[i] / 3;
        at[i].h = i % 5 == 4 ? &hist : NULL;
    }
    *ret = at;
    *ret_n = expr.n;
    return 0;
}

static void check_place(const struct err *err)
{
    int line, column;
    FUZZ_CHECK(sscanf(err->text, "%d:%d: ", &line, &column) == 2 && line > 0 && column > 0);
}

static int run(const struct template *t, struct buf *out)
{
    struct template_env env = {
        .labels = {labels, 2},
        .external_labels = {labels, 1},
        .external_url = SPAN("http://h/p%20x"),
        .value = 1234.5,
        .now_ms = 1353755652000,
        .query = answer,
    };
    struct err err = {.text = ""};
    int r = template_run(t, &env, out, &err);
    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -E2BIG);
    FUZZ_CHECK(r == 0 || err.text[0] != '\0');
    if (r == -EINVAL)
        check_place(&err);
    FUZZ_CHECK(r != 0 || buf_len(out) <= TEMPLATE_OUTPUT_MAX);
    return r;
}

static void run_twice(const struct template *t)
{
    struct buf one, two;
    buf_init(&one, 1 << 20);
    buf_init(&two, 1 << 20);
    int r = run(t, &one);
    FUZZ_CHECK(run(t, &two) == r);
    FUZZ_CHECK(span_eq(buf_span(&one), buf_span(&two)));
    buf_done(&one);
    buf_done(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct template *t = NULL;
    struct err err = {.text = ""};
    if (size > 2000)
        return 0;
    int r = template_parse(span_of(data, size), &t, &err);
    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -E2BIG);
    if (r != 0) {
        check_place(&err);
        return 0;
    }
    run_twice(t);
    if (template_is_plain(t)) {
        struct buf out;
        buf_init(&out, 1 << 20);
        FUZZ_CHECK(run(t, &out) == 0 && span_eq(buf_span(&out), span_of(data, size)));
        buf_done(&out);
    }
    template_free(t);
    return 0;
}
