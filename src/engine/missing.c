/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/missing.c - why an engine does not tell a signal.
 */
#include <errno.h>

#include "engine/engine_private.h"

/* What the sources of a signal have to do with the versions of a page. */
struct reach {
    const struct engine_name *later;   /* comes soonest after them */
    const struct engine_name *earlier; /* went last before them */
    const struct engine_name *now;     /* some of them have it */
};

static const char *why_never(const struct engine_map *map, enum signal s)
{
    for (size_t i = 0; i < map->n_never; i++)
        if (map->never[i].signal == s)
            return map->never[i].why;
    return NULL;
}

static bool is_of_edition(const struct engine_found *e, const struct engine_name *row)
{
    unsigned both = ENGINE_NAME_V0 | ENGINE_NAME_V1;
    unsigned own = !e->edition                     ? both
                   : strcmp(e->edition, "V0") == 0 ? ENGINE_NAME_V0
                                                   : ENGINE_NAME_V1;

    return (row->flags & both) == 0 || (row->flags & own) != 0;
}

static void look_at_row(const struct engine_found *e, const struct engine_name *row,
                        struct reach *r)
{
    if (!is_of_edition(e, row)) {
        /* The other edition may have it in versions to come. */
        if (row->until > e->until && (!r->later || row->since < r->later->since))
            r->later = row;
    } else if (row->since > e->until) {
        if (!r->later || row->since < r->later->since)
            r->later = row;
    } else if (row->until < e->since) {
        if (!r->earlier || row->until > r->earlier->until)
            r->earlier = row;
    } else if (!r->now || (r->now->flags & ENGINE_NAME_HIDDEN) != 0) {
        r->now = row;
    }
}

static void look_at_name(const struct engine_found *e, const char *metric, struct reach *r)
{
    for (size_t i = 0; i < e->map->n_names; i++)
        if (!e->map->names[i].label && strcmp(e->map->names[i].name, metric) == 0)
            look_at_row(e, &e->map->names[i], r);
}

/* A family that is there and says nothing. */
static int why_no_data(const struct families *f, const struct engine_found *e,
                       const struct engine_source *s, struct arena *a, const char **ret)
{
    const struct page_family *fam = naming_family(f, e, s->part[0].metric);
    struct part_read read;
    int r;

    *ret = NULL;
    if (!fam)
        return 0;
    if (fam->n == 0) {
        *ret = naming_text(a, "%.*s is declared and has no sample yet", SPAN_ARG(fam->name));
        return *ret ? 0 : -ENOMEM;
    }
    r = parts_read(f, e, s, 0, a, &read);
    if (r < 0)
        return r;
    if (read.n_matched == 0 && s->part[0].select)
        *ret = naming_text(a, "%.*s has no sample with %s", SPAN_ARG(fam->name), s->part[0].select);
    else if (read.n_matched == 0)
        *ret = naming_text(a, "%.*s is of another type here: %s", SPAN_ARG(fam->name),
                           metric_type_name(fam->type));
    else if (read.n == 0)
        *ret = naming_text(a, "all samples of %.*s say \"not available\"", SPAN_ARG(fam->name));
    else
        *ret = naming_text(a, "%.*s is there, what belongs to it is not", SPAN_ARG(fam->name));
    return *ret ? 0 : -ENOMEM;
}

static const char *why_version(const struct engine_found *e, const struct reach *r, struct arena *a)
{
    char text[ENGINE_VERSION_TEXT_MAX];

    if (r->later) {
        e->map->print_version(r->later->since, text);
        return naming_text(a, "told from %s on, by %s", text, r->later->name);
    }
    e->map->print_version(r->earlier->until, text);
    return naming_text(a, "not told since %s, the last with %s", text, r->earlier->name);
}

static const char *why_absent(const struct engine_found *e, const struct engine_name *row,
                              struct arena *a)
{
    const char *hint = e->map->when_absent;

    if ((row->flags & ENGINE_NAME_HIDDEN) != 0)
        return naming_text(a, "%s is hidden by default in this version", row->name);
    if ((row->flags & ENGINE_NAME_OPTIONAL) != 0)
        return naming_text(
            a,
            "%s is not there: it comes with its first event, or needs something that "
            "is switched off%s%s",
            row->name, hint ? "; " : "", hint ? hint : "");
    return naming_text(a, "%s is not there: %s", row->name,
                       e->is_whole ? "it may have been dropped on the way"
                                   : "no request was served yet, or this is only a part of a page");
}

static int set(struct signal_missing *ret, enum missing_cause cause, const char *why)
{
    if (!why)
        return -ENOMEM;
    ret->cause = cause;
    ret->why = why;
    return 0;
}

int missing_why(const struct families *f, const struct engine_found *e, enum signal s,
                struct arena *a, struct signal_missing *ret)
{
    struct reach reach = {NULL, NULL, NULL};
    const char *why = why_never(e->map, s);

    *ret = (struct signal_missing){.signal = s, .engine = e};
    for (size_t i = 0; i < e->map->n_sources && !why; i++) {
        const struct engine_source *source = &e->map->sources[i];

        if (source->signal != s)
            continue;
        int r = why_no_data(f, e, source, a, &why);
        if (r < 0)
            return r;
        if (why)
            return set(ret, MISSING_NO_DATA, why);
        look_at_name(e, source->part[0].metric, &reach);
    }
    if (!why && reach.now)
        return set(ret, MISSING_ABSENT, why_absent(e, reach.now, a));
    if (!why && (reach.later || reach.earlier))
        return set(ret, MISSING_VERSION, why_version(e, &reach, a));
    return set(ret, MISSING_NEVER, why ? why : "it has no such metric in any version");
}
