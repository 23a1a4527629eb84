/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/harvest.h"

#include <errno.h>

#include "base/mem.h"

/* --- lists --- */

void recorded_list_done(struct recorded_list *l, struct recorded_table *t)
{
    for (size_t i = 0; i < l->n; i++)
        recorded_unref(t, l->at[i]);
    mem_free(l->at);
    *l = (struct recorded_list){.at = NULL};
}

int recorded_list_add(struct recorded_list *to, const struct recorded_list *from)
{
    if (from->n == 0)
        return 0;
    struct recorded **at = mem_realloc(to->at, (to->n + from->n) * sizeof(struct recorded *));
    if (!at)
        return -ENOMEM;
    to->at = at;
    for (size_t i = 0; i < from->n; i++)
        to->at[to->n++] = recorded_ref(from->at[i]);
    return 0;
}

int recorded_list_copy(const struct recorded_list *from, struct recorded_list *ret)
{
    *ret = (struct recorded_list){.at = NULL};
    return recorded_list_add(ret, from);
}

/* --- a harvest --- */

int harvest_init(struct harvest *h, struct overlay *o, size_t n_max, int64_t t_ms)
{
    *h = (struct harvest){.overlay = o, .t_ms = t_ms, .mark = ++o->table.mark};
    int r = batch_new(&h->batch);
    if (r < 0 || n_max == 0)
        return r;
    h->list.at = mem_zalloc(n_max, sizeof(struct recorded *));
    if (h->list.at)
        return 0;
    h->batch = batch_free(h->batch);
    return -ENOMEM;
}

static int add_sample(struct harvest *h, struct recorded *s, double v, const struct fhist *hist)
{
    int r = batch_add(h->batch, s->labels, h->t_ms, v, hist);
    return r == 0 ? overlay_add(h->overlay, s, h->t_ms, v, hist) : r;
}

/* Whether the store would take it; what it has already counts as recorded, too. */
static bool is_taken(struct harvest *h, const struct recorded *s, double v, bool is_hist,
                     bool *ret_is_new)
{
    static const char *const refusals[] = {
        [RECORDED_DUPLICATE] = "duplicate sample for timestamp",
        [RECORDED_OLD] = "out of order sample",
    };
    enum recorded_verdict verdict = recorded_judge(s, h->t_ms, v, is_hist);
    *ret_is_new = verdict == RECORDED_TAKEN;
    if (verdict == RECORDED_TAKEN || verdict == RECORDED_SAME)
        return true;
    h->refusal = refusals[verdict];
    return false;
}

int harvest_add(struct harvest *h, struct labels l, double v, const struct fhist *hist)
{
    struct recorded *s;
    bool is_new = false;
    int r = recorded_get(&h->overlay->table, l, &s);
    if (r < 0)
        return r;
    if (s->mark == h->mark)
        r = -EEXIST;
    else if (is_taken(h, s, v, hist != NULL, &is_new)) {
        s->mark = h->mark;
        h->list.at[h->list.n++] = recorded_ref(s);
    }
    if (r == 0 && is_new)
        r = add_sample(h, s, v, hist);
    recorded_unref(&h->overlay->table, s);
    return r;
}

int harvest_end(struct harvest *h, const struct recorded_list *before)
{
    for (size_t i = 0; i < before->n; i++) {
        struct recorded *s = before->at[i];
        if (s->mark == h->mark || h->t_ms <= s->last_ms)
            continue;
        s->mark = h->mark; /* once, should it be there twice */
        int r = add_sample(h, s, series_stale(), NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

int harvest_send(struct harvest *h, const struct rules_ops *ops)
{
    uint64_t number;
    if (h->batch->n == 0) {
        h->batch = batch_free(h->batch);
        return 0;
    }
    int r = ops->write(ops->ctx, h->batch, &number);
    if (r < 0) {
        harvest_cancel(h);
        return r;
    }
    h->batch = NULL;
    overlay_commit(h->overlay, number);
    return 0;
}

void harvest_cancel(struct harvest *h)
{
    overlay_cancel(h->overlay);
    recorded_list_done(&h->list, &h->overlay->table);
    h->batch = batch_free(h->batch);
}
