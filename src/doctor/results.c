/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/results.c - results as they are added, and what explains what.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "doctor/doctor_private.h"

enum { TEXT_MAX = 1024, MASK_SHOWN = 4, MASK_MIN = 8 };

/* --- texts --- */

static struct span PRINTF_LIKE(2, 0) text_v(struct doctor *d, const char *fmt, va_list args)
{
    char text[TEXT_MAX];
    int n = vsnprintf(text, sizeof(text), fmt, args);
    struct span copy = arena_dup(d->arena, span_of(text, n < TEXT_MAX ? (size_t)n : TEXT_MAX - 1));

    if (copy.p)
        return copy;
    d->is_out_of_memory = true;
    return SPAN("");
}

struct span doctor_text(struct doctor *d, const char *fmt, ...)
{
    struct span text;
    va_list args;

    va_start(args, fmt);
    text = text_v(d, fmt, args);
    va_end(args);
    return text;
}

struct span doctor_masked(struct doctor *d, struct span secret)
{
    size_t n = secret.n > MASK_MIN ? MASK_SHOWN : 0;

    for (size_t i = 0; i < n; i++) /* only what cannot do harm on a terminal */
        if (secret.p[i] <= ' ' || secret.p[i] > '~')
            n = i;
    return doctor_text(d, "%.*s%s(%zu characters)", (int)n, secret.p, n > 0 ? "... " : "",
                       secret.n);
}

/* --- what explains what --- */

/* The first result so far that may be the reason of such a failure; -1: none. */
static int reason_of(const struct doctor *d, enum doctor_cause cause)
{
    unsigned is_a = doctor_causes[cause].is_a;

    for (size_t i = 0; is_a != 0 && i < d->n_results; i++)
        if (d->concerns[i] && (doctor_causes[d->results[i].cause].explains & is_a) != 0)
            return (int)i;
    return -1;
}

static void add(struct doctor *d, enum doctor_cause cause, enum doctor_level level, bool concerns,
                struct span text, struct span remedy)
{
    int reason = level == DOCTOR_FAIL ? reason_of(d, cause) : -1;

    if (d->n_of_step++ >= DOCTOR_OF_STEP_MAX)
        return;
    if (reason >= 0) {
        d->results[reason].level = DOCTOR_FAIL;
        level = DOCTOR_SKIP;
        remedy = SPAN("");
    }
    d->concerns[d->n_results] = concerns;
    d->results[d->n_results++] = (struct doctor_result){
        .step = d->step,
        .level = level,
        .cause = cause,
        .text = text,
        .remedy = remedy,
        .because = reason,
    };
}

void doctor_add(struct doctor *d, enum doctor_cause cause, bool concerns, const char *fmt, ...)
{
    enum doctor_level level = doctor_causes[cause].level;
    va_list args;

    if (!concerns && level == DOCTOR_FAIL) /* nothing that is tried here fails for it */
        level = DOCTOR_WARN;
    va_start(args, fmt);
    add(d, cause, level, concerns, text_v(d, fmt, args), span_cstr(doctor_causes[cause].remedy));
    va_end(args);
}

void doctor_suspect(struct doctor *d, enum doctor_cause cause, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(d, cause, DOCTOR_SUSPECT, true, text_v(d, fmt, args),
        span_cstr(doctor_causes[cause].remedy));
    va_end(args);
}

void doctor_add_remedy(struct doctor *d, enum doctor_cause cause, struct span remedy,
                       const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(d, cause, doctor_causes[cause].level, true, text_v(d, fmt, args), remedy);
    va_end(args);
}

void doctor_ok(struct doctor *d, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(d, CAUSE_NO_CAUSE, DOCTOR_OK, false, text_v(d, fmt, args), SPAN(""));
    va_end(args);
}

void doctor_skip(struct doctor *d, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(d, CAUSE_NO_CAUSE, DOCTOR_SKIP, false, text_v(d, fmt, args), SPAN(""));
    va_end(args);
}

void doctor_end_step(struct doctor *d)
{
    struct doctor_result *last = &d->results[d->n_results - 1];

    if (d->n_of_step > DOCTOR_OF_STEP_MAX)
        last->text = doctor_text(d, "%.*s; %zu more are left out", SPAN_ARG(last->text),
                                 d->n_of_step - DOCTOR_OF_STEP_MAX);
}

/* --- the report --- */

bool doctor_has_failed(const struct doctor *d, enum doctor_step step)
{
    for (size_t i = 0; i < d->n_results; i++)
        if (d->results[i].step == step &&
            (d->results[i].level == DOCTOR_FAIL || d->results[i].level == DOCTOR_SKIP))
            return true;
    return false;
}

static int main_of(const struct doctor_result *results, size_t n)
{
    for (int level = DOCTOR_FAIL; level >= DOCTOR_WARN; level--)
        for (size_t i = 0; i < n; i++)
            if ((int)results[i].level == level)
                return (int)i;
    return -1;
}

int doctor_report_make(struct doctor *d, struct doctor_report *ret)
{
    struct doctor_result *to = arena_array(d->arena, d->n_results, sizeof(*to));
    int at[DOCTOR_RESULTS_MAX];
    size_t n = 0;

    if (!to || d->is_out_of_memory)
        return -ENOMEM;
    for (size_t i = 0; i < d->n_results; i++) {
        at[i] = (int)n;
        if (d->results[i].level == DOCTOR_SUSPECT)
            continue;
        to[n] = d->results[i];
        if (to[n].because >= 0) /* that one is a FAIL, and so was kept */
            to[n].because = at[to[n].because];
        n++;
    }
    *ret = (struct doctor_report){
        .results = to,
        .n = n,
        .main = main_of(to, n),
        .api = d->api->name,
    };
    return 0;
}

enum doctor_level doctor_worst(const struct doctor_report *r)
{
    return r->main >= 0 ? r->results[r->main].level : DOCTOR_OK;
}
