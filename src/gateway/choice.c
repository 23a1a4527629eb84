/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/choice.c - which of the plan's candidates is tried next, and whether one is.
 *
 * Another try is made only while nothing of an answer went to the client and all of the request is
 * held. Retries are a share of the requests (config.retry.budget_percent) and a few more, so that
 * an outage is not answered with several times the load.
 */
#include "base/num.h"
#include "base/stat.h"
#include "gateway/exchange.h"

enum { RETRY_AFTER_MAX_S = 86400 };
enum { RETRY_COST = 100, BUDGET_FIRST = 10 * RETRY_COST, BUDGET_MAX = 100 * RETRY_COST };

void choice_init(struct gateway *g)
{
    g->retry_budget = BUDGET_FIRST;
}

/* Answers after which the same request may succeed elsewhere. */
static bool is_retried_status(int status)
{
    return status == 429 || status == 502 || status == 503;
}

static struct admission_port *port_of(struct exchange *x, size_t candidate)
{
    return &x->g->ports[x->plan.candidates[candidate]];
}

static void choose(struct exchange *x, size_t candidate)
{
    x->chosen = x->plan.candidates[candidate];
    x->tried |= 1u << candidate;
}

/* Which candidates: those whose upstream answers, or those whose does not. */
enum health { HEALTH_GOOD, HEALTH_POOR };

static struct breaker *breaker_of(struct exchange *x, size_t candidate)
{
    return &x->g->d.breakers[x->plan.candidates[candidate]];
}

static void give_pass_back(struct exchange *x, size_t candidate)
{
    breaker_report(breaker_of(x, candidate), loop_now(x->g->d.loop), x->pass, BREAKER_NO_VERDICT);
    x->has_pass = false;
}

/* Whether it is the candidate's turn. A pass that is not used is to be given back. */
static bool take_pass(struct exchange *x, size_t candidate, enum health health)
{
    if (x->tried & (1u << candidate))
        return false;
    x->pass = breaker_may_use(breaker_of(x, candidate), loop_now(x->g->d.loop));
    x->has_pass = (x->pass.verdict == BREAKER_NO) == (health == HEALTH_POOR);
    if (!x->has_pass)
        give_pass_back(x, candidate);
    return x->has_pass;
}

typedef bool enter_at_once(struct admission_port *p, struct admission_ticket *t, mono_t now);

/* Takes the first candidate that had no turn yet and that enter lets in at once. */
static bool choose_with_room(struct exchange *x, enum health health, enter_at_once *enter)
{
    for (size_t i = 0; i < x->plan.n_candidates; i++) {
        if (!take_pass(x, i, health))
            continue;
        if (enter(port_of(x, i), &x->ticket, loop_now(x->g->d.loop))) {
            choose(x, i);
            return true;
        }
        give_pass_back(x, i);
    }
    return false;
}

/* Takes the first candidate that lets it wait; the shortest time to come back of those that do not
 * is in the ticket. */
static enum admission_verdict choose_to_wait(struct exchange *x, enum health health,
                                             uint32_t *retry_after_s)
{
    for (size_t i = 0; i < x->plan.n_candidates; i++) {
        enum admission_verdict v;

        if (!take_pass(x, i, health))
            continue;
        v = admission_enter(port_of(x, i), &x->ticket, loop_now(x->g->d.loop));
        if (v != ADMISSION_REJECTED) {
            choose(x, i);
            return v;
        }
        give_pass_back(x, i);
        if (x->ticket.retry_after_s < *retry_after_s)
            *retry_after_s = x->ticket.retry_after_s;
    }
    x->ticket.retry_after_s = *retry_after_s;
    return ADMISSION_REJECTED;
}

/* A place where it need not wait before one where it must, an upstream that answers before one
 * that fails. */
static enum admission_verdict choose_any(struct exchange *x)
{
    uint32_t retry_after_s = UINT32_MAX;
    enum admission_verdict v;

    if (choose_with_room(x, HEALTH_GOOD, admission_try))
        return ADMISSION_GRANTED;
    v = choose_to_wait(x, HEALTH_GOOD, &retry_after_s);
    if (v != ADMISSION_REJECTED)
        return v;
    if (choose_with_room(x, HEALTH_POOR, admission_try))
        return ADMISSION_GRANTED;
    return choose_to_wait(x, HEALTH_POOR, &retry_after_s);
}

static void first_attempt(struct exchange *x, mono_t admitted_at)
{
    if (x->tap)
        x->g->d.tap_ops->admitted(x->tap, admitted_at);
    attempt_begin(x, false);
}

void choice_on_granted(struct admission_ticket *t)
{
    first_attempt(CONTAINER_OF(t, struct exchange, ticket), clock_mono());
}

