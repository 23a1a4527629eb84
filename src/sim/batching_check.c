/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/batching_check.c - tokens, blocks and requests add up, or what does not.
 */
#include "sim/batching_inside.h"

struct audit {
    int64_t n_waiting, n_running, n_own, n_shared, n_computed, n_planned;
    mono_t t_queued; /* of the request before */
};

static const char *check_request(const struct batching *b, const struct batching_request *r,
                                 struct audit *a)
{
    if (r->t_queued.ns < a->t_queued.ns)
        return "order: somebody who came later is before another";
    a->t_queued = r->t_queued;
    a->n_own += r->_held.n - r->_held.n_shared;
    a->n_shared += r->_held.n_shared;
    a->n_computed += r->n_computed;
    a->n_planned += r->_planned;
    if (r->_held.n != batching_blocks(b, r->_computed + r->_planned))
        return "blocks: a request holds others than its tokens need";
    if (r->n_computed != r->_computed - r->n_cached + r->n_recomputed)
        return "tokens: those computed for a request are not those it has";
    if (r->_computed + r->_planned > batching_known(r))
        return "tokens: more are computed than known";
    return NULL;
}

static const char *check_list(const struct batching *b, const struct list *head,
                              enum batching_state state, struct audit *a, int64_t *ret_n)
{
    *ret_n = 0;
    for (struct list *at = head->next; at != head; at = at->next) {
        struct batching_request *r = batching_of(at);
        const char *wrong = r->state == state ? check_request(b, r, a) : "a request's state";

        if (wrong)
            return wrong;
        ++*ret_n;
    }
    return NULL;
}

const char *batching_check(const struct batching *b)
{
    const struct batching_counts *c = &b->counts;
    struct audit a = {0};
    const char *wrong = check_list(b, &b->running, BATCHING_RUNNING, &a, &a.n_running);

    if (!wrong)
        wrong = check_list(b, &b->waiting, BATCHING_WAITING, &a, &a.n_waiting);
    if (!wrong)
        wrong = kv_blocks_check(&b->blocks, a.n_own, a.n_shared);
    if (wrong)
        return wrong;
    if (a.n_running != c->n_running || a.n_waiting != c->n_waiting)
        return "requests: the lists and their lengths differ";
    if (c->n_arrived != c->n_running + c->n_waiting + c->n_finished + c->n_left)
        return "requests: not all who came are here, finished or gone";
    if (c->n_computed != a.n_computed + b->n_computed_gone)
        return "tokens: iterations computed others than requests got";
    if (a.n_planned + b->n_planned_gone != b->n_planned)
        return "tokens: the iteration under way computes others than requests get";
    if (b->n_planned > b->n_budget)
        return "tokens: over the budget";
    return NULL;
}
