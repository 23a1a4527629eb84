/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_faults.c - the table of faults, and JSON into it and out of it.
 */
#include "sim/sim_faults.h"

#include <errno.h>

#include "base/suggest.h"
#include "wire/json.h"

enum { NAME_MAX_BYTES = 64 };

static const struct sim_fault_row rows[] = {
    [SIM_FAULT_LOAD_SURGE] = {"load_surge", "requests/s", 10, 0.01, 10000,
                              "X requests/s more come, inside the engine"},
    [SIM_FAULT_LONG_PROMPTS] = {"long_prompts", "times", 4, 1, 1000, "prompts are X times as long"},
    [SIM_FAULT_LONG_OUTPUTS] = {"long_outputs", "times", 4, 1, 1000,
                                "outputs are X times as long, up to max_tokens"},
    [SIM_FAULT_PREFIX_CACHE_LOSS] = {"prefix_cache_loss", "share", 1, 0, 1,
                                     "of the prompts that share X begins differently"},
    [SIM_FAULT_KV_EXHAUSTION] = {"kv_exhaustion", "share", 0.9, 0, 1,
                                 "that share X of the KV blocks is gone"},
    [SIM_FAULT_SLOW_GPU] = {"slow_gpu", "times", 1.5, 1, 1000,
                            "the GPU is X times slower: hot, its clock is down"},
    [SIM_FAULT_HOST_STALL] = {"host_stall", "ms", 50, 0, 60000,
                              "the host takes X ms for each iteration: the GPU waits"},
    [SIM_FAULT_NETWORK_DELAY] = {"network_delay", "ms", 100, 0, 60000,
                                 "X ms on the way in, and on the way out"},
    [SIM_FAULT_PROXY_BUFFERING] = {"proxy_buffering", "bytes", 16384, 1, 1e7,
                                   "answers are held until X bytes are there, or all"},
    [SIM_FAULT_SEQS_CAP] = {"seqs_cap", "requests", 4, 1, 1e6, "at most X requests run at once"},
    [SIM_FAULT_RATE_LIMIT] = {"rate_limit", "requests/s", 5, 0.01, 1e6,
                              "429 and Retry-After above X requests/s"},
    [SIM_FAULT_COLD_START] = {"cold_start", "s", 30, 0.01, 10000,
                              "a restart: open answers break off, then 503 for X s"},
    [SIM_FAULT_BAD_REPLICA] = {"bad_replica", "share", 0.2, 0, 1,
                               "share X of the requests gets 500, iterations take 1 + 5X times"},
    [SIM_FAULT_RUNAWAY_OUTPUT] = {"runaway_output", "tokens", 4096, 1, 1e6,
                                  "answers repeat themselves up to X tokens, whatever max_tokens"},
    [SIM_FAULT_MEMORY_LEAK] = {"memory_leak", "blocks/s", 100, 0.01, 1e6,
                               "X KV blocks are lost each second, until it ends"},
    [SIM_FAULT_ERRORS] = {"errors", "share", 0.1, 0, 1, "share X of the requests gets 500"},
    [SIM_FAULT_ADDED_LATENCY] = {"added_latency", "s", 0.5, 0, 3600,
                                 "X s between arrival and queue, for every request"},
};

_Static_assert(ARRAY_LEN(rows) == SIM_FAULT_COUNT_, "each fault has a row");

const struct sim_fault_row *sim_fault_row(size_t i)
{
    return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

/* --- one fault --- */

/* As they stand in the table. Longer names are none. */
static bool is_name(struct span typed, const char *name)
{
    size_t n = strlen(name);

    if (typed.n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = typed.p[i];

        if (c == '-')
            c = '_';
        else if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != name[i])
            return false;
    }
    return true;
}

int sim_fault_find(struct span name, enum sim_fault *ret, struct err *reterr)
{
    struct suggest s;

    suggest_init(&s, name);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (is_name(name, rows[i].name)) {
            *ret = (enum sim_fault)i;
            return 0;
        }
        suggest_offer(&s, span_cstr(rows[i].name));
    }
    (void)err_set(reterr, -ENOENT, "there is no fault \"%.*s\"",
                  (int)(name.n < NAME_MAX_BYTES ? name.n : NAME_MAX_BYTES), name.p);
    if (s.best.n > 0)
        err_hint(reterr, "did you mean %.*s?", SPAN_ARG(s.best));
    else
        err_hint(reterr, "\"inferometer sim --help\" lists the faults");
    return -ENOENT;
}

