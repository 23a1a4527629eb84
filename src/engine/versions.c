/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/versions.c - which versions of an engine have just these names.
 *
 * Every version at which a name comes or goes is judged: names and labels that are there and should
 * not be, labels that should be there. Names that are hidden by default may be there or not. The
 * best ones are the answer, so that a page that fits none (two versions behind one address) still
 * has the nearest. When such a version's names are (nearly) all there, the page is whole, and names
 * that are missing count as well.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_private.h"

/* A page with less of a version's names is an excerpt. */
#define WHOLE_RATIO 0.9

enum {
    MIXTURE = 1, /* counts less than what it explains */
    CONTRADICTION = 2,
    EDITIONS = ENGINE_NAME_V0 | ENGINE_NAME_V1,
    BECAUSE_MAX = 6, /* for both ends */
    BECAUSE_END_MAX = 3,
};

enum sight { SIGHT_NONE, SIGHT_DECLARED, SIGHT_THERE, SIGHT_UNKNOWN };

/* All rows of one name, or one label of a name, and what the page has of it. */
struct evidence {
    const struct engine_name *rows;
    size_t n;
    enum sight sight;
};

struct point {
    engine_version v;
    unsigned edition; /* bits of EDITIONS */
    unsigned n_against;
    unsigned n_needed, n_absent;
};

struct judge {
    struct evidence *evidence;
    size_t n_evidence;
    engine_version *borders;
    size_t n_borders;
    struct point *points;
    size_t n_points;
    bool is_whole;
};

/* --- the page --- */

static bool has_label(const struct page_family *fam, const char *label)
{
    for (size_t i = 0; i < fam->n; i++)
        if (labels_get(fam->samples[i].labels, span_cstr(label)).n > 0)
            return true;
    return false;
}

/* Whether a family has another label of the table: then its labels are the engine's own. */
static bool has_other_label(const struct engine_map *map, const struct page_family *fam,
                            const struct engine_name *row)
{
    for (size_t i = 0; i < map->n_names; i++) {
        const struct engine_name *other = &map->names[i];

        if (other->label && strcmp(other->name, row->name) == 0 &&
            strcmp(other->label, row->label) != 0 && has_label(fam, other->label))
            return true;
    }
    return false;
}

static enum sight sight_of(const struct families *f, const struct engine_found *e,
                           const struct engine_name *row)
{
    const struct page_family *fam = naming_family(f, e, row->name);

    if (!row->label)
        return !fam ? SIGHT_NONE : fam->n > 0 ? SIGHT_THERE : SIGHT_DECLARED;
    if (!fam || fam->n == 0)
        return SIGHT_UNKNOWN;
    if (has_label(fam, row->label))
        return SIGHT_THERE;
    return has_other_label(e->map, fam, row) ? SIGHT_NONE : SIGHT_UNKNOWN;
}

static bool is_same(const struct engine_name *a, const struct engine_name *b)
{
    return strcmp(a->name, b->name) == 0 && !a->label == !b->label &&
           (!a->label || strcmp(a->label, b->label) == 0);
}

static int gather(const struct families *f, struct arena *a, const struct engine_found *e,
                  struct judge *j)
{
    const struct engine_map *map = e->map;

    j->evidence = arena_array(a, map->n_names, sizeof *j->evidence);
    if (!j->evidence)
        return -ENOMEM;
    for (size_t i = 0; i < map->n_names; i++) {
        if (i > 0 && is_same(&map->names[i], &map->names[i - 1]))
            j->evidence[j->n_evidence - 1].n++;
        else
            j->evidence[j->n_evidence++] =
                (struct evidence){&map->names[i], 1, sight_of(f, e, &map->names[i])};
    }
    return 0;
}

/* --- one version --- */

static bool covers(const struct engine_name *row, engine_version v, unsigned edition)
{
    bool is_of = (row->flags & EDITIONS) == 0 || (row->flags & edition) != 0;

    return is_of && row->since <= v && v <= row->until;
}

static unsigned against(const struct evidence *ev, const struct point *p, bool *ret_needed)
{
    bool is_covered = false;

    *ret_needed = false;
    for (size_t i = 0; i < ev->n; i++) {
        if (!covers(&ev->rows[i], p->v, p->edition))
            continue;
        is_covered = true;
        *ret_needed =
            *ret_needed || (ev->rows[i].flags & (ENGINE_NAME_HIDDEN | ENGINE_NAME_OPTIONAL)) == 0;
    }
    if (ev->sight == SIGHT_THERE)
        return is_covered ? 0 : CONTRADICTION;
    return ev->rows[0].label && ev->sight == SIGHT_NONE && *ret_needed ? CONTRADICTION : 0;
}

