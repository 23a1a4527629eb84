/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_slos.c - the table of an SLO's keys, and the SLOs that follow from them.
 */
#include "daemon/config_slos.h"

#include <errno.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/config_values.h"
#include "slo/burn.h"

#define DAY (24 * (3600 * NS_PER_S))

/* --- the table --- */

#define FIELD(member) offsetof(struct config_slo, member)

static const struct config_key keys[] = {
    {
        .path = "name",
        .type = &config_type_slo_name,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(name),
        .example = "chat",
        .help = "Value of the label `slo`. Without one: the preset's.",
    },
    {
        .path = "preset",
        .type = &config_type_slo_preset,
        .def = "",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(preset),
        .example = "chat",
        .help = "Objectives to begin with. `chat`: ttft within 3s and tpot within 50ms for 99 %, "
                "queue within 1s for 95 %, no error for 99.5 %. `completion`: 500ms, 30ms, 200ms, "
                "no error for 99.9 %. `batch`: 30s, 200ms, 5s, no error for 98 %.",
    },
    {
        .path = "match",
        .type = &config_type_slo_match,
        .def = "{}",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(match),
        .example = "{model: [\"qwen*\", llama-3.1-8b], stream: true}",
        .help = "Which requests: for each label one value or a list, of which the request has to "
                "have one; a `*` at the end stands for any rest. Labels are model, endpoint, "
                "upstream, version, stream (true, false), tenant, and business labels. Without "
                "this key: all requests.",
    },
    {
        .path = "objectives",
        .type = &config_type_slo_objectives,
        .def = "{}",
        .reload = CONFIG_RELOAD,
        .offset = FIELD(objectives),
        .example = "{ttft: {threshold: 2s, target: 99%}, errors: 99.9%, goodput: 98%}",
        .help = "What a good request does, and the part of them that has to: ttft, tpot, queue and "
                "e2e (answers that are no streams) with threshold and target; errors and goodput "
                "(all of it at once) with a target alone. A threshold alone changes the preset's, "
                "`none` takes it away. Targets of 83.34 % and more can page, below "
                "96.53 % at a burn rate that is capped (docs/OPERATIONS.md, SLOs).",
    },
    {
        .path = "window",
        .type = &config_type_duration,
        .def = "30d",
        .min = DAY,
        .max = 90 * DAY,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(window_ns),
        .help = "What the error budget is for. Whole hours.",
    },
    {
        .path = "min_bad",
        .type = &config_type_count,
        .def = "6",
        .min = 1,
        .max = 1000000,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(min_bad),
        .help = "Bad requests that a page needs in its long window, so that chance does not wake "
                "people where there are few requests.",
    },
};

/* --- what holds --- */

void config_slo_targets(const struct config_slo *s, struct slo_target ret[SLO_OBJECTIVE_COUNT_])
{
    const struct slo_preset *preset = slo_preset_find(span_cstr(s->preset));

    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
        const struct config_objective *told = &s->objectives.at[o];
        struct slo_target *t = &ret[o];

        *t = preset ? preset->targets[o] : (struct slo_target){0};
        if (told->is_none)
            *t = (struct slo_target){0};
        if (told->threshold_ns > 0)
            t->threshold_ns = told->threshold_ns;
        if (told->target > 0)
            t->target = told->target;
        t->is_set = t->is_set || (told->is_told && !told->is_none);
    }
}

static int check_objective(const struct config_source *source, const struct config_objective *told,
                           enum slo_objective o, const struct slo_target *t)
{
    struct err why = {0};
    struct err *e;
    int r = 0;

    if (!t->is_set)
        return 0;
    if (slo_objective_is_duration(o) && t->threshold_ns == 0)
        r = err_set(&why, -EINVAL, "objective \"%s\" without a threshold", slo_objective_name(o));
    else if (t->target == 0)
        r = err_set(&why, -EINVAL, "objective \"%s\" without a target", slo_objective_name(o));
    if (r < 0) {
        err_hint(&why,
                 slo_objective_is_duration(o) ? "for example %s: {threshold: 3s, target: 99%%}"
                                              : "for example %s: 99.5%%",
                 slo_objective_name(o));
    } else {
        r = slo_target_check(t->target, &why);
    }
    if (r < 0) {
        e = err_list_add(source->errs, source->where, told->line, told->column);
        *e = why;
    }
    return r < 0 ? -EINVAL : 0;
}

static int check_objectives(const struct config_source *source, const struct yaml_node *node,
                            const struct config_slo *s)
{
    struct slo_target targets[SLO_OBJECTIVE_COUNT_];
    bool is_any = false;
    int result = 0;
    struct err *e;

    config_slo_targets(s, targets);
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
        is_any = is_any || targets[o].is_set;
        if (check_objective(source, &s->objectives.at[o], (enum slo_objective)o, &targets[o]) < 0)
            result = -EINVAL;
    }
    if (is_any)
        return result;
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "an SLO without objectives");
    err_hint(e, "add preset: chat, or objectives: {ttft: {threshold: 3s, target: 99%%}}");
    return -EINVAL;
}