int sim_fault_check(enum sim_fault which, double strength, struct err *reterr)
{
    const struct sim_fault_row *row = &rows[which];

    if (strength >= row->min && strength <= row->max)
        return 0;
    return err_set(reterr, -ERANGE, "%s takes %g to %g (%s), not %g", row->name, row->min, row->max,
                   row->unit, strength);
}

void sim_faults_set(struct sim_faults *f, enum sim_fault which, double strength)
{
    f->is_on[which] = true;
    f->strength[which] = strength;
}

void sim_faults_clear(struct sim_faults *f, enum sim_fault which)
{
    f->is_on[which] = false;
    f->strength[which] = 0;
}

/* --- JSON --- */

static int take_value(struct sim_faults *f, enum sim_fault which, const struct json_value *v,
                      struct err *reterr)
{
    double strength = rows[which].strength;
    int r;

    if (v->type == JSON_NULL || (v->type == JSON_BOOL && !v->is_true)) {
        sim_faults_clear(f, which);
        return 0;
    }
    if (v->type != JSON_BOOL && (v->type != JSON_NUMBER || !json_double(v, &strength))) {
        (void)err_set(reterr, -EINVAL, "%s takes a number, true, false or null", rows[which].name);
        err_hint(reterr, "{\"%s\": %g}", rows[which].name, rows[which].strength);
        return -EINVAL;
    }
    r = sim_fault_check(which, strength, reterr);
    if (r == 0)
        sim_faults_set(f, which, strength);
    return r;
}

static int take_members(struct json *j, struct sim_faults *f, struct err *reterr)
{
    struct span key;

    while (json_key(j, &key)) {
        char name[NAME_MAX_BYTES + 1];
        size_t n = json_unescape(key, name, sizeof(name));
        struct json_value v;
        enum sim_fault which;
        int r = sim_fault_find(span_of(name, n), &which, reterr);

        if (r < 0)
            return r;
        if (!json_next(j, &v))
            return -EINVAL;
        r = take_value(f, which, &v, reterr);
        if (r < 0)
            return r;
    }
    return 0;
}

int sim_faults_read(struct sim_faults *f, struct span json, struct err *reterr)
{
    struct sim_faults next = *f;
    struct err why = {0};
    struct json_value v;
    struct json j;
    int r = -EINVAL;

    json_init(&j, json);
    if (json_next(&j, &v) && v.type == JSON_OBJECT)
        r = take_members(&j, &next, &why);
    if (r == 0 && !json_is_done(&j))
        r = -EINVAL;
    if (r == 0) {
        *f = next;
    } else if (why.text[0] != '\0') {
        (void)err_set(reterr, r, "%s", why.text);
        err_hint(reterr, "%s", why.hint);
    } else {
        (void)err_set(reterr, r, "the body is not a JSON object of faults and strengths");
        err_hint(reterr, "{\"slow_gpu\": 1.5, \"errors\": true, \"seqs_cap\": null}");
    }
    return r;
}

static void write_row(const struct sim_fault_row *row, struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "name", row->name);
    jsonw_put_cstr(w, "unit", row->unit);
    jsonw_put_double(w, "default", row->strength);
    jsonw_put_double(w, "min", row->min);
    jsonw_put_double(w, "max", row->max);
    jsonw_put_cstr(w, "help", row->help);
    jsonw_end_object(w);
}

void sim_faults_write(const struct sim_faults *f, struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_key(w, "active");
    jsonw_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!f->is_on[i])
            continue;
        jsonw_put_double(w, rows[i].name, f->strength[i]);
    }
    jsonw_end_object(w);
    jsonw_key(w, "faults");
    jsonw_begin_array(w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        write_row(&rows[i], w);
    jsonw_end_array(w);
    jsonw_end_object(w);
}
