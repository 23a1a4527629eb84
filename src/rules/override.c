/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/override.h"

#include <errno.h>
#include <stdio.h>

static int compare_names(struct span a, struct span b)
{
    struct label x = {a, SPAN("")}, y = {b, SPAN("")};
    return labels_cmp((struct labels){&x, 1}, (struct labels){&y, 1});
}

int override_apply(struct arena *a, struct labels base, const struct override *set, size_t n,
                   struct labels *ret)
{
    struct label *pairs = arena_array(a, base.n + n, sizeof(*pairs));
    size_t n_pairs = 0, i = 0, j = 0;
    if (!pairs)
        return -ENOMEM;
    while (i < base.n || j < n) {
        int order = i == base.n ? 1 : j == n ? -1 : compare_names(base.at[i].name, set[j].name);
        if (order < 0)
            pairs[n_pairs++] = base.at[i];
        else if (set[j].value.n > 0)
            pairs[n_pairs++] = (struct label){set[j].name, set[j].value};
        i += order <= 0;
        j += order >= 0;
    }
    *ret = (struct labels){pairs, n_pairs};
    return 0;
}

int override_pairs(struct arena *a, const struct override *set, size_t n, struct labels *ret)
{
    struct label *pairs = arena_array(a, n, sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        pairs[i] = (struct label){set[i].name, set[i].value};
    *ret = (struct labels){pairs, n};
    return 0;
}

int override_error(struct arena *a, const char *why, struct span *ret)
{
    char text[sizeof(((struct err *)NULL)->text) + 64];
    int n = snprintf(text, sizeof(text), "<error expanding template: %s>", why);
    *ret = arena_dup(a, span_of(text, (size_t)n));
    return ret->p ? 0 : -ENOMEM;
}

static int expand_one(struct arena *a, const struct template *t, const struct template_env *env,
                      struct buf *out, struct span *ret)
{
    struct err err = {0};
    buf_clear(out);
    int r = template_run(t, env, out, &err);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return override_error(a, err.text[0] ? err.text : err_str(r), ret);
    *ret = arena_dup(a, buf_span(out));
    return ret->p ? 0 : -ENOMEM;
}

int override_expand(struct arena *a, const struct override *set, size_t n,
                    const struct template_env *env, struct buf *out, const struct override **ret)
{
    size_t n_templates = 0;
    for (size_t i = 0; i < n; i++)
        n_templates += set[i].template != NULL;
    *ret = set;
    if (n_templates == 0)
        return 0;
    struct override *values = arena_array(a, n, sizeof(*values));
    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        values[i] = set[i];
        int r = set[i].template ? expand_one(a, set[i].template, env, out, &values[i].value) : 0;
        if (r < 0)
            return r;
    }
    *ret = values;
    return 0;
}
