/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_objectives.c - "slos[].objectives": objective -> threshold and target.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "base/suggest.h"
#include "daemon/config_values.h"

#define THRESHOLD_MAX_NS (24 * (3600 * NS_PER_S))

/* "99.5%" is 0.995, as near as can be: the decimal point moves, nothing is divided. */
static int take_target(const struct config_source *source, const struct config_key *key,
                       const struct yaml_node *node, double *ret)
{
    char shown[ERR_LIST_SHOWN_MAX], text[64];
    struct span s = yaml_span(node);
    int r = config_values_need_scalar(source, key, node);
    double part = -1;
    struct err *e;

    if (r < 0)
        return r;
    if (s.n > 1 && s.n < 32 && s.p[s.n - 1] == '%') {
        s.n--;
        while (s.n > 0 && s.p[s.n - 1] == ' ')
            s.n--;
        (void)snprintf(text, sizeof(text), "%.*se-2", SPAN_ARG(s));
        if (strspn(text, "0123456789.") != s.n || num_parse_double(span_cstr(text), &part) < 0)
            part = -1;
    }
    if (part > 0 && part <= 1) {
        *ret = part;
        return 0;
    }
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL,
                  part > 1    ? "\"%s\": a target of %s is more than all requests"
                  : part == 0 ? "\"%s\": a target of %s is met by nothing at all"
                              : "\"%s\": \"%s\" is not a percentage",
                  key->path, err_list_shown(yaml_span(node), shown));
    err_hint(e, "the part that has to be good, for example 99.5%%");
    return -EINVAL;
}

static int out_of_range(const struct config_source *source, const struct yaml_node *node)
{
    struct err *e = config_keys_error(source, node);

    (void)err_set(e, -EINVAL, "\"objectives\": a threshold is more than 0 and at most 24h");
    err_hint(e, "for example 3s");
    return -EINVAL;
}

static int take_threshold(const struct config_source *source, const struct config_key *key,
                          const struct yaml_node *node, int64_t *ret)
{
    int r = config_values_need_scalar(source, key, node);
    int64_t ns = 0;

    if (r == 0)
        r = config_values_parse_duration(source, key, node, &ns);
    if (r < 0)
        return r;
    if (ns <= 0 || ns > THRESHOLD_MAX_NS)
        return out_of_range(source, node);
    *ret = ns;
    return 0;
}

static int unknown_member(const struct config_source *source, const struct yaml_node *k,
                          enum slo_objective o)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;
    struct err *e = config_keys_error(source, k);

    (void)err_set(e, -EINVAL, "unknown key \"%s\" in objective \"%s\"",
                  err_list_shown(yaml_span(k), shown), slo_objective_name(o));
    suggest_init(&s, yaml_span(k));
    suggest_offer(&s, SPAN("target"));
    if (slo_objective_is_duration(o))
        suggest_offer(&s, SPAN("threshold"));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, slo_objective_is_duration(o) ? "known here: threshold, target"
                                                 : "known here: target");
    return -EINVAL;
}

static int take_members(const struct config_source *source, const struct config_key *key,
                        const struct yaml_node *map, enum slo_objective o,
                        struct config_objective *ret)
{
    int result = 0;

    for (const struct yaml_node *k = map->first; k; k = k->next) {
        bool is_known = k->kind != YAML_NODE_BAD && k->value;
        int r = -EINVAL;

        if (is_known && strcmp(k->text, "target") == 0)
            r = take_target(source, key, k->value, &ret->target);
        else if (is_known && slo_objective_is_duration(o) && strcmp(k->text, "threshold") == 0)
            r = take_threshold(source, key, k->value, &ret->threshold_ns);
        else if (is_known)
            r = unknown_member(source, k, o);
        if (r < 0)
            result = r;
    }
    return result;
}

static int take_objective(const struct config_source *source, const struct config_key *key,
                          const struct yaml_node *k, enum slo_objective o,
                          struct config_objective *ret)
{
    const struct yaml_node *value = k->value;

