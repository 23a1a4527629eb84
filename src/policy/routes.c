/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/routes.c - names in one sorted array, beginnings in one that is sorted by length, both
 * pointing into texts that the table owns.
 */
#include "policy/routes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* One name or beginning at one upstream, or an alias (whose target is served). */
struct entry {
    char *name;
    char *served; /* NULL: the same */
    size_t n;     /* of name */
    size_t upstream;
};

struct entries {
    struct entry *items;
    size_t n;
};

struct target {
    char *name;
    char *bearer; /* "Bearer KEY", or "" */
    char *key;    /* in bearer */
    char *key_header;
    uint32_t weight;
    uint32_t priority;
    bool takes_all;
};

struct routes {
    atomic_int refs;
    struct entries names;    /* by name, then upstream */
    struct entries prefixes; /* longest first */
    struct entries aliases;  /* by name */
    size_t n_targets;
    struct target targets[];
};

/* --- texts of models --- */

/* "NAME=SERVED" -> its parts; served is empty without "=". */
static struct span split_model(const char *text, struct span *ret_served)
{
    struct span rest = span_cstr(text);
    struct span name = span_split(&rest, '=');

    *ret_served = rest;
    return name;
}

static bool has_char(struct span s, char c)
{
    return span_find_char(s, c) < s.n;
}

static const char *model_fault(const char *text)
{
    struct span served;
    struct span name = split_model(text, &served);

    if (name.n == 0)
        return "there is no name";
    if (name.n < strlen(text) && served.n == 0)
        return "there is nothing behind \"=\"";
    if (has_char((struct span){name.p, name.n - 1}, '*'))
        return "\"*\" is not at its end";
    if (has_char(served, '*'))
        return "\"*\" behind \"=\"";
    return NULL;
}

int routes_check_model(const char *text, struct err *reterr)
{
    const char *fault = model_fault(text);

    if (!fault)
        return 0;
    err_set(reterr, -EINVAL, "model \"%s\": %s", text, fault);
    err_hint(reterr, "write NAME, PREFIX*, or NAME=SERVED");
    return -EINVAL;
}

int routes_check_alias(const char *text, struct err *reterr)
{
    struct span target;
    struct span name = split_model(text, &target);
    const char *fault =
        target.n == 0 ? "an alias needs \"=\" and a model behind it" : model_fault(text);

    if (!fault && has_char(name, '*'))
        fault = "an alias is one name, without \"*\"";
    if (!fault)
        return 0;
    err_set(reterr, -EINVAL, "alias \"%s\": %s", text, fault);
    err_hint(reterr, "write NAME=MODEL, for example gpt-4o=llama-3.1-70b");
    return -EINVAL;
}

/* --- making --- */

static void entries_done(struct entries *e)
{
    for (size_t i = 0; i < e->n; i++) {
        mem_free(e->items[i].name);
        mem_free(e->items[i].served);
    }
    mem_free(e->items);
    *e = (struct entries){0};
}

/* Room was made by entries_init. */
static int entries_add(struct entries *e, struct span name, struct span served, size_t upstream)
{
    struct entry *entry = &e->items[e->n++];

    *entry = (struct entry){.n = name.n, .upstream = upstream};
    entry->name = mem_strndup(name.p, name.n);
    if (entry->name && served.n > 0)
        entry->served = mem_strndup(served.p, served.n);
    return !entry->name || (served.n > 0 && !entry->served) ? -ENOMEM : 0;
}

static int entries_init(struct entries *e, size_t n)
{
    e->items = mem_zalloc(n + 1, sizeof(e->items[0]));
    return e->items ? 0 : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
    const struct entry *ea = a, *eb = b;
    int order = strcmp(ea->name, eb->name);

    if (order != 0)
        return order;
    return ea->upstream < eb->upstream ? -1 : ea->upstream > eb->upstream;
}

static int compare_lengths(const void *a, const void *b)
{
    const struct entry *ea = a, *eb = b;

    if (ea->n != eb->n)
        return ea->n > eb->n ? -1 : 1;
    return ea->upstream < eb->upstream ? -1 : ea->upstream > eb->upstream;
}

static int add_model(struct routes *r, const char *text, size_t upstream)
{
    struct span served;
    struct span name = split_model(text, &served);

    if (model_fault(text))
        return 0;
    if (name.p[name.n - 1] != '*')
        return entries_add(&r->names, name, served, upstream);
    name.n--;
    if (name.n == 0 && served.n == 0)
        r->targets[upstream].takes_all = true;
    /* "*=SERVED" takes everything, too, as the shortest of beginnings. */
    return name.n == 0 && served.n == 0 ? 0 : entries_add(&r->prefixes, name, served, upstream);
}

