/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/label_index.c - see label_index.h.
 */
#include "promql/label_index.h"

#include <errno.h>

void label_index_init(struct label_index *x, struct arena *a, enum label_key key,
                      const struct span *names, size_t n_names)
{
    *x = (struct label_index){.a = a, .key = key, .names = names, .n_names = n_names};
}

static uint64_t key_hash(const struct label_index *x, struct labels l)
{
    if (x->key == LABELS_ALL)
        return labels_hash(l);
    return labels_hash_of(l, x->names, x->n_names, x->key == LABELS_WITHOUT);
}

static bool key_eq(const struct label_index *x, struct labels a, struct labels b)
{
    if (x->key == LABELS_ALL)
        return labels_eq(a, b);
    return labels_eq_of(a, b, x->names, x->n_names, x->key == LABELS_WITHOUT);
}

static void slot_put(struct label_index *x, uint64_t hash, size_t number)
{
    size_t i = (size_t)hash & (x->n_slots - 1);
    while (x->slots[i])
        i = (i + 1) & (x->n_slots - 1);
    x->slots[i] = (uint32_t)number + 1;
}

static int index_grow(struct label_index *x)
{
    size_t cap = x->cap ? 2 * x->cap : 8;
    struct labels *labels = arena_array(x->a, cap, sizeof(*labels));
    uint64_t *hash = arena_array(x->a, cap, sizeof(*hash));
    uint32_t *slots = arena_zalloc(x->a, 2 * cap, sizeof(*slots));
    if (!labels || !hash || !slots || cap > UINT32_MAX / 2)
        return -ENOMEM;
    if (x->n > 0) {
        memcpy(labels, x->labels, x->n * sizeof(*labels));
        memcpy(hash, x->hash, x->n * sizeof(*hash));
    }
    x->labels = labels;
    x->hash = hash;
    x->slots = slots;
    x->n_slots = 2 * cap;
    x->cap = cap;
    for (size_t i = 0; i < x->n; i++)
        slot_put(x, x->hash[i], i);
    return 0;
}

int label_index_get(struct label_index *x, struct labels l, size_t *ret, bool *ret_is_new)
{
    uint64_t hash = key_hash(x, l);
    if (x->n == x->cap && index_grow(x) < 0)
        return -ENOMEM;
    for (size_t i = (size_t)hash & (x->n_slots - 1); x->slots[i]; i = (i + 1) & (x->n_slots - 1)) {
        size_t number = x->slots[i] - 1;
        if (x->hash[number] == hash && key_eq(x, x->labels[number], l)) {
            *ret = number;
            if (ret_is_new)
                *ret_is_new = false;
            return 0;
        }
    }
    x->labels[x->n] = l;
    x->hash[x->n] = hash;
    slot_put(x, hash, x->n);
    *ret = x->n++;
    if (ret_is_new)
        *ret_is_new = true;
    return 0;
}

int label_nameless(struct arena *a, struct labels l, struct labels *ret)
{
    static const struct span of_metric[] = {SPAN_INIT(LABEL_NAME), SPAN_INIT("__type__"),
                                            SPAN_INIT("__unit__")};
    return labels_without(a, l, of_metric, ARRAY_LEN(of_metric), ret);
}

int label_names_with_metric(struct arena *a, const struct span *names, size_t n, struct span **ret,
                            size_t *ret_n)
{
    struct span *all = arena_array(a, n + 1, sizeof(*all));
    size_t at = 0, k = 0;
    if (!all)
        return -ENOMEM;
    while (at < n &&
           memcmp(names[at].p, LABEL_NAME,
                  names[at].n < strlen(LABEL_NAME) ? names[at].n : strlen(LABEL_NAME)) < 0)
        all[k++] = names[at++];
    if (at == n || !span_eq(names[at], SPAN(LABEL_NAME)))
        all[k++] = SPAN(LABEL_NAME);
    while (at < n)
        all[k++] = names[at++];
    *ret = all;
    *ret_n = k;
    return 0;
}