    *ret = (struct config_objective){.is_told = true, .line = k->line, .column = k->column};
    if (value->kind == YAML_NODE_MAP)
        return take_members(source, key, value, o, ret);
    if (value->kind == YAML_NODE_SCALAR && strcmp(value->text, "none") == 0) {
        ret->is_none = true;
        return 0;
    }
    return slo_objective_is_duration(o) ? take_threshold(source, key, value, &ret->threshold_ns)
                                        : take_target(source, key, value, &ret->target);
}

static int unknown_objective(const struct config_source *source, const struct yaml_node *k)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;
    struct err *e = config_keys_error(source, k);

    (void)err_set(e, -EINVAL, "there is no objective \"%s\"", err_list_shown(yaml_span(k), shown));
    suggest_init(&s, yaml_span(k));
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++)
        suggest_offer(&s, span_cstr(slo_objective_name((enum slo_objective)o)));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "there are ttft, tpot, queue, e2e, errors and goodput");
    return -EINVAL;
}

static enum slo_objective objective_find(const char *name)
{
    int o = 0;

    while (o < SLO_OBJECTIVE_COUNT_ && strcmp(slo_objective_name((enum slo_objective)o), name) != 0)
        o++;
    return (enum slo_objective)o;
}

static int objectives_set(const struct config_source *source, const struct config_key *key,
                          const struct yaml_node *node, bool is_append, void *field)
{
    struct config_objectives made = {0};
    int result = config_values_need_map(source, key, node);

    (void)is_append;
    for (const struct yaml_node *k = node->kind == YAML_NODE_MAP ? node->first : NULL; k;
         k = k->next) {
        enum slo_objective o;
        int r;

        if (k->kind == YAML_NODE_BAD || !k->value || k->value->kind == YAML_NODE_BAD)
            return -EINVAL; /* listed already */
        o = objective_find(k->text);
        r = o == SLO_OBJECTIVE_COUNT_ ? unknown_objective(source, k)
                                      : take_objective(source, key, k, o, &made.at[o]);
        if (r < 0)
            result = r;
    }
    if (result == 0)
        *(struct config_objectives *)field = made;
    return result;
}

static int objective_format(const struct config_objective *t, enum slo_objective o, struct buf *out)
{
    char duration[32];
    int r = buf_printf(out, "%s: %s", slo_objective_name(o), t->is_none ? "none" : "{");

    if (r < 0 || t->is_none)
        return r;
    if (t->threshold_ns > 0) {
        config_values_duration(t->threshold_ns, duration, sizeof(duration));
        r = buf_printf(out, "threshold: %s%s", duration, t->target > 0 ? ", " : "");
    }
    if (r == 0 && t->target > 0)
        r = buf_printf(out, "target: %.12g%%", t->target * 100);
    return r < 0 ? r : buf_append(out, SPAN("}"));
}

static int objectives_format(const struct config_key *key, const void *field, struct buf *out)
{
    const struct config_objectives *t = field;
    const char *separator = "";
    int r = buf_append(out, SPAN("{"));

    (void)key;
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_ && r == 0; o++) {
        if (!t->at[o].is_told)
            continue;
        r = buf_append(out, span_cstr(separator));
        if (r == 0)
            r = objective_format(&t->at[o], (enum slo_objective)o, out);
        separator = ", ";
    }
    return r < 0 ? r : buf_append(out, SPAN("}"));
}

static bool objectives_is_equal(const struct config_key *key, const void *a, const void *b)
{
    const struct config_objectives *ta = a, *tb = b;

    (void)key;
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
        const struct config_objective *x = &ta->at[o], *y = &tb->at[o];

        if (x->is_told != y->is_told || x->is_none != y->is_none ||
            x->threshold_ns != y->threshold_ns || fabs(x->target - y->target) > 0)
            return false;
    }
    return true;
}

const struct config_type config_type_slo_objectives = {
    .what = "a mapping from objectives to thresholds and targets",
    .set = objectives_set,
    .format = objectives_format,
    .is_equal = objectives_is_equal,
};