static int add_key(struct target *t, const char *key)
{
    const char *scheme = key[0] != '\0' ? "Bearer " : "";
    size_t n_scheme = strlen(scheme), n = strlen(key);

    t->bearer = mem_alloc(n_scheme + n + 1);
    if (!t->bearer)
        return -ENOMEM;
    memcpy(t->bearer, scheme, n_scheme);
    t->key = t->bearer + n_scheme;
    memcpy(t->key, key, n + 1);
    return 0;
}

static int add_target(struct routes *r, const struct routes_upstream *u, size_t i)
{
    struct target *t = &r->targets[i];
    int error = 0;

    t->weight = u->weight > 0 ? u->weight : 1;
    t->priority = u->priority;
    t->takes_all = u->n_models == 0;
    t->name = mem_strdup(u->name);
    t->key_header = mem_strdup(u->key_header ? u->key_header : "");
    if (!t->name || !t->key_header)
        return -ENOMEM;
    error = add_key(t, u->key ? u->key : "");
    for (size_t k = 0; k < u->n_models && error == 0; k++)
        error = add_model(r, u->models[k], i);
    for (size_t k = 0; k < u->n_listed && u->n_models == 0 && error == 0; k++)
        error = entries_add(&r->names, span_cstr(u->listed[k]), (struct span){0}, i);
    return error;
}

static int add_aliases(struct routes *r, const struct routes_config *config)
{
    int error = 0;

    for (size_t i = 0; i < config->n_aliases && error == 0; i++) {
        struct span target;
        struct span name = split_model(config->aliases[i], &target);

        if (routes_check_alias(config->aliases[i], NULL) == 0)
            error = entries_add(&r->aliases, name, target, 0);
    }
    return error;
}

static int fill(struct routes *r, const struct routes_config *config)
{
    size_t n_models = 0, n_listed = 0;
    int error;

    for (size_t i = 0; i < config->n_upstreams; i++) {
        n_models += config->upstreams[i].n_models;
        n_listed += config->upstreams[i].n_listed;
    }
    error = entries_init(&r->names, n_models + n_listed);
    if (error == 0)
        error = entries_init(&r->prefixes, n_models);
    if (error == 0)
        error = entries_init(&r->aliases, config->n_aliases);
    for (size_t i = 0; i < config->n_upstreams && error == 0; i++)
        error = add_target(r, &config->upstreams[i], i);
    if (error == 0)
        error = add_aliases(r, config);
    if (error < 0)
        return error;
    qsort(r->names.items, r->names.n, sizeof(struct entry), compare_names);
    qsort(r->prefixes.items, r->prefixes.n, sizeof(struct entry), compare_lengths);
    qsort(r->aliases.items, r->aliases.n, sizeof(struct entry), compare_names);
    return 0;
}

int routes_new(const struct routes_config *config, struct routes **ret)
{
    struct routes *r = mem_zalloc(1, sizeof(*r) + config->n_upstreams * sizeof(r->targets[0]));
    int error;

    if (!r)
        return -ENOMEM;
    atomic_init(&r->refs, 1);
    r->n_targets = config->n_upstreams;
    error = fill(r, config);
    if (error < 0) {
        routes_unref(r);
        return error;
    }
    *ret = r;
    return 0;
}

struct routes *routes_ref(struct routes *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

struct routes *routes_unref(struct routes *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < r->n_targets; i++) {
        struct target *t = &r->targets[i];

        if (t->bearer)
            explicit_bzero(t->bearer, strlen(t->bearer));
        mem_free(t->bearer);
        mem_free(t->key_header);
        mem_free(t->name);
    }
    entries_done(&r->names);
    entries_done(&r->prefixes);
    entries_done(&r->aliases);
    mem_free(r);
    return NULL;
}

/* --- finding --- */

/* The first entry of that name, or n. */
static size_t find_name(const struct entries *e, const char *name)
{
    size_t low = 0, high = e->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(e->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < e->n && strcmp(e->items[low].name, name) == 0 ? low : e->n;
}

/* All that match, in the table's order. */
struct found {
    size_t n;
    struct routes_candidate items[TAP_UPSTREAMS_MAX];
};

static void found_add(struct found *f, size_t upstream, const char *served)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->items[i].upstream == upstream)
            return;
    }
    if (f->n < TAP_UPSTREAMS_MAX)
        f->items[f->n++] = (struct routes_candidate){upstream, served};
}

static void find_exact(const struct routes *r, const char *model, struct found *ret)
{
    size_t first = find_name(&r->names, model);

    for (size_t i = first; i < r->names.n && strcmp(r->names.items[i].name, model) == 0; i++)
        found_add(ret, r->names.items[i].upstream, r->names.items[i].served);
}

