/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/scaled.h"

#include <errno.h>

#include "base/jsonw.h"
#include "series/duration.h"

struct scaled_writer {
    struct jsonw w;
    double factor;
    struct buf text; /* scratch */
};

static void write_duration(struct scaled_writer *s, const char *key, int64_t ms)
{
    buf_clear(&s->text);
    jsonw_fail(&s->w, duration_print(ms, &s->text));
    jsonw_put_str(&s->w, key, buf_span(&s->text));
}

static void write_texts(struct scaled_writer *s, const char *key, const struct rule_text *at,
                        size_t n)
{
    if (n == 0)
        return;
    jsonw_key(&s->w, key);
    jsonw_begin_object(&s->w);
    for (size_t i = 0; i < n; i++) {
        jsonw_key_str(&s->w, at[i].name);
        jsonw_str(&s->w, at[i].value);
    }
    jsonw_end_object(&s->w);
}

static void write_rule(struct scaled_writer *s, const struct rule *rule)
{
    jsonw_begin_object(&s->w);
    jsonw_put_str(&s->w, rule->is_alert ? "alert" : "record", rule->name);
    buf_clear(&s->text);
    jsonw_fail(&s->w, verify_plan_print(promql_root(rule->expr), s->factor, &s->text));
    jsonw_put_str(&s->w, "expr", buf_span(&s->text));
    if (rule->has_for)
        write_duration(s, "for", verify_plan_span(s->factor, rule->for_ms));
    if (rule->keep_firing_ms > 0)
        write_duration(s, "keep_firing_for", verify_plan_span(s->factor, rule->keep_firing_ms));
    write_texts(s, "labels", rule->labels, rule->n_labels);
    write_texts(s, "annotations", rule->annotations, rule->n_annotations);
    jsonw_end_object(&s->w);
}

static void write_group_labels(struct scaled_writer *s, struct labels l)
{
    if (l.n > 0)
        labels_write(l, "labels", &s->w);
}

static void write_group(struct scaled_writer *s, const struct rule_group *g)
{
    jsonw_begin_object(&s->w);
    jsonw_put_str(&s->w, "name", g->name);
    write_duration(s, "interval", verify_plan_interval(s->factor, g));
    if (g->query_offset_ms >= 0)
        write_duration(s, "query_offset", verify_plan_span(s->factor, g->query_offset_ms));
    if (g->limit > 0) {
        jsonw_put_u64(&s->w, "limit", g->limit);
    }
    write_group_labels(s, g->labels);
    jsonw_key(&s->w, "rules");
    jsonw_begin_array(&s->w);
    for (size_t i = 0; i < g->n; i++)
        write_rule(s, &g->rules[i]);
    jsonw_end_array(&s->w);
    jsonw_end_object(&s->w);
}

int verify_scaled_write(const struct verify_plan *p, size_t i, struct buf *out)
{
    const struct rule_file *f = p->files[i];
    struct scaled_writer s = {.factor = p->factor};

    jsonw_init(&s.w, out);
    buf_init(&s.text, (size_t)PROMQL_QUERY_MAX * 2);
    jsonw_begin_object(&s.w);
    jsonw_key(&s.w, "groups");
    jsonw_begin_array(&s.w);
    for (size_t g = 0; g < f->n; g++)
        write_group(&s, &f->groups[g]);
    jsonw_end_array(&s.w);
    jsonw_end_object(&s.w);
    buf_done(&s.text);
    return jsonw_error(&s.w);
}

/* --- for people --- */

static int show_duration(const char *key, int64_t before, int64_t after, struct buf *out)
{
    int r = buf_printf(out, "      %s: ", key);

    if (r == 0)
        r = duration_print(before, out);
    if (r == 0 && after != before) {
        r = buf_append(out, SPAN(" -> "));
        if (r == 0)
            r = duration_print(after, out);
    }
    return r == 0 ? buf_append(out, SPAN("\n")) : r;
}

static int show_rule(const struct rule *rule, double factor, struct buf *out)
{
    int r = buf_printf(out, "    %s: %.*s\n      expr: ", rule->is_alert ? "alert" : "record",
                       SPAN_ARG(rule->name));

    if (r == 0)
        r = verify_plan_print(promql_root(rule->expr), factor, out);
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    if (r == 0 && rule->for_ms > 0)
        r = show_duration("for", rule->for_ms, verify_plan_span(factor, rule->for_ms), out);
    if (r == 0 && rule->keep_firing_ms > 0)
        r = show_duration("keep_firing_for", rule->keep_firing_ms,
                          verify_plan_span(factor, rule->keep_firing_ms), out);
    return r;
}

static int show_group(const struct rule_group *g, double factor, struct buf *out)
{
    int r = buf_printf(out, "  group %.*s\n", SPAN_ARG(g->name));

    if (r == 0)
        r = show_duration("interval", verify_plan_interval(1, g), verify_plan_interval(factor, g),
                          out);
    for (size_t i = 0; i < g->n && r == 0; i++)
        r = show_rule(&g->rules[i], factor, out);
    return r;
}

int verify_scaled_show(const struct verify_plan *p, size_t i, struct buf *out)
{
    const struct rule_file *f = p->files[i];
    int r = p->factor == 1
                ? buf_printf(out, "%s: as it is written\n", f->path)
                : buf_printf(out,
                             "%s: %g times as fast; ranges are at least 5s, steps and intervals "
                             "1s (--real-time: as it is written)\n",
                             f->path, p->factor);

    for (size_t g = 0; g < f->n && r == 0; g++)
        r = show_group(&f->groups[g], p->factor, out);
    return r;
}
