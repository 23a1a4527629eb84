/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/slow.c - see slow.h. A slice is named by the number of its interval since the clock's
 * beginning, so that one that was not used for a while is known to be stale.
 */
#include "observe/slow.h"

#include <string.h>

#include "base/mem.h"

enum slow_kind { SLOW_TTFT, SLOW_E2E, SLOW_KINDS };

struct slow_slice {
    int64_t number;
    struct gaps times[SLOW_KINDS];
};

struct slow_model {
    char name[RECORD_NAME_MAX];
    mono_t t_used;
    mono_t t_refreshed;
    int64_t threshold_ns[SLOW_KINDS]; /* -1: too few requests */
    struct slow_slice slices[SLOW_SLICES];
};

void slow_done(struct slow *s)
{
    for (size_t i = 0; i < SLOW_MODELS; i++) {
        mem_free(s->models[i]);
        s->models[i] = NULL;
    }
}

static void model_init(struct slow_model *m, const char *name)
{
    memset(m, 0, sizeof(*m));
    (void)span_copy(span_cstr(name), m->name, sizeof(m->name));
    for (int k = 0; k < SLOW_KINDS; k++)
        m->threshold_ns[k] = -1;
    for (int i = 0; i < SLOW_SLICES; i++)
        m->slices[i].number = -1;
}

/* The model's entry, made where it has none; NULL: no memory. */
static struct slow_model *model_of(struct slow *s, const char *name, mono_t now)
{
    size_t free_at = 0;
    for (size_t i = 0; i < SLOW_MODELS; i++) {
        struct slow_model *m = s->models[i];
        if (m && strcmp(m->name, name) == 0) {
            m->t_used = now;
            return m;
        }
        struct slow_model *chosen = s->models[free_at];
        if (chosen && (!m || m->t_used.ns < chosen->t_used.ns))
            free_at = i;
    }
    if (!s->models[free_at])
        s->models[free_at] = mem_alloc(sizeof(*s->models[free_at]));
    struct slow_model *m = s->models[free_at];
    if (!m)
        return NULL;
    model_init(m, name);
    m->t_used = now;
    return m;
}

static struct slow_slice *slice_at(struct slow_model *m, mono_t now)
{
    int64_t number = now.ns / SLOW_SLICE_NS;
    struct slow_slice *slice = &m->slices[number % SLOW_SLICES];
    if (slice->number != number) {
        slice->number = number;
        for (int k = 0; k < SLOW_KINDS; k++)
            gaps_init(&slice->times[k]);
    }
    return slice;
}

static void refresh(struct slow_model *m, mono_t now)
{
    int64_t oldest = now.ns / SLOW_SLICE_NS - SLOW_SLICES + 1;
    if (mono_is_set(m->t_refreshed) && mono_diff(now, m->t_refreshed) < SLOW_REFRESH_NS)
        return;
    m->t_refreshed = now;
    for (int k = 0; k < SLOW_KINDS; k++) {
        struct gaps all;
        gaps_init(&all);
        for (int i = 0; i < SLOW_SLICES; i++) {
            if (m->slices[i].number >= oldest)
                gaps_merge(&all, &m->slices[i].times[k]);
        }
        m->threshold_ns[k] = all.n_gaps >= SLOW_MIN ? gaps_quantile_upper(&all, 0.95) : -1;
    }
}

bool slow_judge(struct slow *s, const char *model, int64_t ttft_ns, int64_t e2e_ns, mono_t now)
{
    struct slow_model *m = model_of(s, model, now);
    if (!m)
        return false;
    const int64_t ns[SLOW_KINDS] = {[SLOW_TTFT] = ttft_ns, [SLOW_E2E] = e2e_ns};
    bool is_slow = false;
    refresh(m, now);
    struct slow_slice *slice = slice_at(m, now);
    for (int k = 0; k < SLOW_KINDS; k++) {
        if (ns[k] < 0)
            continue;
        is_slow = is_slow || (m->threshold_ns[k] >= 0 && ns[k] > m->threshold_ns[k]);
        gaps_add(&slice->times[k], ns[k], 0);
    }
    return is_slow;
}
