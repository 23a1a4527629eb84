/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/relabel_make.c - rules as written into rules that run: what each action may and must have.
 */
#include <errno.h>

#include "base/suggest.h"
#include "scrape/relabel_private.h"

/* What a target_label has to be. */
enum target { TARGET_NONE, TARGET_NAME, TARGET_TEMPLATE };

static const struct action {
    const char *name;
    enum target target;
    bool has_regex;   /* it matches something */
    bool may_replace; /* a replacement has a meaning */
    bool is_of_names; /* nothing but a regex */
    bool is_equal;    /* nothing but sources and a target */
} actions[RELABEL_ACTION_COUNT_] = {
    [RELABEL_REPLACE] = {.name = "replace",
                         .target = TARGET_TEMPLATE,
                         .has_regex = true,
                         .may_replace = true},
    [RELABEL_KEEP] = {.name = "keep", .has_regex = true, .may_replace = true},
    [RELABEL_DROP] = {.name = "drop", .has_regex = true, .may_replace = true},
    [RELABEL_KEEP_EQUAL] = {.name = "keepequal", .target = TARGET_NAME, .is_equal = true},
    [RELABEL_DROP_EQUAL] = {.name = "dropequal", .target = TARGET_NAME, .is_equal = true},
    [RELABEL_HASH_MOD] = {.name = "hashmod", .target = TARGET_NAME, .may_replace = true},
    [RELABEL_LABEL_MAP] = {.name = "labelmap", .has_regex = true, .may_replace = true},
    [RELABEL_LABEL_DROP] = {.name = "labeldrop", .has_regex = true, .is_of_names = true},
    [RELABEL_LABEL_KEEP] = {.name = "labelkeep", .has_regex = true, .is_of_names = true},
    [RELABEL_LOWERCASE] = {.name = "lowercase", .target = TARGET_NAME},
    [RELABEL_UPPERCASE] = {.name = "uppercase", .target = TARGET_NAME},
};

const char *relabel_action_name(enum relabel_action a)
{
    return actions[a].name;
}

