/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/target.c - a target's life, and its answers.
 */
#include "collect/target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stat.h"
#include "collect/target_private.h"

enum { STATUS_OK = 200, SECRETS_MAX = 1 << 20 };

static const char *const own_names[OWN_COUNT_] = {
    [OWN_UP] = "up",
    [OWN_DURATION] = "scrape_duration_seconds",
    [OWN_SAMPLES] = "scrape_samples_scraped",
    [OWN_KEPT] = "scrape_samples_post_metric_relabeling",
    [OWN_ADDED] = "scrape_series_added",
};

/* --- its life --- */

/* A series about the target: __name__ and perhaps one label more. */
static int hold(struct target *t, const char *name, const char *reason, struct present_series **ret)
{
    struct label pairs[] = {{SPAN(LABEL_NAME), span_cstr(name)},
                            {SPAN("reason"), span_cstr(reason)}};
    struct labels own = {pairs, reason ? 2 : 1}, labels;
    struct arena a;

    arena_init(&a, NULL);
    int r = metricpage_labels(t->job, t->labels, own, &a, &labels);
    if (r == 0)
        r = present_hold(&t->live, labels, ret);
    arena_done(&a);
    return r;
}

static int make(struct target *t, struct span address, struct labels group,
                struct labels discovered, struct err *reterr)
{
    int r = target_labels_make(t, address, group, discovered, reterr);

    if (r != 0)
        return r;
    for (int i = 0; i < OWN_COUNT_ && r == 0; i++)
        r = hold(t, own_names[i], NULL, &t->own[i]);
    return r == 0 ? metricpage_new(t->job, t->labels, &t->page) : r;
}

