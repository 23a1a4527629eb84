/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/relabel.c - rules over a label set, one after the other.
 */
#include "scrape/relabel.h"

#include <errno.h>

#include "base/casing.h"
#include "base/num.h"
#include "scrape/md5.h"
#include "scrape/relabel_private.h"

/* A rule at work. */
struct work {
    const struct relabel_rule *rule;
    struct labels labels; /* as they came to the rule, until it changes them */
    struct span value;    /* of source_labels */
    struct arena *arena;
    struct buf buf; /* what replacements make */
};

/* Room in a buffer is used up. */
static int too_big(int r)
{
    return r == -EMSGSIZE ? -E2BIG : r;
}

static int set_label(struct work *w, struct span name, struct span value)
{
    return labels_with(w->arena, w->labels, name, value, &w->labels);
}

/* A copy of what is in the buffer, which is empty then. */
static int take_buf(struct work *w, struct span *ret)
{
    *ret = arena_dup(w->arena, buf_span(&w->buf));
    buf_clear(&w->buf);
    return ret->p ? 0 : -ENOMEM;
}

static int join(struct work *w)
{
    const struct relabel_rule *rule = w->rule;
    int r = 0;

    w->value = rule->n_sources > 0 ? labels_get(w->labels, rule->sources[0]) : SPAN("");
    if (rule->n_sources < 2)
        return 0;
    r = buf_append(&w->buf, w->value);
    for (size_t i = 1; i < rule->n_sources && r == 0; i++) {
        r = buf_append(&w->buf, rule->separator);
        if (r == 0)
            r = buf_append(&w->buf, labels_get(w->labels, rule->sources[i]));
    }
    return r == 0 ? take_buf(w, &w->value) : too_big(r);
}

/* --- actions: 1 goes on, 0 drops, or an error --- */

static int on_match(struct work *w, bool keeps)
{
    int r = pattern_matches(w->rule->pattern, w->value);
    return r < 0 ? r : (r == 1) == keeps;
}

static int act_keep(struct work *w)
{
    return on_match(w, true);
}

static int act_drop(struct work *w)
{
    return on_match(w, false);
}

static bool is_equal(const struct work *w)
{
    return span_eq(labels_get(w->labels, w->rule->target), w->value);
}

static int act_keep_equal(struct work *w)
{
    return is_equal(w);
}

static int act_drop_equal(struct work *w)
{
    return !is_equal(w);
}

/* 1: *ret is the template with its groups; 0: no match, *ret is empty. */
static int expand(struct work *w, struct span s, struct span template, struct span *ret)
{
    int r = pattern_expand(w->rule->pattern, s, template, &w->buf);

    *ret = SPAN("");
    if (r == 0)
        r = take_buf(w, ret) == 0 ? 1 : -ENOMEM;
    return r == -EINVAL ? 0 : too_big(r);
}

static int act_replace(struct work *w)
{
    const struct relabel_rule *rule = w->rule;
    struct span name, value;
    int r = expand(w, w->value, rule->target, &name);

    if (r > 0 && labels_is_label_name(name)) {
        r = expand(w, w->value, rule->replacement, &value);
        if (r > 0)
            r = set_label(w, value.n > 0 ? name : rule->target, value);
    }
    return r < 0 ? r : 1;
}

static int act_hash_mod(struct work *w)
{
    uint8_t digest[MD5_BYTES];
    uint64_t v = 0;
    char text[24];

    md5(w->value, digest);
    for (int i = MD5_BYTES / 2; i < MD5_BYTES; i++)
        v = v << 8 | digest[i];
    struct span value =
        arena_dup(w->arena, span_of(text, num_format_u64(v % w->rule->modulus, text)));
    return value.p && set_label(w, w->rule->target, value) == 0 ? 1 : -ENOMEM;
}

static int act_label_map(struct work *w)
{
    struct labels from = w->labels;
    struct span name;
    int r = 1;

    for (size_t i = 0; i < from.n && r >= 0; i++) {
        r = expand(w, from.at[i].name, w->rule->replacement, &name);
        if (r > 0 && labels_is_label_name(name))
            r = set_label(w, name, from.at[i].value);
    }
    return r < 0 ? r : 1;
}

static int on_names(struct work *w, bool keeps)
{
    struct label *pairs = arena_array(w->arena, w->labels.n, sizeof(*pairs));
    size_t n = 0;

    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < w->labels.n; i++) {
        int r = pattern_matches(w->rule->pattern, w->labels.at[i].name);
        if (r < 0)
            return r;
        if ((r == 1) == keeps)
            pairs[n++] = w->labels.at[i];
    }
    w->labels = (struct labels){pairs, n};
    return 1;
}

static int act_label_drop(struct work *w)
{
    return on_names(w, false);
}

static int act_label_keep(struct work *w)
{
    return on_names(w, true);
}

static int change_case(struct work *w, int (*change)(struct span s, struct buf *out))
{
    struct span value = {0};
    int r = change(w->value, &w->buf);

    if (r == 0)
        r = take_buf(w, &value);
    if (r == 0)
        r = set_label(w, w->rule->target, value);
    return r < 0 ? too_big(r) : 1;
}

static int act_lowercase(struct work *w)
{
    return change_case(w, casing_lower);
}

static int act_uppercase(struct work *w)
{
    return change_case(w, casing_upper);
}

static int (*const acts[RELABEL_ACTION_COUNT_])(struct work *w) = {
    [RELABEL_REPLACE] = act_replace,
    [RELABEL_KEEP] = act_keep,
    [RELABEL_DROP] = act_drop,
    [RELABEL_KEEP_EQUAL] = act_keep_equal,
    [RELABEL_DROP_EQUAL] = act_drop_equal,
    [RELABEL_HASH_MOD] = act_hash_mod,
    [RELABEL_LABEL_MAP] = act_label_map,
    [RELABEL_LABEL_DROP] = act_label_drop,
    [RELABEL_LABEL_KEEP] = act_label_keep,
    [RELABEL_LOWERCASE] = act_lowercase,
    [RELABEL_UPPERCASE] = act_uppercase,
};

int relabel_apply(struct relabel_list rules, struct labels from, struct arena *a,
                  struct labels *ret)
{
    struct work w = {.labels = from, .arena = a};
    int r = 1;

    buf_init(&w.buf, RELABEL_VALUE_MAX);
    for (size_t i = 0; i < rules.n && r > 0; i++) {
        buf_clear(&w.buf);
        w.rule = rules.at[i];
        r = join(&w);
        if (r == 0)
            r = acts[w.rule->action](&w);
    }
    buf_done(&w.buf);
    if (r > 0)
        *ret = w.labels;
    return r;
}