int relabel_action_of(struct span name, enum relabel_action *ret)
{
    for (int i = 0; i < RELABEL_ACTION_COUNT_; i++)
        if (span_eq_nocase(name, span_cstr(actions[i].name))) {
            *ret = (enum relabel_action)i;
            return 0;
        }
    return -EINVAL;
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t count_word(struct span s)
{
    size_t n = 0;
    while (n < s.n && is_word(s.p[n]))
        n++;
    return n;
}

/* Bytes of "$name" or "${name}" at the front; 0: it is none. */
static size_t reference_length(struct span s)
{
    bool has_brace = s.n > 1 && s.p[1] == '{';
    size_t from = has_brace ? 2 : 1;
    size_t n = s.n > 0 && s.p[0] == '$' ? count_word(span_from(s, from)) : 0;

    if (n == 0 || !has_brace)
        return n == 0 ? 0 : from + n;
    return from + n < s.n && s.p[from + n] == '}' ? from + n + 1 : 0;
}

/* Word characters and references, without a digit in front. */
static bool is_name_template(struct span s)
{
    bool is_first = true;

    for (; s.n > 0; is_first = false) {
        size_t n = s.p[0] == '$' ? reference_length(s) : count_word(s);
        if (n == 0 || (is_first && s.p[0] >= '0' && s.p[0] <= '9'))
            return false;
        (void)span_take(&s, n);
    }
    return !is_first;
}

static int refuse(struct err *reterr, const char **ret_field, const char *field, const char *name,
                  const char *why)
{
    *ret_field = field;
    return err_set(reterr, -EINVAL, "action %s %s", name, why);
}

static int check_target(const struct relabel_wish *w, const struct action *a,
                        const char **ret_field, struct err *reterr)
{
    const char *field = "target_label";

    if (a->is_of_names && w->target.n > 0)
        return refuse(reterr, ret_field, field, a->name, "takes nothing but regex");
    if (a->target == TARGET_NONE)
        return 0;
    if (w->target.n == 0)
        return refuse(reterr, ret_field, field, a->name, "needs a target_label");
    if (a->target == TARGET_NAME ? !labels_is_label_name(w->target) : !is_name_template(w->target))
        return refuse(reterr, ret_field, field, a->name,
                      "needs a target_label of letters, digits and '_'");
    return 0;
}

static int check_sources(const struct relabel_wish *w, const struct action *a,
                         const char **ret_field, struct err *reterr)
{
    const char *field = "source_labels";

    if (a->is_of_names && w->n_sources > 0)
        return refuse(reterr, ret_field, field, a->name, "takes nothing but regex");
    for (size_t i = 0; i < w->n_sources; i++)
        if (!labels_is_label_name(w->sources[i])) {
            *ret_field = field;
            return err_set(
                reterr, -EINVAL, "\"%.*s\" is no label's name",
                SPAN_ARG(span_of(w->sources[i].p, w->sources[i].n > 100 ? 100 : w->sources[i].n)));
        }
    return 0;
}

/* Keys that would have no effect are refused, as Prometheus does, where they are not the default.
 */
static int check_extras(const struct relabel_wish *w, const struct action *a,
                        const char **ret_field, struct err *reterr)
{
    bool is_bare = a->is_of_names || a->is_equal;
    bool has_replacement = w->has_replacement && !span_eq(w->replacement, SPAN("$1"));
    const char *only = a->is_equal ? "takes nothing but source_labels and target_label"
                                   : "takes nothing but regex";

    if (is_bare && w->has_separator && !span_eq(w->separator, SPAN(";")))
        return refuse(reterr, ret_field, "separator", a->name, only);
    if (is_bare && w->modulus != 0)
        return refuse(reterr, ret_field, "modulus", a->name, only);
    if (a->is_equal && w->has_regex)
        return refuse(reterr, ret_field, "regex", a->name, only);
    if (!a->may_replace && has_replacement)
        return refuse(reterr, ret_field, "replacement", a->name, "takes no replacement");
    if (w->action == RELABEL_LABEL_MAP && w->has_replacement && !is_name_template(w->replacement))
        return refuse(reterr, ret_field, "replacement", a->name,
                      "needs a replacement that makes a label's name");
    if (w->action == RELABEL_HASH_MOD && w->modulus == 0)
        return refuse(reterr, ret_field, "modulus", a->name, "needs a modulus above 0");
    return 0;
}

static int check(const struct relabel_wish *w, const char **ret_field, struct err *reterr)
{
    const struct action *a = &actions[w->action];
    int r = check_target(w, a, ret_field, reterr);

    if (r == 0)
        r = check_sources(w, a, ret_field, reterr);
    return r == 0 ? check_extras(w, a, ret_field, reterr) : r;
}

static bool dup(struct arena *a, struct span s, struct span *ret)
{
    *ret = arena_dup(a, s);
    return ret->p != NULL;
}

static int copy(struct relabel_rule *rule, const struct relabel_wish *w, struct arena *a)
{
    struct span *sources = arena_array(a, w->n_sources, sizeof(*sources));

    if (!sources)
        return -ENOMEM;
    *rule = (struct relabel_rule){
        .action = w->action, .sources = sources, .n_sources = w->n_sources, .modulus = w->modulus};
    for (size_t i = 0; i < w->n_sources; i++)
        if (!dup(a, w->sources[i], &sources[i]))
            return -ENOMEM;
    bool is_copied = dup(a, w->has_separator ? w->separator : SPAN(";"), &rule->separator) &&
                     dup(a, w->has_replacement ? w->replacement : SPAN("$1"), &rule->replacement) &&
                     dup(a, w->target, &rule->target);
    return is_copied ? 0 : -ENOMEM;
}

int relabel_make(const struct relabel_wish *w, struct arena *a, const struct relabel_rule **ret,
                 const char **ret_field, struct err *reterr)
{
    struct relabel_rule *rule;
    int r = check(w, ret_field, reterr);

    if (r < 0)
        return r;
    rule = arena_alloc(a, sizeof(*rule));
    if (!rule || copy(rule, w, a) < 0)
        return -ENOMEM;
    if (w->has_regex || actions[w->action].has_regex)
        r = pattern_new(w->has_regex ? w->regex : SPAN("(.*)"), &rule->pattern, reterr);
    if (r < 0) {
        *ret_field = "regex";
        return r;
    }
    *ret = rule;
    return 0;
}

void relabel_done(struct relabel_list rules)
{
    for (size_t i = 0; i < rules.n; i++)
        pattern_free(rules.at[i]->pattern);
}