static int finish(const struct config_source *source, const struct yaml_node *node, void *item)
{
    struct config_slo *s = item;
    const char *mistake = NULL, *hint = "";
    struct err *e;
    char *name;

    if (s->name[0] == '\0' && s->preset[0] == '\0') {
        mistake = "an SLO without \"name\"";
        hint = "add name: chat";
    } else if (s->window_ns % (3600 * NS_PER_S) != 0) {
        mistake = "an SLO whose \"window\" is no whole hours";
        hint = "for example 30d";
    }
    if (mistake) {
        e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "%s", mistake);
        err_hint(e, "%s", hint);
        return -EINVAL;
    }
    if (s->name[0] == '\0') {
        name = mem_strdup(s->preset);
        if (!name)
            return -ENOMEM;
        mem_free(s->name);
        s->name = name;
    }
    return check_objectives(source, node, s);
}

static const char *name_of(const void *item)
{
    const struct config_slo *s = item;

    return s->name;
}

const struct config_item config_item_slo = {
    .table = {.keys = keys, .n = ARRAY_LEN(keys), .of = " of an SLO"},
    .size = sizeof(struct config_slo),
    .noun = "an SLO",
    .one_word = &keys[1],
    .finish = finish,
    .name = name_of,
};
_Static_assert(SLO_MIN_BAD_DEFAULT == 6, "the default of slos[].min_bad");

/* --- with the rest of the configuration --- */

static bool is_business(const struct config *c, const char *label)
{
    size_t i = 0;

    while (i < c->labels.n && strcmp(c->labels.items[i].name, label) != 0)
        i++;
    return i < c->labels.n;
}

static void check_label(const struct config *c, const struct config_match *m, const char *where,
                        struct err_list *errs)
{
    struct suggest s;
    struct err *e;

    if (slo_label_find(m->label) != SLO_LABEL_BUSINESS || is_business(c, m->label))
        return;
    e = err_list_add(errs, where, m->line, m->column);
    (void)err_set(e, -EINVAL, "\"match\": there is no label \"%s\"", m->label);
    suggest_init(&s, span_cstr(m->label));
    for (int l = 0; l < SLO_LABEL_COUNT_; l++)
        suggest_offer(&s, span_cstr(slo_label_name((enum slo_label)l)));
    for (size_t i = 0; i < c->labels.n; i++)
        suggest_offer(&s, span_cstr(c->labels.items[i].name));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "known are model, endpoint, upstream, version, stream, tenant, and those that "
                    "\"labels\" names");
}

/* The SLOs as slo/ takes them; texts are the configuration's. values: room for those of all. */
static struct slo slo_of(const struct config_slo *s)
{
    struct slo slo = {.name = s->name,
                      .n_matches = s->match.n,
                      .window_ms = s->window_ns / NS_PER_MS,
                      .min_bad = (uint32_t)s->min_bad};

    for (size_t i = 0; i < s->match.n; i++) {
        const struct config_match *m = &s->match.items[i];

        slo.matches[i] = (struct slo_match){.label = slo_label_find(m->label),
                                            .name = m->label,
                                            .values = (const char *const *)m->values.items,
                                            .n_values = m->values.n};
    }
    config_slo_targets(s, slo.targets);
    return slo;
}

static size_t slos_of(const struct config *c, struct slo ret[SLO_MAX])
{
    for (size_t i = 0; i < c->slos.n; i++)
        ret[i] = slo_of(&c->slos.items[i]);
    return c->slos.n;
}

void config_slos_check(const struct config *c, const char *where, struct err_list *errs)
{
    struct slo slos[SLO_MAX];
    size_t n = slos_of(c, slos);
    int64_t bounds[HIST_BOUNDS_MAX];

    for (size_t i = 0; i < c->slos.n; i++) {
        for (size_t k = 0; k < c->slos.items[i].match.n; k++)
            check_label(c, &c->slos.items[i].match.items[k], where, errs);
    }
    for (int i = 0; i < SLO_ERRORS; i++) {
        enum slo_objective o = (enum slo_objective)i;
        size_t n_bounds = config_slo_bounds(c, slos, n, o, bounds);
        struct err *e;

        if (n_bounds <= HIST_BOUNDS_MAX)
            continue;
        e = err_list_add(errs, where, 0, 0);
        (void)err_set(e, -EINVAL,
                      "\"slos\": with their thresholds, %s would have %zu bounds, more than %d",
                      family_table[config_slo_family(o)].name, n_bounds, HIST_BOUNDS_MAX);
        err_hint(e, "let SLOs share thresholds, or give it fewer in \"metrics.bounds\"");
    }
}

int config_slos_build(struct config *c)
{
    struct slo slos[SLO_MAX];
    size_t n = slos_of(c, slos);
    int r = slo_set_new(slos, n, &c->slo_set);

    return r < 0 ? r : config_slo_bounds_build(c, slos, n);
}
