/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/run_watch.c - alerts looked at until a phase is over.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "verify/run_private.h"

enum { LOOK_MS = 200 }; /* evaluations are 1 s apart at least */

int64_t verify_run_now(void)
{
    return clock_wall().us / 1000;
}

/* --- what is looked at again and again --- */

static int look_at_rules(struct verify_run *run, struct err *reterr)
{
    char url[VERIFY_URL_MAX + 64];
    int r = 0;

    for (int w = 0; w < VERIFY_WHERES && r == 0; w++) {
        const char *server = run->stage.servers[w];
        if (server[0] == '\0')
            continue;
        (void)snprintf(url, sizeof(url), "%s/api/v1/rules?type=alert", server);
        r = verify_ask(run->stage.asker, url, NULL, &run->body, reterr);
        if (r == 0)
            r = verify_track_read(run->plan, run->stage.rules, buf_span(&run->body),
                                  run->tracks[w]);
        if (r == -EPROTO)
            err_set(reterr, r, "%.200s: this is no answer of Prometheus' API", url);
    }
    return r;
}

static void note_delivery(struct verify_run *run, size_t i, enum verify_where w, bool is_told)
{
    struct verify_seen *s = &run->result->seen[w][i];

    if (is_told && s->told_ms == VERIFY_NEVER)
        s->told_ms = verify_run_now();
    else if (!is_told && s->told_ms != VERIFY_NEVER && s->untold_ms == VERIFY_NEVER)
        s->untold_ms = verify_run_now();
}

static int look_at_alertmanager(struct verify_run *run, struct err *reterr)
{
    static const char *const sources[] = {"", VERIFY_SOURCE_PROM};
    char url[VERIFY_URL_MAX + 64];
    int r;

    if (run->stage.alertmanager_url[0] == '\0')
        return 0;
    (void)snprintf(url, sizeof(url), "%s/api/v2/alerts", run->stage.alertmanager_url);
    r = verify_ask(run->stage.asker, url, NULL, &run->body, reterr);
    for (size_t i = 0; i < run->plan->n && r == 0; i++)
        for (int w = 0; w < VERIFY_WHERES && r == 0; w++) {
            size_t n = 0;
            if (run->plan->alerts[i].drive != VERIFY_DRIVEN)
                continue;
            r = verify_told_alerts(buf_span(&run->body), run->plan->alerts[i].rule,
                                   span_cstr(sources[w]), &n);
            if (r == 0)
                note_delivery(run, i, (enum verify_where)w, n > 0);
        }
    return r == -EPROTO ? err_set(reterr, r, "%.200s: this is no answer of an Alertmanager", url)
                        : r;
}

static int look(struct verify_run *run, struct err *reterr)
{
    int r = verify_stage_check(&run->stage, reterr);

    if (r == 0)
        r = look_at_rules(run, reterr);
    return r == 0 ? look_at_alertmanager(run, reterr) : r;
}

int verify_run_watch(struct verify_run *run, int64_t min_ms, int64_t max_ms,
                     bool (*is_over)(const struct verify_run *run), struct err *reterr)
{
    mono_t begin = clock_mono();

    for (;;) {
        int r = look(run, reterr);
        int64_t passed = mono_diff(clock_mono(), begin) / NS_PER_MS;
        if (r < 0)
            return r;
        if (passed >= max_ms || (passed >= min_ms && is_over(run)))
            return 0;
        if (run->stage.ops->wait(run->stage.ops->ctx, LOOK_MS))
            return -EINTR;
    }
}

/* --- when a phase is over --- */

/* Whether all alerts that may still do it have done it, everywhere. */
static bool all_seen(const struct verify_run *run,
                     bool (*is_done)(const struct verify_run *run, const struct verify_track *t,
                                     const struct verify_seen *s))
{
    for (size_t i = 0; i < run->plan->n; i++)
        for (int w = 0; w < VERIFY_WHERES; w++) {
            const struct verify_seen *s = &run->result->seen[w][i];
            if (run->plan->alerts[i].drive != VERIFY_DRIVEN || run->stage.servers[w][0] == '\0' ||
                s->at_rest > VERIFY_INACTIVE)
                continue;
            if (!is_done(run, &run->tracks[w][i], s))
                return false;
        }
    return true;
}

static bool has_fired(const struct verify_run *run, const struct verify_track *t,
                      const struct verify_seen *s)
{
    bool is_told = run->stage.alertmanager_url[0] == '\0' || s->told_ms != VERIFY_NEVER;

    return t->firing_ms != VERIFY_NEVER && is_told;
}

static bool has_ended(const struct verify_run *run, const struct verify_track *t,
                      const struct verify_seen *s)
{
    (void)run;
    if (t->firing_ms == VERIFY_NEVER)
        return true; /* is not waited for */
    return t->ended_ms != VERIFY_NEVER &&
           (s->told_ms == VERIFY_NEVER || s->untold_ms != VERIFY_NEVER);
}

bool verify_run_is_all_firing(const struct verify_run *run)
{
    return all_seen(run, has_fired);
}

bool verify_run_is_all_ended(const struct verify_run *run)
{
    return all_seen(run, has_ended);
}
