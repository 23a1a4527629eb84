/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile_values.c - values of a scrape file: paths, counts, sizes, durations, lists of
 * texts.
 */
#include <errno.h>

#include "base/num.h"
#include "collect/jobfile_private.h"
#include "series/duration.h"

void jobfile_refuse(struct file_reading *f, const struct file_refusal *rows, size_t n,
                    const struct doc_key *keys)
{
    for (size_t i = 0; i < n; i++) {
        if (!keys[i].key)
            continue;
        struct err *e = doc_error(&f->doc, keys[i].key);
        (void)err_set(e, -ENOTSUP, "\"%s\" is not supported", rows[i].key);
        err_hint(e, "%s", rows[i].hint);
    }
}

bool jobfile_is_null(struct file_reading *f, const struct yaml_node *node, const char *what)
{
    if (!yaml_is_null(node))
        return false;
    struct err *e = doc_error(&f->doc, node);
    (void)err_set(e, -EINVAL, "there is nothing where %s is expected", what);
    err_hint(e, "write it, or take the \"-\" away");
    return true;
}

struct texts {
    struct file_reading *f;
    const struct doc_key *k;
};

static int read_text(void *ctx, const struct yaml_node *node, void *ret)
{
    struct texts *t = ctx;
    const struct doc_key k = {t->k->key, node};

    return doc_text(&t->f->doc, &k, ret);
}

int jobfile_texts(struct file_reading *f, const struct doc_key *k, const struct span **ret,
                  size_t *ret_n)
{
    struct texts t = {f, k};

    return doc_list(&f->doc, k, sizeof(**ret), read_text, &t, ret, ret_n);
}

int jobfile_path(struct file_reading *f, const struct doc_key *k, struct span *ret)
{
    struct span s = SPAN("");
    int r = doc_text(&f->doc, k, &s);

    if (r < 0 || s.n == 0)
        return r;
    if (s.p[0] == '/' || f->dir.n == 0) {
        *ret = s;
        return 0;
    }
    char *joined = arena_zalloc(f->doc.arena, f->dir.n + s.n + 1, 1);
    if (!joined)
        return -ENOMEM;
    memcpy(joined, f->dir.p, f->dir.n);
    memcpy(joined + f->dir.n, s.p, s.n);
    *ret = span_of(joined, f->dir.n + s.n);
    return 0;
}

void jobfile_count(struct file_reading *f, const struct doc_key *k, uint64_t *ret)
{
    int64_t n = 0;

    doc_whole(&f->doc, k, &n);
    if (n < 0) {
        struct err *e = doc_error(&f->doc, k->value);
        (void)err_set(e, -EINVAL, "\"%s\" is below 0", k->key->text);
        err_hint(e, "0 is no limit");
    } else if (k->value) {
        *ret = (uint64_t)n;
    }
}

#define DURATION_MAX_MS (INT64_C(365) * 24 * 3600 * 1000)

void jobfile_duration(struct file_reading *f, const struct doc_key *k, int64_t *ret_ms)
{
    int64_t ms = 0;

    doc_duration(&f->doc, k, duration_parse, &ms);
    if (ms > DURATION_MAX_MS) {
        struct err *e = doc_error(&f->doc, k->value);
        (void)err_set(e, -EINVAL, "\"%s\" is longer than a year", k->key->text);
        err_hint(e, "10s is usual");
    } else if (ms > 0) {
        *ret_ms = ms;
    }
}

void jobfile_bytes(struct file_reading *f, const struct doc_key *k, uint64_t *ret)
{
    static const char units[] = "KMGTPE";
    char shown[ERR_LIST_SHOWN_MAX];
    uint64_t n = 0, factor = 1;
    size_t n_digits = 0;

    if (!k->value || !doc_is(&f->doc, k, YAML_NODE_SCALAR))
        return;
    struct span text = yaml_span(k->value), left = text;
    while (n_digits < left.n && left.p[n_digits] >= '0' && left.p[n_digits] <= '9')
        n_digits++;
    struct span digits = span_take(&left, n_digits);
    const char *unit = left.n > 1 ? memchr(units, left.p[0], sizeof(units) - 1) : NULL;
    if (unit) {
        factor = UINT64_C(1) << (10 * (unit - units + 1));
        (void)span_take(&left, 1);
        if (span_eq(left, SPAN("iB")))
            (void)span_take(&left, 1);
    }
    bool is_good = left.n == 0 ? !unit : span_eq(left, SPAN("B"));
    if (is_good && num_parse_u64(digits, &n) == 0 && !__builtin_mul_overflow(n, factor, &n)) {
        *ret = n;
        return;
    }
    struct err *e = doc_error(&f->doc, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is no size: \"%s\"", k->key->text,
                  err_list_shown(text, shown));
    err_hint(e, "whole numbers with B, KB, MB, GB, which are powers of 1024: 10MB; 0 is no limit");
}
