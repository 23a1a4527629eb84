/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_faults, sim/sim_script: "{" begins JSON of faults, anything else is a script. JSON is
 * refused with a text and changes nothing, or what it says is written as JSON that says the same.
 * Steps of a script are in order of time, and no fault goes on that is on.
 * fuzz-links: sim
 */
#include "pieces.h"

#include <errno.h>

#include "base/buf.h"
#include "sim/sim_script.h"

enum { BYTES_MAX = 5000, PAGE_MAX = 1 << 16 };

/* The object behind {"active": in what was written. */
static struct span active_of(struct span page)
{
    struct span rest = span_from(page, sizeof("{\"active\":") - 1);
    return span_of(rest.p, span_find_char(rest, '}') + 1);
}

static void check_json(struct span input)
{
    static const struct sim_faults off;
    struct sim_faults f = off, again = off;
    struct err err = {.text = ""};
    struct jsonw w;
    struct buf b;
    int r = sim_faults_read(&f, input, &err);
    if (r != 0) {
        FUZZ_CHECK(r == -EINVAL || r == -ENOENT || r == -ERANGE);
        FUZZ_CHECK(err.text[0] != '\0' && memcmp(&f, &off, sizeof(f)) == 0);
        return;
    }
    for (int i = 0; i < SIM_FAULT_COUNT_; i++)
        FUZZ_CHECK(!f.is_on[i] || sim_fault_check((enum sim_fault)i, f.strength[i], NULL) == 0);
    buf_init(&b, PAGE_MAX);
    jsonw_init(&w, &b);
    sim_faults_write(&f, &w);
    FUZZ_CHECK(jsonw_error(&w) == 0);
    FUZZ_CHECK(sim_faults_read(&again, active_of(buf_span(&b)), &err) == 0);
    FUZZ_CHECK(memcmp(&f, &again, sizeof(f)) == 0);
    buf_done(&b);
}

static void check_script(struct span input)
{
    struct sim_script *s = NULL;
    struct err err = {.text = ""};
    struct sim_faults f = {0};
    int64_t now = 0;
    int r = sim_script_parse(input, &s, &err);
    if (r != 0) {
        FUZZ_CHECK((r == -EINVAL || r == -ENOENT || r == -ERANGE || r == -E2BIG) && !s);
        FUZZ_CHECK(err.text[0] != '\0');
        return;
    }
    FUZZ_CHECK(s->n > 0);
    for (size_t i = 0; i < s->n; i++) {
        const struct sim_script_step *step = &s->steps[i];
        FUZZ_CHECK(step->at_ns >= now && f.is_on[step->fault] != step->is_on);
        now = step->at_ns;
        if (step->is_on)
            sim_faults_set(&f, step->fault, step->strength);
        else
            sim_faults_clear(&f, step->fault);
    }
    sim_script_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input = span_of(data, size);
    if (size > BYTES_MAX)
        return 0;
    if (size > 0 && data[0] == '{')
        check_json(input);
    else
        check_script(input);
    return 0;
}