void choice_first(struct exchange *x)
{
    struct gateway *g = x->g;

    g->retry_budget += (int32_t)x->config->retry.budget_percent;
    if (g->retry_budget > BUDGET_MAX)
        g->retry_budget = BUDGET_MAX;
    x->state = EXCHANGE_ADMIT;
    if (x->is_window_exceeded) /* what is held is enough until the upstream takes some of it */
        http_server_pause(x->client);
    admission_ticket_init(&x->ticket,
                          x->plan.admission_class ? ADMISSION_BATCH : ADMISSION_INTERACTIVE,
                          x->plan.tenant, x->plan.estimated_tokens);
    switch (choose_any(x)) {
    case ADMISSION_GRANTED:
        first_attempt(x, x->plan.told.at);
        break;
    case ADMISSION_QUEUED: /* choice_on_granted goes on */
        deadline_begin(x, x->ticket.max_wait_ns);
        break;
    case ADMISSION_REJECTED:
        answer_refuse(x, TAP_REASON_REJECTED, NULL);
        break;
    }
}

/* --- results --- */

void choice_over(struct exchange *x, enum breaker_result result)
{
    if (x->has_pass)
        breaker_report(&x->g->d.breakers[x->chosen], loop_now(x->g->d.loop), x->pass, result);
    x->has_pass = false;
}

/* --- once more --- */

/* Whether this request can be sent again at all. */
static bool is_possible(const struct exchange *x, enum choice_cause cause,
                        const struct http1_head *head)
{
    if (x->is_ended || x->status != 0 || x->state >= EXCHANGE_STREAM || !x->client || !x->head)
        return false;
    if (x->is_window_exceeded && x->state != EXCHANGE_CONNECT)
        return false; /* a part of the body is out and not held any more */
    if (x->n_retries + 1 >= x->config->retry.max_attempts)
        return false;
    /* What an answer did not come to may have been done all the same. */
    return cause == CHOICE_CUT ? x->plan.is_repeatable : !head || is_retried_status(head->status);
}

static bool take_budget(struct gateway *g)
{
    if (g->retry_budget < RETRY_COST) {
        stat_inc(STAT_RETRIES_OVER_BUDGET);
        return false;
    }
    g->retry_budget -= RETRY_COST;
    return true;
}

/* How long an upstream that is busy wants to be left alone; 0: it does not say, or is not. A date
 * is longer than anyone waits here. */
static int64_t retry_after_ns(const struct http1_head *head)
{
    struct span value;
    uint64_t seconds;

    if (!head || (head->status != 429 && head->status != 503))
        return 0;
    value = http1_field_value(head, SPAN("retry-after"));
    if (value.n == 0)
        return 0;
    if (num_parse_u64(value, &seconds) < 0 || seconds > RETRY_AFTER_MAX_S)
        return INT64_MAX;
    return (int64_t)seconds * NS_PER_S;
}

/* How long to wait before the same upstream is asked again; INT64_MAX: not at all. */
static int64_t same_upstream_wait(const struct exchange *x, int64_t asked_ns)
{
    const struct gateway_retry *c = &x->config->retry;
    int64_t backoff_ns = c->backoff_ns << (x->n_retries < 10 ? x->n_retries : 10);

    if (!c->same_upstream || asked_ns > c->max_wait_ns || backoff_ns > c->max_wait_ns)
        return INT64_MAX;
    /* By chance up to twice as long, so that those who failed together do not return together. */
    backoff_ns += (int64_t)rng_below(&x->g->rng, (uint64_t)backoff_ns + 1);
    return asked_ns > backoff_ns ? asked_ns : backoff_ns;
}

static void let_go(struct exchange *x)
{
    if (x->upstream)
        http_client_abort(x->upstream);
    x->upstream = NULL;
    x->n_retries++;
    stat_inc(STAT_RETRIES);
}

/* Others leave a busy upstream alone, too. */
static void note_busy(struct exchange *x, int64_t busy_ns)
{
    mono_t now = loop_now(x->g->d.loop);
    mono_t until = {INT64_MAX};

    if (busy_ns != INT64_MAX)
        until = mono_add(now, busy_ns);
    breaker_busy(&x->g->d.breakers[x->chosen], now, until);
}

void choice_resume(struct exchange *x)
{
    x->pass = breaker_may_use(&x->g->d.breakers[x->chosen], loop_now(x->g->d.loop));
    x->has_pass = true;
    attempt_begin(x, false);
}

bool choice_again(struct exchange *x, enum choice_cause cause, const struct http1_head *head)
{
    bool has_next = x->tried + 1 < 1u << x->plan.n_candidates;
    int64_t asked_ns = retry_after_ns(head);
    int64_t wait_ns;

    choice_over(x, head && head->status < 500 ? BREAKER_SUCCESS : BREAKER_FAILURE);
    if (asked_ns > 0)
        note_busy(x, asked_ns);
    if (!is_possible(x, cause, head))
        return false;
    wait_ns = same_upstream_wait(x, asked_ns);
    if ((!has_next && wait_ns == INT64_MAX) || !take_budget(x->g))
        return false;
    if (has_next && choose_with_room(x, HEALTH_GOOD, admission_move)) {
        let_go(x);
        attempt_begin(x, false);
        return true;
    }
    if (wait_ns == INT64_MAX) {
        x->g->retry_budget += RETRY_COST; /* it was not used */
        return false;
    }
    let_go(x);
    x->state = EXCHANGE_BACKOFF;
    deadline_begin(x, wait_ns);
    return true;
}
