/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/did_you_mean.c - the metric that a name which does not exist was meant for.
 */
#include "base/suggest.h"
#include "engine/engine_private.h"

static const struct span tails[] = {
    SPAN_INIT("_bucket"),
    SPAN_INIT("_sum"),
    SPAN_INIT("_count"),
};

static const struct engine_wrong *find_wrong(struct span name)
{
    for (size_t i = 0; i < engine_wrongs_n; i++)
        if (span_eq(span_cstr(engine_wrongs[i].name), name))
            return &engine_wrongs[i];
    return NULL;
}

static bool exists(struct span name)
{
    for (size_t i = 0; i < engine_maps_n; i++)
        if (naming_has(engine_maps[i], name))
            return true;
    return false;
}

/* As the tables have it: without Ray's or Dynamo's front, in dst. */
static struct span to_table(struct span name, char *dst)
{
    for (size_t i = 0; i < engine_maps_n; i++) {
        for (const struct engine_prefix *p = engine_maps[i]->prefixes; p->as; p++) {
            struct engine_found e = {.map = engine_maps[i], .alias = p, .prefix = span_cstr(p->as)};

            if (strcmp(p->as, p->in_table) != 0 && (p->flags & ENGINE_PREFIX_EXACT) == 0 &&
                span_starts_with(name, e.prefix) && naming_to_table(&e, name, dst))
                return span_cstr(dst);
        }
    }
    return name;
}

/* A name that was not offered yet, is not wrong itself, and is about as long. */
static bool is_candidate(const struct engine_map *map, size_t i, struct span name)
{
    struct span own = span_cstr(map->names[i].name);
    size_t longer = own.n > name.n ? own.n : name.n, shorter = own.n + name.n - longer;

    return !map->names[i].label && (i == 0 || strcmp(map->names[i - 1].name, own.p) != 0) &&
           longer - shorter <= longer / 3 && !find_wrong(own);
}

static struct span nearest(struct span name)
{
    struct suggest s;

    suggest_init(&s, name);
    for (size_t i = 0; i < engine_maps_n; i++)
        for (size_t k = 0; k < engine_maps[i]->n_names; k++)
            if (is_candidate(engine_maps[i], k, name))
                suggest_offer(&s, span_cstr(engine_maps[i]->names[k].name));
    return s.best;
}

const char *engine_did_you_mean(struct span name, const char **ret_why)
{
    char text[ENGINE_NAME_MAX];
    const struct engine_wrong *wrong = NULL;

    *ret_why = NULL;
    name = to_table(name, text);
    for (size_t i = 0; i <= ARRAY_LEN(tails) && !wrong; i++) {
        struct span base = name;

        if (i > 0 && !span_ends_with(name, tails[i - 1]))
            continue;
        if (i > 0)
            base.n -= tails[i - 1].n;
        wrong = find_wrong(base);
        if (!wrong && exists(base))
            return NULL;
    }
    if (wrong) {
        *ret_why = wrong->why;
        return wrong->instead;
    }
    return nearest(name).p; /* of a table, where names end with NUL */
}
