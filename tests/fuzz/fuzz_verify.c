/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/track, verify/told, verify/page: what the programs of a run answer, by the first byte: "r"
 * the rules of an evaluator, "l" a load's report, "v" an instant query, "f" faults, "a"
 * Alertmanager's alerts, else a page of metrics. Whatever it is, it is refused with an error or
 * leaves values that fit each other. fuzz-links: verify
 */
#include "fuzz.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pieces.h"
#include "verify/page.h"
#include "verify/told.h"
#include "verify/track.h"

static void check_rules(struct span input)
{
    static const char text[] = "groups:\n- name: g\n  rules:\n"
                               "  - {alert: A, expr: 'llm_ttft_seconds_sum > 1', for: 3s}\n"
                               "  - {alert: B, expr: 'llm_ttft_seconds_sum > 2'}\n";
    static const char *const names[] = {"f"};
    struct verify_track tracks[2];
    struct verify_plan plan;
    struct rule_file *file = NULL;
    struct err_list errs;

    err_list_init(&errs);
    FUZZ_CHECK(rule_file_read(span_cstr(text), "f", &file, &errs) == 0);
    const struct rule_file *files[] = {file};
    FUZZ_CHECK(verify_plan_make(files, 1, false, &plan) == 0);
    for (int i = 0; i < 2; i++)
        verify_track_init(&tracks[i]);
    int r = verify_track_read(&plan, names, input, tracks);
    FUZZ_CHECK(r == 0 || r == -EPROTO);
    for (int i = 0; i < 2; i++) {
        const struct verify_track *t = &tracks[i];
        FUZZ_CHECK(t->state == VERIFY_UNSEEN || t->seen_ms != VERIFY_NEVER);
        FUZZ_CHECK(t->ended_ms == VERIFY_NEVER || t->firing_ms != VERIFY_NEVER);
    }
    verify_plan_done(&plan);
    rule_file_unref(file);
}

static void check_told(char kind, struct span input)
{
    static const struct rule_text label = {.name = SPAN_INIT("tier"), .value = SPAN_INIT("P1")};
    static const struct rule rule = {.name = SPAN_INIT("A"), .labels = &label, .n_labels = 1};
    struct verify_load l = {.is_there = false};
    double v = 0;
    size_t n = 0;

    if (kind == 'l') {
        int r = verify_told_load(input, &l);
        FUZZ_CHECK(r == 0 ? l.is_there : r == -EPROTO && !l.is_there);
    } else if (kind == 'v') {
        int r = verify_told_value(input, &v, &n);
        FUZZ_CHECK(r == 0 || r == -EPROTO);
        FUZZ_CHECK(n > 0 || isnan(v));
    } else if (kind == 'f') {
        int r = verify_told_fault(input, SPAN("added_latency"), &v);
        FUZZ_CHECK(r == 0 || r == -EPROTO);
    } else {
        int r = verify_told_alerts(input, &rule, SPAN("prometheus"), &n);
        FUZZ_CHECK(r == 0 || r == -EPROTO);
    }
}

static void check_page(struct span input)
{
    struct verify_page none = {.n = 0}, page = {.n = 0};
    struct err why = {.text = ""};
    int r = verify_page_read(input, &page, &why);

    if (r < 0) {
        FUZZ_CHECK(why.text[0] != '\0' && page.n == 0);
        return;
    }
    struct verify_rise rise = verify_page_rise(&none, &page);
    FUZZ_CHECK(page.n <= VERIFY_BUCKETS_MAX);
    FUZZ_CHECK(!rise.has_buckets || page.n > 0);
    (void)verify_page_has(input, SPAN("vllm:time_to_first_token_seconds_bucket"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input = span_of(data, size);

    if (size > 0 && memchr("lvfa", data[0], 4))
        check_told((char)data[0], span_from(input, 1));
    else if (size > 0 && data[0] == 'r')
        check_rules(span_from(input, 1));
    else
        check_page(input);
    return 0;
}
