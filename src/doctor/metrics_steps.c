/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/metrics_steps.c - /metrics: is it there, whose is it, are its buckets wide enough.
 */
#include <errno.h>

#include "doctor/doctor_private.h"

enum { NAMED_MAX = 5 };

/* What "owned_by" in the list of models tells of the engine, and how its metrics come to be. */
static const struct owner {
    struct span owner;
    const char *engine, *remedy;
    bool has_none;
} owners[] = {
    {SPAN_INIT("vllm"), "vLLM",
     "vLLM always has /metrics: give its own address, or let what stands in front pass it", false},
    {SPAN_INIT("sglang"), "SGLang", "start SGLang with --enable-metrics", false},
    {SPAN_INIT("llamacpp"), "llama.cpp", "start llama-server with --metrics", false},
    {SPAN_INIT("lmdeploy"), "LMDeploy", "start LMDeploy with --enable-metrics", false},
    {SPAN_INIT("tensorrt_llm"), "TensorRT-LLM",
     "set return_perf_metrics: true; the page is /prometheus/metrics", false},
    {SPAN_INIT("library"), "Ollama", "", true},
};

static const struct owner *owner_of(const struct doctor *d)
{
    for (size_t i = 0; i < ARRAY_LEN(owners); i++)
        if (span_eq_nocase(owners[i].owner, d->owner))
            return &owners[i];
    return NULL;
}

/* --- asking --- */

static bool is_success(const struct doctor_answer *a)
{
    return a->has_head && a->error == 0 && a->status >= 200 && a->status < 300;
}

static void get(struct doctor *d, struct span path, struct doctor_answer *a)
{
    struct request_options o = {.method = "GET", .path = path};

    doctor_request(d, &o, a);
}

/* Beside the API's version, then at the root. */
static void ask(struct doctor *d, struct doctor_answer *a)
{
    struct span base = d->url.path;

    if (doctor_url_has_version(base)) {
        while (base.n > 0 && base.p[base.n - 1] != '/')
            base.n--;
        base.n -= base.n > 0;
    }
    get(d, doctor_text(d, "%.*s/metrics", SPAN_ARG(base)), a);
    if (base.n > 0 && !is_success(a))
        get(d, SPAN("/metrics"), a);
}

static void tell_absent(struct doctor *d, const struct doctor_answer *a)
{
    const struct owner *o = owner_of(d);

    if (o && o->has_none)
        doctor_skip(d, "%s has no /metrics; the gateway's own figures stand for it", o->engine);
    else if (!a->has_head)
        doctor_add(d, CAUSE_METRICS_HIDDEN, true, "/metrics: %s", err_str(a->error));
    else if (o)
        doctor_add_remedy(
            d, strcmp(o->engine, "vLLM") == 0 ? CAUSE_METRICS_HIDDEN : CAUSE_METRICS_OFF,
            span_cstr(o->remedy), "/metrics: status %d; the engine is %s", a->status, o->engine);
    else
        doctor_add(d, CAUSE_METRICS_HIDDEN, true, "/metrics: status %d", a->status);
}

/* --- recognising --- */

static struct span version_of(struct doctor *d, const struct engine_found *e)
{
    char since[ENGINE_VERSION_TEXT_MAX] = "", until[ENGINE_VERSION_TEXT_MAX] = "";

    if (e->since != 0)
        e->map->print_version(e->since, since);
    if (e->until != ENGINE_NEWEST)
        e->map->print_version(e->until, until);
    if (since[0] && until[0] && strcmp(since, until) != 0)
        return doctor_text(d, "%s %s to %s", e->map->title, since, until);
    if (since[0])
        return doctor_text(d, "%s %s%s", e->map->title, since, until[0] ? "" : " or newer");
    return doctor_text(d, "%s%s%s", e->map->title, until[0] ? " up to " : "", until);
}

/* Names of signals that should be there and are not. */
static struct span missing_of(struct doctor *d, size_t *ret_n)
{
    const struct engine_page *page = &d->page.engine;
    struct span names = {"", 0};
    size_t n = 0;

