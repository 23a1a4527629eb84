/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alertdb_read.c - everything that the last run left, row by row.
 */
#include <errno.h>
#include <math.h>

#include "alert/alertdb_private.h"
#include "alert/jsontree.h"

/* One table: its query, and what a row becomes. -EINVAL: the row cannot be read. */
struct table {
    const char *sql;
    int (*row)(const struct alertdb_visitor *v, sqlite3_stmt *s, struct arena *a);
};

/* --- values --- */

static int read_labels(struct span json, struct arena *a, struct labels *ret)
{
    json_t *root, *value;
    const char *key;
    int r = jsontree_read(json, &root, NULL);
    if (r < 0)
        return r;
    size_t n = 0, cap = json_object_size(root);
    struct label *at = arena_zalloc(a, cap, sizeof(*at));
    r = !json_is_object(root) ? -EINVAL : at ? 0 : -ENOMEM;
    json_object_foreach(root, key, value)
    {
        if (r == 0 && !json_is_string(value))
            r = -EINVAL;
        if (r < 0)
            break;
        at[n].name = arena_dup(a, span_cstr(key));
        at[n].value = arena_dup(a, span_of(json_string_value(value), json_string_length(value)));
        r = at[n].name.p && at[n].value.p ? 0 : -ENOMEM;
        n++;
    }
    json_decref(root);
    return r < 0 ? r : labels_normalise(at, n, ret, NULL);
}

static int read_matcher(const json_t *one, struct arena *a, struct matcher *ret)
{
    const json_t *op = json_array_get(one, 0), *name = json_array_get(one, 1),
                 *value = json_array_get(one, 2);
    if (!json_is_integer(op) || !json_is_string(name) || !json_is_string(value) ||
        json_integer_value(op) < MATCH_EQ || json_integer_value(op) > MATCH_NRE)
        return -EINVAL;
    struct span n = arena_dup(a, span_of(json_string_value(name), json_string_length(name)));
    struct span v = arena_dup(a, span_of(json_string_value(value), json_string_length(value)));
    if (!n.p || !v.p)
        return -ENOMEM;
    return matcher_init(a, (enum matcher_op)json_integer_value(op), n, v, ret, NULL);
}

static int read_matchers(struct span json, struct arena *a, struct matcher **ret, size_t *ret_n)
{
    json_t *root;
    size_t n = 0;
    int r = jsontree_read(json, &root, NULL);
    if (r < 0)
        return r;
    struct matcher *at = arena_zalloc(a, json_array_size(root), sizeof(*at));
    /* One without matchers would fit every alert. */
    r = json_array_size(root) == 0 ? -EINVAL : at ? 0 : -ENOMEM;
    for (; r == 0 && n < json_array_size(root); n++)
        if ((r = read_matcher(json_array_get(root, n), a, &at[n])) < 0)
            break;
    json_decref(root);
    for (size_t i = 0; i < n && r < 0; i++)
        matcher_done(&at[i]);
    *ret = at;
    *ret_n = n;
    return r;
}

/* --- rows --- */

static int silence_row(const struct alertdb_visitor *v, sqlite3_stmt *s, struct arena *a)
{
    struct silence one = {.starts_ms = sqlite3_column_int64(s, 2),
                          .ends_ms = sqlite3_column_int64(s, 3),
                          .updated_ms = sqlite3_column_int64(s, 4),
                          .created_by = db_column_span(s, 5),
                          .comment = db_column_span(s, 6)};
    struct matcher *matchers;
    struct span id = db_column_span(s, 0);
    if (id.n != sizeof(one.id) - 1)
        return -EINVAL;
    (void)span_copy(id, one.id, sizeof(one.id));
    int r = read_matchers(db_column_span(s, 1), a, &matchers, &one.n_matchers);
    if (r < 0)
        return r;
    one.matchers = matchers;
    r = v->silence(v->ctx, &one);
    for (size_t i = 0; i < one.n_matchers; i++)
        matcher_done(&matchers[i]);
    return r;
}