static void find_prefix(const struct routes *r, const char *model, struct found *ret)
{
    size_t n_longest = 0;

    for (size_t i = 0; i < r->prefixes.n; i++) {
        const struct entry *e = &r->prefixes.items[i];

        if (e->n == 0 || (ret->n > 0 && e->n < n_longest))
            break; /* the shorter ones follow; "*" is for find_default */
        if (strncmp(e->name, model, e->n) != 0)
            continue;
        n_longest = e->n;
        found_add(ret, e->upstream, e->served);
    }
}

static void find_default(const struct routes *r, struct found *ret)
{
    for (size_t i = 0; i < r->n_targets; i++) {
        if (r->targets[i].takes_all)
            found_add(ret, i, NULL);
    }
    for (size_t i = r->prefixes.n; i > 0 && r->prefixes.items[i - 1].n == 0; i--)
        found_add(ret, r->prefixes.items[i - 1].upstream, r->prefixes.items[i - 1].served);
}

static void find_all(const struct routes *r, struct found *ret)
{
    for (size_t i = 0; i < r->n_targets; i++)
        found_add(ret, i, NULL);
}

/* --- order --- */

static bool is_before(const struct routes *r, const struct found *f, size_t a, size_t b)
{
    return r->targets[f->items[a].upstream].priority < r->targets[f->items[b].upstream].priority;
}

/* One of those with the lowest priority, by weight. */
static size_t draw(const struct routes *r, const struct found *f, struct rng *rng)
{
    uint64_t sum = 0, at;
    size_t first = 0;

    for (size_t i = 1; i < f->n; i++) {
        if (is_before(r, f, i, first))
            first = i;
    }
    for (size_t i = 0; i < f->n; i++) {
        if (!is_before(r, f, first, i))
            sum += r->targets[f->items[i].upstream].weight;
    }
    at = rng_below(rng, sum);
    for (size_t i = 0; i < f->n; i++) {
        uint32_t weight = r->targets[f->items[i].upstream].weight;

        if (is_before(r, f, first, i))
            continue;
        if (at < weight)
            return i;
        at -= weight;
    }
    return first;
}

static void order(const struct routes *r, struct found *f, struct rng *rng,
                  struct routes_match *ret)
{
    while (f->n > 0 && ret->n < POLICY_CANDIDATES_MAX) {
        size_t i = f->n == 1 ? 0 : draw(r, f, rng);

        ret->candidates[ret->n++] = f->items[i];
        f->items[i] = f->items[--f->n];
    }
}

void routes_find(const struct routes *r, const char *model, struct rng *rng,
                 struct routes_match *ret)
{
    size_t alias = find_name(&r->aliases, model);
    struct found found;

    found.n = 0;
    *ret = (struct routes_match){.model = model};
    if (alias < r->aliases.n)
        ret->model = r->aliases.items[alias].served;
    if (*ret->model != '\0') {
        find_exact(r, ret->model, &found);
        if (found.n == 0)
            find_prefix(r, ret->model, &found);
    }
    if (found.n == 0)
        find_default(r, &found);
    if (found.n == 0 && *ret->model == '\0')
        find_all(r, &found);
    order(r, &found, rng, ret);
    for (size_t i = 0; i < ret->n && alias < r->aliases.n; i++) {
        if (!ret->candidates[i].served)
            ret->candidates[i].served = ret->model;
    }
}

/* --- what is in it --- */

bool routes_is_transparent(const struct routes *r)
{
    return r->n_targets == 1 && r->targets[0].takes_all && r->prefixes.n == 0 && r->aliases.n == 0;
}

size_t routes_n_upstreams(const struct routes *r)
{
    return r->n_targets;
}

const char *routes_name(const struct routes *r, size_t upstream)
{
    return r->targets[upstream].name;
}

struct routes_credential routes_credential(const struct routes *r, size_t upstream,
                                           const char *field)
{
    const struct target *t = &r->targets[upstream];
    struct span name = SPAN("Authorization");

    if (t->key[0] == '\0')
        return (struct routes_credential){.name = SPAN("")};
    if (t->key_header[0] != '\0')
        name = span_cstr(t->key_header);
    else if (field)
        name = span_cstr(field);
    bool is_bearer = span_eq_nocase(name, SPAN("Authorization"));
    return (struct routes_credential){name, span_cstr(is_bearer ? t->bearer : t->key)};
}

void routes_each_model(const struct routes *r, void (*each)(void *ctx, const char *name), void *ctx)
{
    const char *before = NULL;
    size_t i = 0, k = 0;

    while (i < r->names.n || k < r->aliases.n) {
        bool is_name =
            k == r->aliases.n ||
            (i < r->names.n && strcmp(r->names.items[i].name, r->aliases.items[k].name) <= 0);
        const char *name = is_name ? r->names.items[i++].name : r->aliases.items[k++].name;

        if (!before || strcmp(before, name) != 0)
            each(ctx, name);
        before = name;
    }
}