int target_new(const struct scrape_job *j, struct span address, struct labels group,
               struct labels discovered, struct target **ret, struct err *reterr)
{
    struct target *t = mem_zalloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->job = j;
    arena_init(&t->arena, NULL);
    present_init(&t->live);
    buf_init(&t->secret, SECRETS_MAX);
    int r = make(t, address, group, discovered, reterr);
    if (r != 0) {
        (void)target_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

struct target *target_free(struct target *t)
{
    if (!t)
        return NULL;
    t->page = metricpage_free(t->page);
    present_done(&t->live);
    buf_done(&t->secret);
    arena_done(&t->arena);
    mem_free(t);
    return NULL;
}

uint64_t target_hash(const struct target *t)
{
    const struct label pair = {t->url, t->job->name};

    return labels_hash(t->labels) ^ labels_hash((struct labels){&pair, 1});
}

bool target_is_same(const struct target *a, const struct target *b)
{
    return span_eq(a->job->name, b->job->name) && span_eq(a->url, b->url) &&
           labels_eq(a->labels, b->labels);
}

#define SWAP(type, a, b)                                                                           \
    do {                                                                                           \
        type swap_ = (a);                                                                          \
        (a) = (b);                                                                                 \
        (b) = swap_;                                                                               \
    } while (0)

void target_take(struct target *to, struct target *from)
{
    SWAP(struct metricpage *, to->page, from->page);
    SWAP(struct present, to->live, from->live);
    for (int i = 0; i < OWN_COUNT_; i++)
        SWAP(struct present_series *, to->own[i], from->own[i]);
    SWAP(struct present_series *, to->fault, from->fault);
    SWAP(struct target_state, to->state, from->state);
    SWAP(bool, to->was_up, from->was_up);
    memcpy(to->words, from->words, sizeof(to->words));
    to->state.words = to->state.words ? to->words : NULL;
    metricpage_rejob(to->page, to->job);
    metricpage_rejob(from->page, from->job);
}

const struct scrape_job *target_job(const struct target *t)
{
    return t->job;
}

struct span target_url(const struct target *t)
{
    return t->url;
}

struct labels target_labels(const struct target *t)
{
    return t->labels;
}

struct labels target_discovered(const struct target *t)
{
    return t->discovered;
}

int64_t target_interval_ms(const struct target *t)
{
    return t->interval_ms;
}

int64_t target_wait_ms(const struct target *t)
{
    int64_t n = t->state.is_absent ? TARGET_ABSENT_MS / t->interval_ms : 1;

    return (n > 1 ? n : 1) * t->interval_ms;
}

int64_t target_timeout_ms(const struct target *t)
{
    return t->timeout_ms;
}

int64_t target_offset_ms(const struct target *t)
{
    return (int64_t)(target_hash(t) % (uint64_t)t->interval_ms);
}

struct target_state target_state(const struct target *t)
{
    struct target_state s = t->state;

    if (s.is_absent)
        return s;
    s.n_mistakes = metricpage_n_mistakes(t->page);
    s.mistakes = metricpage_mistakes(t->page);
    s.engine = metricpage_engine(t->page);
    return s;
}

/* --- answers --- */

struct outcome {
    const char *fault; /* NULL: it is up */
    struct metricpage_counts counts;
    int64_t t_ms, took_ns;
};

static void say(struct target *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void say(struct target *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(t->words, sizeof(t->words), fmt, ap);
    va_end(ap);
}

static int tell_own(struct target *t, const struct outcome *o, struct batch *out)
{
    double values[OWN_COUNT_] = {
        [OWN_UP] = o->fault ? 0 : 1,
        [OWN_DURATION] = (double)o->took_ns / 1e9,
        [OWN_SAMPLES] = (double)o->counts.n_samples,
        [OWN_KEPT] = (double)o->counts.n_kept,
        [OWN_ADDED] = (double)o->counts.n_added,
    };
    int r = 0;

    present_begin(&t->live, out);
    present_let_go(t->fault);
    t->fault = NULL;
    for (int i = 0; i < OWN_COUNT_ && r == 0; i++)
        r = present_tell(&t->live, t->own[i], o->t_ms, values[i], true, out);
    if (r == 0 && o->fault)
        r = hold(t, "scrape_fault", o->fault, &t->fault);
    if (r == 0 && o->fault)
        r = present_tell(&t->live, t->fault, o->t_ms, 1, true, out);
    if (r == 0)
        r = present_end(&t->live, o->t_ms, out);
    if (r < 0)
        present_abort(&t->live, out);
    return r;
}

static void set_state(struct target *t, const struct outcome *o)
{
    if (!t->state.is_known || t->state.is_up != !o->fault)
        stat_inc(STAT_TARGET_CHANGES);
    t->was_up = t->was_up || !o->fault;
    t->state = (struct target_state){
        .is_known = true,
        .is_up = !o->fault,
        .fault = o->fault,
        .words = o->fault ? t->words : NULL,
        .t_ms = o->t_ms,
        .took_ns = o->took_ns,
        .n_samples = o->counts.n_samples,
        .n_kept = o->counts.n_kept,
    };
}

static int finish(struct target *t, const struct outcome *o, struct batch *out, size_t n_before)
{
    int r = o->fault ? metricpage_gone(t->page, o->t_ms, out) : 0;

    if (r == 0)
        r = tell_own(t, o, out);
    if (r < 0)
        out->n = n_before;
    else
        set_state(t, o);
    return r;
}

static const char *fault_of(int error)
{
    static const struct {
        int error;
        const char *fault;
    } faults[] = {
        {-EHOSTUNREACH, "name"}, {-ECONNREFUSED, "refused"},
        {-ECONNRESET, "reset"},  {-ETIMEDOUT, "timeout"},
        {-EKEYREJECTED, "tls"},  {-EPROTO, "tls"},
        {-EBADMSG, "body"},      {-EMSGSIZE, "limit"},
        {-ELOOP, "redirect"},    {-EPROTONOSUPPORT, "redirect"},
    };

    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        if (faults[i].error == error)
            return faults[i].fault;
    return "network";
}

/* What is wrong before the body is looked at; NULL: nothing. */
static const char *judge(struct target *t, const struct web_reply *r)
{
    if (r->error < 0) {
        say(t, "%.*s", SPAN_ARG(r->words));
        return fault_of(r->error);
    }
    if (r->status != STATUS_OK) {
        say(t, "it answered with status %d", r->status);
        return "status";
    }
    if (r->is_cut) {
        say(t, "the body is larger than %llu bytes",
            t->job->limits.body_bytes > 0 ? (unsigned long long)t->job->limits.body_bytes
                                          : (unsigned long long)TARGET_BODY_MAX);
        return "limit";
    }
    return NULL;
}

/* It says that there is no such page, or has another one there. */
static bool is_absent(const struct target *t, const struct web_reply *r, const char *fault)
{
    enum { STATUS_NOT_FOUND = 404, STATUS_NOT_ALLOWED = 405, STATUS_NOT_IMPLEMENTED = 501 };
    bool is_none = r->status == STATUS_NOT_FOUND || r->status == STATUS_NOT_ALLOWED ||
                   r->status == STATUS_NOT_IMPLEMENTED;

    return t->job->is_optional && !t->was_up && r->error == 0 && fault &&
           (is_none || strcmp(fault, "body") == 0);
}

static int finish_absent(struct target *t, const struct outcome *o, struct batch *out)
{
    int r = target_end(t, o->t_ms, out);

    if (r == 0)
        t->state = (struct target_state){
            .is_known = true, .is_absent = true, .words = t->words, .t_ms = o->t_ms};
    return r;
}

int target_reply(struct target *t, const struct web_reply *r, int64_t t_ms, struct batch *out)
{
    struct outcome o = {
        .fault = judge(t, r), .t_ms = t_ms, .took_ns = r->total_ns > 0 ? r->total_ns : 0};
    size_t n_before = out->n;
    const char *words = "";
    int e = 0;

    if (!o.fault)
        e = metricpage_read(t->page, r->body, text_format_of(r->content_type), t_ms, out, &o.counts,
                            &words);
    if (e == -ENOMEM)
        return e;
    if (e < 0) {
        say(t, "%s", words);
        o.fault = e == -EBADMSG ? "body" : e == -E2BIG ? "limit" : "relabel";
    }
    return is_absent(t, r, o.fault) ? finish_absent(t, &o, out) : finish(t, &o, out, n_before);
}

int target_fail(struct target *t, const char *fault, const char *words, int64_t t_ms,
                struct batch *out)
{
    struct outcome o = {.fault = fault, .t_ms = t_ms};

    say(t, "%s", words);
    return finish(t, &o, out, out->n);
}

int target_end(struct target *t, int64_t t_ms, struct batch *out)
{
    size_t n_before = out->n;
    int r = metricpage_gone(t->page, t_ms, out);

    if (r == 0) {
        present_begin(&t->live, out);
        r = present_end(&t->live, t_ms, out);
    }
    if (r < 0)
        out->n = n_before;
    return r;
}