static int told_row(const struct alertdb_visitor *v, sqlite3_stmt *s, struct arena *a)
{
    struct span firing = db_column_span(s, 4), resolved = db_column_span(s, 5);
    uint64_t *at = arena_alloc(a, firing.n + resolved.n + sizeof(*at)); /* for their alignment */
    if (!at)
        return -ENOMEM;
    if (firing.n % sizeof(*at) != 0 || resolved.n % sizeof(*at) != 0)
        return -EINVAL;
    if (firing.n > 0)
        memcpy(at, firing.p, firing.n);
    if (resolved.n > 0)
        memcpy(at + firing.n / sizeof(*at), resolved.p, resolved.n);
    struct dispatch_log l = {.group_key = db_column_span(s, 0),
                             .receiver = db_column_span(s, 1),
                             .integration = sqlite3_column_int(s, 2),
                             .told_ms = sqlite3_column_int64(s, 3),
                             .firing = at,
                             .resolved = at + firing.n / sizeof(*at),
                             .n_firing = firing.n / sizeof(*at),
                             .n_resolved = resolved.n / sizeof(*at)};
    return v->told(v->ctx, &l);
}

static int alert_row(const struct alertdb_visitor *v, sqlite3_stmt *s, struct arena *a)
{
    bool has_value = sqlite3_column_type(s, 6) == SQLITE_FLOAT;
    struct alert_notice n = {.starts_ms = sqlite3_column_int64(s, 3),
                             .ends_ms = sqlite3_column_int64(s, 4),
                             .is_resolved = sqlite3_column_int(s, 5) != 0,
                             .value = has_value ? sqlite3_column_double(s, 6) : (double)NAN,
                             .expr = db_column_span(s, 7),
                             .generator_url = db_column_span(s, 8)};
    struct labels evidence = {0};
    int r = read_labels(db_column_span(s, 0), a, &n.labels);
    if (r == 0)
        r = read_labels(db_column_span(s, 1), a, &n.annotations);
    if (r == 0)
        r = read_labels(db_column_span(s, 2), a, &evidence);
    return r < 0 ? r : v->alert(v->ctx, &n, evidence);
}

static int held_row(const struct alertdb_visitor *v, sqlite3_stmt *s, struct arena *a)
{
    struct span kind = arena_dup(a, db_column_span(s, 2));
    if (!kind.p)
        return -ENOMEM;
    struct delivery_held h = {.receiver = db_column_span(s, 0),
                              .integration = sqlite3_column_int(s, 1),
                              .kind = kind.p,
                              .group_key = db_column_span(s, 3),
                              .first_ms = sqlite3_column_int64(s, 4),
                              .last_ms = sqlite3_column_int64(s, 5),
                              .n_attempts = (uint64_t)sqlite3_column_int64(s, 6),
                              .is_given_up = sqlite3_column_int(s, 7) != 0,
                              .why = db_column_span(s, 8),
                              .hint = db_column_span(s, 9),
                              .shown = db_column_span(s, 10)};
    return v->held(v->ctx, &h);
}

static const struct table tables[] = {
    {"SELECT id, matchers, starts_ms, ends_ms, updated_ms, created_by, comment FROM silences",
     silence_row},
    {"SELECT group_key, receiver, integration, told_ms, firing, resolved FROM told", told_row},
    {"SELECT labels, annotations, evidence, starts_ms, ends_ms, is_resolved, value, expr,"
     " generator_url FROM alerts",
     alert_row},
    {"SELECT receiver, integration, kind, group_key, first_ms, last_ms, n_attempts, is_given_up,"
     " why, hint, shown FROM held",
     held_row},
};

static int read_table(struct alertdb *d, const struct table *t, const struct alertdb_visitor *v,
                      size_t *n_bad)
{
    sqlite3_stmt *s;
    struct arena a;
    int r = db_prepare(d->db, t->sql, &s);
    if (r < 0)
        return r;
    arena_init(&a, NULL);
    while ((r = db_step(s)) == 1) {
        r = t->row(v, s, &a);
        arena_reset(&a);
        if (r == -EINVAL)
            (*n_bad)++;
        else if (r < 0)
            break;
    }
    arena_done(&a);
    sqlite3_finalize(s);
    return r;
}

int alertdb_read(struct alertdb *d, const struct alertdb_visitor *v, size_t *ret_n_bad)
{
    int r = 0;
    *ret_n_bad = 0;
    for (size_t i = 0; i < ARRAY_LEN(tables) && r == 0; i++)
        r = read_table(d, &tables[i], v, ret_n_bad);
    return r;
}