    for (size_t i = 0; i < page->n_missing; i++) {
        const struct signal_missing *m = &page->missing[i];

        if (m->cause != MISSING_ABSENT || !m->engine->is_whole)
            continue;
        if (n++ < NAMED_MAX)
            names = doctor_text(d, "%.*s%s%s", SPAN_ARG(names), n > 1 ? ", " : "",
                                signal_table[m->signal].name);
    }
    *ret_n = n;
    return names;
}

static bool is_our_own(const struct doctor *d)
{
    const struct families *f = &d->page.families;

    for (size_t i = 0; i < f->n; i++)
        if (span_starts_with(f->at[i].name, SPAN("inferometer_")))
            return true;
    return false;
}

static void tell_unknown(struct doctor *d)
{
    const char *remark = d->page.engine.remark;

    if (is_our_own(d))
        doctor_ok(d, "these are the gateway's own");
    else if (remark && strstr(remark, "--disable-log-stats"))
        doctor_add(d, CAUSE_METRICS_LOG_STATS, true, "%s", remark);
    else
        doctor_add(d, CAUSE_METRICS_UNKNOWN, true, "no engine was recognised%s%s",
                   remark ? ": " : "", remark ? remark : "");
}

static void tell_page(struct doctor *d)
{
    const struct engine_page *page = &d->page.engine;
    size_t n_missing;
    struct span missing;

    if (d->page.families.n_mistakes > 0)
        doctor_add(d, CAUSE_METRICS_MISTAKES, true, "%zu lines cannot be read",
                   d->page.families.n_mistakes);
    if (page->n_engines == 0) {
        tell_unknown(d);
        return;
    }
    missing = missing_of(d, &n_missing);
    if (n_missing > 0)
        doctor_add(d, CAUSE_METRICS_MISSING, true,
                   "%.*s: %zu signals that it should tell are "
                   "missing: %.*s",
                   SPAN_ARG(version_of(d, &page->engines[0])), n_missing, SPAN_ARG(missing));
    else
        doctor_ok(d, "%.*s, %zu signal%s", SPAN_ARG(version_of(d, &page->engines[0])),
                  page->n_signals, page->n_signals == 1 ? "" : "s");
}

void doctor_step_metrics(struct doctor *d)
{
    enum doctor_vendor vendor = doctor_vendor_of_host(d->url.host);
    struct doctor_answer a;
    const char *why;
    int r;

    if (vendor != VENDOR_UNKNOWN) {
        doctor_skip(d, "%s has no /metrics for its customers", doctor_vendor_name(vendor));
        return;
    }
    ask(d, &a);
    if (d->is_out_of_memory)
        return;
    if (!is_success(&a)) {
        tell_absent(d, &a);
        return;
    }
    why = engine_why_no_page(a.body);
    if (why) {
        doctor_add(d, CAUSE_METRICS_NOT, true, "/metrics: %s", why);
        return;
    }
    r = doctor_page_read(&d->page, a.body, doctor_answer_type(&a), d->arena);
    if (r == -E2BIG)
        doctor_add(d, CAUSE_METRICS_NOT, true, "/metrics has more samples than a page may have");
    else if (r < 0)
        d->is_out_of_memory = true;
    else
        tell_page(d);
}

void doctor_step_buckets(struct doctor *d)
{
    struct doctor_overflow o;
    size_t at = 0, n = 0;

    if (!d->page.is_read) {
        doctor_skip(d, "there is no page of metrics");
        return;
    }
    for (; doctor_page_overflow(&d->page, &at, &o); n++)
        doctor_add(d, CAUSE_BUCKETS_SMALL, true,
                   "%.*s: %.1f %% of %.0f samples are above its last bound, %g",
                   SPAN_ARG(o.family->name), o.share * 100, o.n, o.last_bound);
    if (n == 0)
        doctor_ok(d, "of what was measured, 99 %% and more is within their bounds");
}