/* What a prefix says of the version. */
static bool is_of_alias(const struct engine_found *e, engine_version v)
{
    return e->alias->until == 0 || (e->alias->since <= v && v <= e->alias->until);
}

static void judge_point(const struct judge *j, const struct engine_found *e, struct point *p)
{
    p->n_against = is_of_alias(e, p->v) ? 0 : CONTRADICTION;
    /* Both editions at once is what pages of a mixture have. */
    p->n_against += p->edition == EDITIONS ? MIXTURE : 0;
    for (size_t i = 0; i < j->n_evidence; i++) {
        const struct evidence *ev = &j->evidence[i];
        bool is_needed;

        p->n_against += against(ev, p, &is_needed);
        if (ev->rows[0].label || !is_needed || p->edition == EDITIONS)
            continue;
        p->n_needed++;
        p->n_absent += ev->sight == SIGHT_NONE;
    }
}

/* --- all versions --- */

static int version_cmp(const void *pa, const void *pb)
{
    const engine_version *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

static int find_borders(const struct engine_found *e, struct arena *a, struct judge *j)
{
    const struct engine_map *map = e->map;
    size_t n = 0;

    j->borders = arena_array(a, 2 * map->n_names + 2, sizeof *j->borders);
    if (!j->borders)
        return -ENOMEM;
    if (e->alias->since != 0)
        j->borders[n++] = e->alias->since;
    if (e->alias->until != 0 && e->alias->until != ENGINE_NEWEST)
        j->borders[n++] = e->alias->until;
    for (size_t i = 0; i < map->n_names; i++) {
        j->borders[n++] = map->names[i].since;
        if (map->names[i].until != ENGINE_NEWEST)
            j->borders[n++] = map->names[i].until;
    }
    qsort(j->borders, n, sizeof *j->borders, version_cmp);
    for (size_t i = 0; i < n; i++)
        if (j->n_borders == 0 || j->borders[i] != j->borders[j->n_borders - 1])
            j->borders[j->n_borders++] = j->borders[i];
    return 0;
}

static unsigned editions_of(const struct engine_map *map)
{
    for (size_t i = 0; i < map->n_names; i++)
        if ((map->names[i].flags & EDITIONS) != 0)
            return EDITIONS;
    return 0;
}

/* Each border in each edition. */
static int judge_all(const struct engine_found *e, struct arena *a, struct judge *j)
{
    static const unsigned editions[] = {EDITIONS, ENGINE_NAME_V0, ENGINE_NAME_V1};
    unsigned all = editions_of(e->map);
    size_t n = all == 0 ? 1 : ARRAY_LEN(editions);

    j->points = arena_array(a, n * j->n_borders, sizeof *j->points);
    if (!j->points)
        return -ENOMEM;
    for (size_t i = 0; i < n * j->n_borders; i++) {
        struct point *p = &j->points[j->n_points++];

        *p = (struct point){.v = j->borders[i / n], .edition = all == 0 ? 0 : editions[i % n]};
        judge_point(j, e, p);
    }
    return 0;
}

/* --- the best --- */

static unsigned least_against(const struct judge *j)
{
    unsigned least = j->points[0].n_against;

    for (size_t i = 1; i < j->n_points; i++)
        if (j->points[i].n_against < least)
            least = j->points[i].n_against;
    return least;
}

/* Only the points that fit best stay; those that are left are in order. */
static void keep_best(struct judge *j, unsigned n_against, bool by_absent, unsigned n_absent)
{
    size_t n = 0;

    for (size_t i = 0; i < j->n_points; i++) {
        const struct point *p = &j->points[i];

        if (p->n_against == n_against && (!by_absent || p->n_absent == n_absent))
            j->points[n++] = *p;
    }
    j->n_points = n;
}

static void keep_whole(struct judge *j)
{
    unsigned n_absent = 0;

    for (size_t i = 0; i < j->n_points; i++) {
        const struct point *p = &j->points[i];

        if (p->n_needed == 0 || p->n_needed - p->n_absent < WHOLE_RATIO * p->n_needed)
            continue;
        if (!j->is_whole || p->n_absent < n_absent)
            n_absent = p->n_absent;
        j->is_whole = true;
    }
    if (j->is_whole)
        keep_best(j, j->points[0].n_against, true, n_absent);
}

/* The border behind v; ENGINE_NEWEST: none. */
static engine_version border_behind(const struct judge *j, engine_version v)
{
    for (size_t i = 0; i < j->n_borders; i++)
        if (j->borders[i] > v)
            return j->borders[i];
    return ENGINE_NEWEST;
}

/* Whether what follows the last version that fits, up to the next border, fits as well. */
static bool goes_on(const struct judge *j, const struct engine_found *e)
{
    engine_version v = j->points[j->n_points - 1].v;

    for (size_t i = 0; i < j->n_points; i++) {
        const struct point *p = &j->points[i];
        struct point behind = {.v = v + 1, .edition = p->edition};

        if (p->v != v)
            continue;
        judge_point(j, e, &behind);
        if (behind.n_against <= p->n_against && (!j->is_whole || behind.n_absent <= p->n_absent))
            return true;
    }
    return false;
}

static void set_range(const struct judge *j, struct engine_found *e)
{
    unsigned edition = j->points[0].edition;

    e->since = j->points[0].v;
    e->until = j->points[j->n_points - 1].v;
    if (goes_on(j, e)) {
        engine_version next = border_behind(j, e->until);
        e->until = next == ENGINE_NEWEST ? next : next - 1;
    }
    for (size_t i = 0; i < j->n_points; i++)
        if (j->points[i].edition != edition)
            edition = EDITIONS;
    if (edition == ENGINE_NAME_V0 || edition == ENGINE_NAME_V1)
        e->edition = edition == ENGINE_NAME_V0 ? "V0" : "V1";
}

/* --- why --- */

/* Names as on the page. */
static const char *say(const struct engine_found *e, struct arena *a, const struct engine_name *row,
                       const char *before, const char *after)
{
    struct span own = span_cstr(row->name), in_table = span_cstr(e->alias->in_table);
    struct span front = {NULL, 0};

    if (span_starts_with(own, in_table)) {
        own = span_from(own, in_table.n);
        front = e->prefix;
    }
    return naming_text(a, "%s%.*s%.*s%s%s", before, SPAN_ARG(front), SPAN_ARG(own), after,
                       row->label ? row->label : "");
}

/* What one piece of evidence has against `other` and not against `best`, as a text; NULL: nothing.
 */
static const char *objection(const struct engine_found *e, const struct judge *j, struct arena *a,
                             const struct evidence *ev, const struct point *best,
                             const struct point *other)
{
    bool is_needed, is_needed_there;
    unsigned there = against(ev, best, &is_needed_there), n = against(ev, other, &is_needed);
    const struct engine_name *row = &ev->rows[0];

    if (n > there && row->label)
        return say(e, a, row, "", ev->sight == SIGHT_THERE ? " has label " : " has no label ");
    if (n > there)
        return say(e, a, row, "", " is there");
    if (j->is_whole && !row->label && ev->sight == SIGHT_NONE && is_needed && !is_needed_there)
        return say(e, a, row, "no ", "");
    return NULL;
}

static void tell_why(const struct engine_found *e, const struct judge *j, struct arena *a,
                     const struct point *best, engine_version other, const char **because,
                     size_t *n)
{
    struct point out = {.v = other, .edition = best->edition};
    size_t end = *n + BECAUSE_END_MAX;

    if (is_of_alias(e, best->v) && !is_of_alias(e, other))
        because[(*n)++] = naming_text(a, "names begin with %.*s", SPAN_ARG(e->prefix));
    for (size_t i = 0; i < j->n_evidence && *n < end; i++) {
        const char *text = objection(e, j, a, &j->evidence[i], best, &out);

        if (text)
            because[(*n)++] = text;
    }
}

static int tell_bounds(const struct judge *j, struct arena *a, struct engine_found *e)
{
    const char **because = arena_array(a, BECAUSE_MAX, sizeof *because);
    size_t n = 0;

    if (!because)
        return -ENOMEM;
    if (e->since > j->borders[0])
        tell_why(e, j, a, &j->points[0], e->since - 1, because, &n);
    if (e->until != ENGINE_NEWEST)
        tell_why(e, j, a, &j->points[j->n_points - 1], e->until + 1, because, &n);
    for (size_t i = 0; i < n; i++)
        if (!because[i])
            return -ENOMEM;
    e->because = because;
    e->n_because = n;
    return 0;
}

/* "Before 0.5.9" is 0.5.8.post1 where that is the last that is known, for people who compare. */
static engine_version last_release(const struct engine_map *map, engine_version until)
{
    for (const engine_version *post = map->posts; post && *post != 0; post++)
        if (*post >> 16 == until >> 16 && (until & 0xffff) == 0xffff)
            return *post;
    return until;
}

int versions_find(const struct families *f, struct arena *a, struct engine_found *e)
{
    struct judge j = {.evidence = NULL};
    int r = gather(f, a, e, &j);

    if (r == 0)
        r = find_borders(e, a, &j);
    if (r == 0)
        r = judge_all(e, a, &j);
    if (r < 0)
        return r;
    unsigned least = least_against(&j);
    keep_best(&j, least, false, 0);
    keep_whole(&j);
    e->is_whole = j.is_whole;
    e->is_mixed = least > 0;
    set_range(&j, e);
    r = tell_bounds(&j, a, e);
    e->until = last_release(e->map, e->until);
    return r;
}
