/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector_sources.c - sources asked at their interval, and what they say made into series
 * of this machine.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "collect/collector_private.h"
#include "collect/deadline.h"
#include "collect/schedule.h"

enum { SOURCES_END_MS = 2000, /* all of them together */ TITLE_MAX = 256 };

static void wake(void *ctx)
{
    web_wake(((struct collector *)ctx)->web);
}

int collector_sources_start(struct collector *c, const struct collector_plan *plan)
{
    int r = 0;

    c->sources = mem_zalloc(plan->n_sources + 1, sizeof(*c->sources));
    if (!c->sources)
        return -ENOMEM;
    for (size_t i = 0; i < plan->n_sources && r == 0; i++) {
        struct source_slot *s = &c->sources[i];
        s->plan = plan->sources[i];
        s->due = clock_mono();
        present_init(&s->live);
        r = source_thread_new(s->plan.kind, s->plan.config, wake, c, &s->thread);
        c->n_sources += r == 0;
    }
    return r;
}

bool collector_sources_end(struct collector *c)
{
    struct timespec end = deadline_in(SOURCES_END_MS * NS_PER_MS);
    bool are_back = true;

    for (size_t i = 0; i < c->n_sources; i++)
        source_thread_close(c->sources[i].thread);
    for (size_t i = 0; i < c->n_sources; i++) {
        are_back &= source_thread_free(c->sources[i].thread, &end);
        present_done(&c->sources[i].live);
    }
    c->n_sources = 0;
    mem_free(c->sources);
    c->sources = NULL;
    return are_back;
}

/* --- what they say --- */

/* For the log: "kafka jobs". */
static const char *title(const struct source_slot *s, char dst[TITLE_MAX])
{
    (void)snprintf(dst, TITLE_MAX, "%s%s%s", s->plan.kind->name, s->plan.cluster ? " " : "",
                   s->plan.cluster ? s->plan.cluster : "");
    return dst;
}

static int tell(struct collector *c, struct source_slot *s, struct labels own, int64_t t_ms,
                double v, struct arena *a, struct batch *out)
{
    struct present_series *series = NULL;
    struct labels l = own;
    int r = 0;

    if (labels_get(l, SPAN("instance")).n == 0)
        r = labels_with(a, l, SPAN("instance"), span_cstr(c->instance), &l);
    if (r == 0 && labels_get(l, SPAN("job")).n == 0)
        r = labels_with(a, l, SPAN("job"), span_cstr(s->plan.kind->name), &l);
    if (r == 0)
        r = present_hold(&s->live, l, &series);
    if (r < 0)
        return r;
    r = present_tell(&s->live, series, t_ms, v, true, out);
    present_let_go(series);
    return r;
}

static int tell_up(struct collector *c, struct source_slot *s, int64_t t_ms, struct arena *a,
                   struct batch *out)
{
    struct label pairs[] = {{SPAN(LABEL_NAME), SPAN("source_up")},
                            {SPAN("cluster"), span_cstr(s->plan.cluster)},
                            {SPAN("source"), span_cstr(s->plan.kind->name)}};
    struct labels own;
    int r = labels_normalise(pairs, ARRAY_LEN(pairs), &own, NULL);

    if (r < 0 || (s->state == SOURCE_ABSENT && !s->is_hanging))
        return r;
    return tell(c, s, own, t_ms, s->state == SOURCE_WORKING && !s->is_hanging ? 1 : 0, a, out);
}

/* from: what it said; NULL: nothing, so that all of it ends. */
static int tell_all(struct collector *c, struct source_slot *s, const struct batch *from,
                    int64_t t_ms, struct arena *a, struct batch *out)
{
    int r = 0;

    present_begin(&s->live, out);
    for (size_t i = 0; from && i < from->n && r == 0; i++)
        r = from->at[i].h ? 0
                          : tell(c, s, from->at[i].labels, from->at[i].t_ms, from->at[i].v, a, out);
    if (r == 0)
        r = tell_up(c, s, t_ms, a, out);
    if (r == 0)
        r = present_end(&s->live, t_ms, out);
    if (r < 0)
        present_abort(&s->live, out);
    return r;
}

/* Under the lock, but for the writing. */
static void publish(struct collector *c, struct source_slot *s, const struct batch *from,
                    int64_t t_ms)
{
    struct batch *b = NULL;
    char name[TITLE_MAX];
    struct arena a;
    int r = batch_new(&b);

    arena_init(&a, NULL);
    if (r == 0)
        r = tell_all(c, s, from, t_ms, &a, b);
    arena_done(&a);
    if (r < 0)
        LOG_WARN("what source \"%s\" said is lost: %s", title(s, name), err_str(r));
    pthread_mutex_unlock(&c->lock);
    collector_give(c, b);
    pthread_mutex_lock(&c->lock);
}

static void take(struct collector *c, struct source_slot *s, const struct source_word *w)
{
    char name[TITLE_MAX];
    bool is_news = w->words[0] && (!s->has_said || strcmp(w->words, s->words) != 0);

    if (is_news && w->state == SOURCE_BROKEN)
        LOG_WARN("source \"%s\" does not work: %s", title(s, name), w->words);
    else if (is_news)
        LOG_INFO("source \"%s\" is not there: %s", title(s, name), w->words);
    if (s->is_hanging)
        LOG_INFO("source \"%s\" came back", title(s, name));
    bool is_late = s->is_hanging; /* of a moment behind which all of it ended */
    s->state = w->state;
    s->t_ms = w->t_ms;
    s->has_said = true;
    s->is_hanging = false;
    s->n_samples = w->batch ? w->batch->n : 0;
    memcpy(s->words, w->words, sizeof(s->words));
    if (!is_late)
        publish(c, s, w->batch, w->t_ms);
    (void)batch_free(w->batch);
}

static void hang(struct collector *c, struct source_slot *s)
{
    char name[TITLE_MAX];

    if (!s->is_hanging)
        LOG_WARN(
            "source \"%s\" has not come back for %lld s: it is not asked until it does",
            title(s, name),
            (long long)(mono_diff(clock_mono(), source_thread_busy_since(s->thread)) / NS_PER_S));
    s->is_hanging = true;
    publish(c, s, NULL, collector_wall_ms());
}

/* What it said, if it said something. */
static bool hear(struct collector *c, struct source_slot *s)
{
    struct source_word w;

    if (!source_thread_take(s->thread, &w))
        return false;
    take(c, s, &w);
    return true;
}

static bool ask(struct source_slot *s)
{
    return source_thread_ask(s->thread, collector_wall_ms());
}

void collector_sources_due(struct collector *c, mono_t now)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        struct source_slot *s = &c->sources[i];
        (void)hear(c, s);
        if (s->due.ns > now.ns)
            continue;
        s->due = schedule_next(s->due, now, s->plan.interval_ms);
        /* It may have come back just now. */
        if (!ask(s) && !(hear(c, s) && ask(s)))
            hang(c, s);
    }
}

mono_t collector_sources_next_due(const struct collector *c)
{
    mono_t first = MONO_NONE;

    for (size_t i = 0; i < c->n_sources; i++)
        if (!mono_is_set(first) || c->sources[i].due.ns < first.ns)
            first = c->sources[i].due;
    return first;
}
