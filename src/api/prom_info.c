/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_info.c - what clients of Prometheus ask beside series: metadata, targets, version.
 */
#include "api/prom.h"
#include "base/num.h"
#include "base/stat.h"
#include "metrics/family.h"

/* Clients choose what they may use by it: the language and this API are those of Prometheus 3. */
#define SPEAKS "3.14.0+inferometer." PROJECT_VERSION

struct metadata {
    struct prom_call *c;
    struct span wanted; /* one metric; p == NULL: all */
    uint64_t left;
};

static void write_one(struct metadata *m, const char *name, const char *type, const char *help,
                      const char *unit)
{
    struct jsonw *w = &m->c->w;
    if (m->left == 0 || (m->wanted.n > 0 && !span_eq(m->wanted, span_cstr(name))))
        return;
    m->left--;
    jsonw_key(w, name);
    jsonw_begin_array(w);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "type", type);
    jsonw_put_cstr(w, "help", help);
    jsonw_put_cstr(w, "unit", unit);
    jsonw_end_object(w);
    jsonw_end_array(w);
}

/* A limit of this resource: below 0 is none. */
static bool read_count(struct prom_call *c, const char *name, int64_t *ret)
{
    struct span s = params_get(&c->params, span_cstr(name));
    *ret = -1;
    if (s.n == 0 || num_parse_i64(s, ret) == 0)
        return true;
    prom_fail(c, PROM_BAD_DATA, "%s must be a number", name);
    return false;
}

void prom_info_metadata(struct prom_call *c)
{
    int64_t limit, per_metric;
    if (!read_count(c, "limit", &limit) || !read_count(c, "limit_per_metric", &per_metric))
        return;
    struct metadata m = {.c = c,
                         .wanted = params_get(&c->params, SPAN("metric")),
                         .left = limit < 0 ? UINT64_MAX : (uint64_t)limit};
    prom_begin(c);
    jsonw_begin_object(&c->w);
    for (int i = 0; i < METRIC_COUNT_; i++) {
        const struct family *f = &family_table[i];
        write_one(&m, f->name, family_type_name(f->type), f->help, f->unit);
    }
    for (int i = 0; i < STAT_COUNT_; i++) {
        const struct stat_desc *s = &stat_table[i];
        if (i > 0 && strcmp(stat_table[i - 1].name, s->name) == 0)
            continue;
        write_one(&m, s->name, s->type == STAT_COUNTER ? "counter" : "gauge", s->help, "");
    }
    jsonw_end_object(&c->w);
    prom_end(c);
}

/* Nothing of those that are not asked for. */
static void write_dropped_counts(struct prom_call *c, bool is_wanted)
{
    jsonw_key(&c->w, "droppedTargetCounts");
    if (!is_wanted) {
        jsonw_null(&c->w);
        return;
    }
    jsonw_begin_object(&c->w);
    if (c->sources->dropped_counts)
        c->sources->dropped_counts(c->sources->arg, &c->w);
    jsonw_end_object(&c->w);
}

void prom_info_targets(struct prom_call *c)
{
    struct span state = params_get(&c->params, SPAN("state"));
    bool is_dropped_wanted = !span_eq_nocase(state, SPAN("active"));
    struct jsonw *w = &c->w;
    prom_begin(c);
    jsonw_begin_object(w);
    jsonw_key(w, "activeTargets");
    jsonw_begin_array(w);
    if (c->sources->targets && !span_eq_nocase(state, SPAN("dropped")))
        c->sources->targets(c->sources->arg, w);
    jsonw_end_array(w);
    jsonw_key(w, "droppedTargets");
    jsonw_begin_array(w);
    if (c->sources->dropped_targets && is_dropped_wanted)
        c->sources->dropped_targets(c->sources->arg, w);
    jsonw_end_array(w);
    write_dropped_counts(c, is_dropped_wanted);
    jsonw_end_object(w);
    prom_end(c);
}

void prom_info_build(struct prom_call *c)
{
    static const char *const empty[] = {"branch", "buildUser", "buildDate", "goVersion"};
    prom_begin(c);
    jsonw_begin_object(&c->w);
    jsonw_put_cstr(&c->w, "version", SPEAKS);
    jsonw_put_cstr(&c->w, "revision", "inferometer " PROJECT_VERSION);
    for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
        jsonw_put_cstr(&c->w, empty[i], "");
    }
    jsonw_end_object(&c->w);
    prom_end(c);
}
