/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incident_db.c - the schema, and incidents written and read whole.
 */
#include "incident/incident_db.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "incident/codec.h"

enum { APPLICATION_ID = 0x696e6369 }; /* "inci" */
/* Of one alert's labels, or one incident's names. What does not fit would keep all others from the
 * disk as well, so this is more than a rule's labels come to. */
#define ROW_MAX_BYTES (64 * MIB)

/* to_ms 0: it fires. A value of NULL: NaN. */
static const char *const migrations[] = {
    "CREATE TABLE incidents(row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " state INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,"
    " over_ms INTEGER NOT NULL, tier TEXT NOT NULL, n_alerts INTEGER NOT NULL,"
    " n_firing INTEGER NOT NULL, is_cut INTEGER NOT NULL, names TEXT NOT NULL);"
    "CREATE INDEX incidents_from ON incidents(from_ms);"
    "CREATE INDEX incidents_state ON incidents(state, to_ms);"
    "CREATE TABLE episodes(incident INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL,"
    " from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL,"
    " value REAL, last_value REAL, labels BLOB NOT NULL, annotations BLOB NOT NULL,"
    " evidence BLOB NOT NULL, expr TEXT NOT NULL, url TEXT NOT NULL,"
    " PRIMARY KEY(incident, place)) WITHOUT ROWID;"
    "CREATE TABLE curves(incident INTEGER NOT NULL, kind TEXT NOT NULL,"
    " covered_ms INTEGER NOT NULL, is_complete INTEGER NOT NULL, packed BLOB NOT NULL,"
    " PRIMARY KEY(incident, kind)) WITHOUT ROWID;"
    "CREATE TABLE acts(n INTEGER PRIMARY KEY, incident INTEGER NOT NULL, t_ms INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL);"
    "CREATE INDEX acts_incident ON acts(incident);"};

static const struct db_schema schema = {"incidents", APPLICATION_ID, migrations,
                                        ARRAY_LEN(migrations)};

void incident_db_path(const char *dir, char *path, size_t cap)
{
    (void)snprintf(path, cap, "%s/incidents.db", dir);
}

int incident_db_open(const char *path, struct db **ret, bool *ret_was_damaged, struct err *reterr)
{
    return db_open_or_replace(path, &schema, ret, ret_was_damaged, reterr);
}

int incident_db_open_reader(const char *path, struct db **ret)
{
    return db_open(path, &schema, DB_READ, ret, NULL);
}

/* --- writing --- */

struct saver {
    struct db *db;
    sqlite3_stmt *incident, *episode, *curve;
    struct buf text, labels, annotations, evidence;
};

#define SAVE_INCIDENT                                                                              \
    "INSERT INTO incidents(row, id, state, from_ms, to_ms, over_ms, tier, n_alerts, n_firing,"     \
    " is_cut, names) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"                        \
    " ON CONFLICT(row) DO UPDATE SET state=?3, from_ms=?4, to_ms=?5, over_ms=?6, tier=?7,"         \
    " n_alerts=?8, n_firing=?9, is_cut=?10, names=?11"
#define SAVE_EPISODE                                                                               \
    "INSERT OR REPLACE INTO episodes(incident, place, from_ms, to_ms, until_ms, value,"            \
    " last_value, name, labels, annotations, evidence, expr, url)"                                 \
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
#define SAVE_CURVE                                                                                 \
    "INSERT OR REPLACE INTO curves(incident, covered_ms, is_complete, kind, packed)"               \
    " VALUES (?1, ?2, ?3, ?4, ?5)"

static int prepare(struct db *d, sqlite3_stmt **s, const char *sql)
{
    if (*s)
        return 0;
    return db_prepare(d, sql, s);
}

static int run(sqlite3_stmt *s)
{
    int r = db_step(s);
    db_reset(s);
    return r > 0 ? -EINVAL : r;
}

static int bind_numbers(sqlite3_stmt *s, int first, const int64_t *at, size_t n)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
        rc = sqlite3_bind_int64(s, first + (int)i, at[i]);
    return db_errno(rc);
}

int incident_db_names(const struct incident *c, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_begin_array(&w);
    for (size_t i = 0; i < c->n_episodes; i++) {
        struct span name = labels_get(c->episodes[i].labels, SPAN("alertname"));
        bool is_new = true;
        for (size_t k = 0; k < i && is_new; k++)
            is_new = !span_eq(labels_get(c->episodes[k].labels, SPAN("alertname")), name);
        if (is_new)
            jsonw_str(&w, name);
    }
    jsonw_end_array(&w);
    return jsonw_error(&w);
}

static int save_incident(struct saver *s, const struct incident *c)
{
    const int64_t times[] = {c->state, c->from_ms, c->to_ms, c->over_ms};
    const int64_t counts[] = {(int64_t)c->n_episodes, (int64_t)c->n_firing, c->is_cut};
    int r = prepare(s->db, &s->incident, SAVE_INCIDENT);
    buf_clear(&s->text);
    if (r == 0)
        r = incident_db_names(c, &s->text);
    if (r == 0)
        r = bind_numbers(s->incident, 1, &c->row, 1);
    if (r == 0)
        r = db_bind_span(s->incident, 2, span_cstr(c->id));
    if (r == 0)
        r = bind_numbers(s->incident, 3, times, ARRAY_LEN(times));
    if (r == 0)
        r = db_bind_span(s->incident, 7, incident_tier(c));
    if (r == 0)
        r = bind_numbers(s->incident, 8, counts, ARRAY_LEN(counts));
    if (r == 0)
        r = db_bind_span(s->incident, 11, buf_span(&s->text));
    return r < 0 ? r : run(s->incident);
}

static int bind_labels(sqlite3_stmt *s, int at, struct labels l, struct buf *bytes)
{
    buf_clear(bytes);
    int r = codec_put_labels(bytes, l);
    return r < 0 ? r : db_bind_blob(s, at, buf_span(bytes));
}

static int save_episode(struct saver *s, const struct incident *c, size_t place)
{
    const struct incident_episode *e = &c->episodes[place];
    const int64_t numbers[] = {c->row, (int64_t)place, e->from_ms, e->to_ms, e->told_until_ms};
    int r = prepare(s->db, &s->episode, SAVE_EPISODE);
    if (r == 0)
        r = bind_numbers(s->episode, 1, numbers, ARRAY_LEN(numbers));
    if (r == 0)
        r = db_errno(sqlite3_bind_double(s->episode, 6, e->value));
    if (r == 0)
        r = db_errno(sqlite3_bind_double(s->episode, 7, e->last_value));
    if (r == 0)
        r = db_bind_span(s->episode, 8, labels_get(e->labels, SPAN("alertname")));
    if (r == 0)
        r = bind_labels(s->episode, 9, e->labels, &s->labels);
    if (r == 0)
        r = bind_labels(s->episode, 10, e->annotations, &s->annotations);
    if (r == 0)
        r = bind_labels(s->episode, 11, e->evidence, &s->evidence);
    if (r == 0)
        r = db_bind_span(s->episode, 12, e->expr);
    if (r == 0)
        r = db_bind_span(s->episode, 13, e->url);
    return r < 0 ? r : run(s->episode);
}

static int save_curve(struct saver *s, const struct incident *c, size_t i)
{
    const struct incident_curve *k = &c->curves[i];
    const int64_t numbers[] = {c->row, k->covered_ms, k->is_complete};
    int r = prepare(s->db, &s->curve, SAVE_CURVE);
    if (r == 0)
        r = bind_numbers(s->curve, 1, numbers, ARRAY_LEN(numbers));
    if (r == 0)
        r = db_bind_span(s->curve, 4, span_cstr(curves_kinds[i].name));
    if (r == 0)
        r = db_bind_blob(s->curve, 5, buf_span(&k->packed));
    return r < 0 ? r : run(s->curve);
}

static int save_parts(struct saver *s, const struct incident *c)
{
    int r = c->is_dirty ? save_incident(s, c) : 0;
    for (size_t i = 0; i < c->n_episodes && r == 0; i++)
        r = c->episodes[i].is_dirty ? save_episode(s, c, i) : 0;
    for (size_t i = 0; i < curves_n && r == 0; i++)
        r = c->curves[i].is_dirty ? save_curve(s, c, i) : 0;
    return r;
}

static void clean(struct incident *c)
{
    c->is_dirty = false;
    for (size_t i = 0; i < c->n_episodes; i++) {
        struct incident_episode *e = &c->episodes[i];
        if (e->is_dirty)
            e->saved_until_ms = e->told_until_ms;
        e->is_dirty = false;
    }
    for (size_t i = 0; i < curves_n; i++)
        c->curves[i].is_dirty = false;
}

int incident_db_save(struct db *d, struct incident *list)
{
    struct saver s = {.db = d};
    buf_init(&s.text, ROW_MAX_BYTES);
    buf_init(&s.labels, ROW_MAX_BYTES);
    buf_init(&s.annotations, ROW_MAX_BYTES);
    buf_init(&s.evidence, ROW_MAX_BYTES);
    int r = db_begin(d);
    for (const struct incident *c = list; c && r == 0; c = c->next)
        r = save_parts(&s, c);
    sqlite3_finalize(s.incident);
    sqlite3_finalize(s.episode);
    sqlite3_finalize(s.curve);
    if (r == 0)
        r = db_commit(d);
    if (r < 0)
        db_rollback(d);
    for (struct incident *c = list; c && r == 0; c = c->next)
        clean(c);
    buf_done(&s.text);
    buf_done(&s.labels);
    buf_done(&s.annotations);
    buf_done(&s.evidence);
    return r;
}

/* --- reading --- */

static double number_at(sqlite3_stmt *s, int i)
{
    return sqlite3_column_type(s, i) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(s, i);
}

static struct labels labels_at(sqlite3_stmt *s, int i, struct arena *a, int *r)
{
    struct codec_reader in = {.rest = db_column_span(s, i), .error = *r};
    struct labels l = codec_labels(&in, a);
    *r = in.error == -EBADMSG ? -EILSEQ : in.error; /* this row, not the file */
    return l;
}

static struct span text_at(sqlite3_stmt *s, int i, struct arena *a, int *r)
{
    struct span copy = arena_dup(a, db_column_span(s, i));
    if (!copy.p && *r == 0)
        *r = -ENOMEM;
    return copy;
}

static int take_episode(sqlite3_stmt *s, struct incident *c)
{
    int r = 0;
    struct incident_episode e = {.from_ms = sqlite3_column_int64(s, 0),
                                 .to_ms = sqlite3_column_int64(s, 1),
                                 .told_until_ms = sqlite3_column_int64(s, 2),
                                 .value = number_at(s, 3),
                                 .last_value = number_at(s, 4)};
    e.saved_until_ms = e.told_until_ms;
    e.labels = labels_at(s, 5, &c->arena, &r);
    e.annotations = labels_at(s, 6, &c->arena, &r);
    e.evidence = labels_at(s, 7, &c->arena, &r);
    e.expr = text_at(s, 8, &c->arena, &r);
    e.url = text_at(s, 9, &c->arena, &r);
    if (r < 0)
        return r;
    e.hash = labels_hash(e.labels);
    e.n_evidence = e.evidence.n > 0;
    return incident_add_episode(c, &e);
}

/* A kind that there is not any more is passed over. */
static int take_curve(sqlite3_stmt *s, struct incident *c)
{
    struct span name = db_column_span(s, 0);
    for (size_t i = 0; i < curves_n; i++) {
        struct incident_curve *k = &c->curves[i];
        if (!span_eq(name, span_cstr(curves_kinds[i].name)))
            continue;
        k->covered_ms = sqlite3_column_int64(s, 1);
        k->is_complete = sqlite3_column_int(s, 2) != 0;
        return buf_append(&k->packed, db_column_span(s, 3));
    }
    return 0;
}

static int each_row(struct db *d, const char *sql, int64_t row,
                    int (*take)(sqlite3_stmt *s, struct incident *c), struct incident *c)
{
    sqlite3_stmt *s;
    int r = db_prepare(d, sql, &s);
    if (r < 0)
        return r;
    r = bind_numbers(s, 1, &row, 1);
    while (r == 0 && (r = db_step(s)) > 0)
        r = take(s, c);
    sqlite3_finalize(s);
    return r;
}

static int take_incident(struct db *d, sqlite3_stmt *s, struct incident **ret)
{
    struct incident *c = NULL;
    int r = incident_new(sqlite3_column_int64(s, 3), &c);
    if (r < 0)
        return r;
    c->row = sqlite3_column_int64(s, 0);
    (void)span_copy(db_column_span(s, 1), c->id, sizeof(c->id));
    c->state = (enum incident_state)sqlite3_column_int(s, 2);
    c->to_ms = sqlite3_column_int64(s, 4);
    c->over_ms = sqlite3_column_int64(s, 5);
    c->is_cut = sqlite3_column_int(s, 6) != 0;
    c->is_dirty = false;
    r = each_row(d,
                 "SELECT from_ms, to_ms, until_ms, value, last_value, labels, annotations,"
                 " evidence, expr, url FROM episodes WHERE incident=?1 ORDER BY place",
                 c->row, take_episode, c);
    if (r == 0)
        r = each_row(d,
                     "SELECT kind, covered_ms, is_complete, packed FROM curves WHERE incident=?1",
                     c->row, take_curve, c);
    if (r == 0)
        *ret = c;
    else
        (void)incident_free(c);
    return r;
}

#define LOAD "SELECT row, id, state, from_ms, to_ms, over_ms, is_cut FROM incidents"

int incident_db_load(struct db *d, struct incident **ret)
{
    struct incident *first = NULL, **last = &first;
    sqlite3_stmt *s;
    int r = db_prepare(d, LOAD " WHERE state<2 ORDER BY row", &s);
    if (r < 0)
        return r;
    while (r == 0 && (r = db_step(s)) > 0) {
        r = take_incident(d, s, last);
        last = r == 0 ? &(*last)->next : last;
    }
    sqlite3_finalize(s);
    if (r == 0)
        *ret = first;
    for (struct incident *next; first && r < 0; first = next) {
        next = first->next;
        (void)incident_free(first);
    }
    return r;
}

int incident_db_load_one(struct db *d, struct span id, struct incident **ret)
{
    sqlite3_stmt *s;
    int r = db_prepare(d, LOAD " WHERE id=?1", &s);
    if (r < 0)
        return r;
    r = db_bind_span(s, 1, id);
    if (r == 0)
        r = db_step(s);
    r = r > 0 ? take_incident(d, s, ret) : r == 0 ? -ENOENT : r;
    sqlite3_finalize(s);
    return r;
}

int incident_db_last_row(struct db *d, int64_t *ret)
{
    return db_query_i64(d, "SELECT coalesce(max(row), 0) FROM incidents", ret);
}

/* --- forgetting --- */

#define OLD                                                                                        \
    "SELECT row FROM incidents WHERE state=2 AND to_ms<?1 ORDER BY state, to_ms, row LIMIT ?2"

int incident_db_forget(struct db *d, int64_t before_ms, int n, int *ret_n)
{
    /* Incidents last: what is old is told by them. */
    static const char *const parts[] = {
        "DELETE FROM acts WHERE incident IN (" OLD ")",
        "DELETE FROM curves WHERE incident IN (" OLD ")",
        "DELETE FROM episodes WHERE incident IN (" OLD ")",
        "DELETE FROM incidents WHERE row IN (" OLD ")",
    };
    const int64_t numbers[] = {before_ms, n};
    int r = db_begin(d);
    for (size_t i = 0; i < ARRAY_LEN(parts) && r == 0; i++) {
        sqlite3_stmt *s = NULL;
        r = db_prepare(d, parts[i], &s);
        if (r == 0)
            r = bind_numbers(s, 1, numbers, ARRAY_LEN(numbers));
        if (r == 0)
            r = db_step(s);
        *ret_n = sqlite3_changes(d->_handle);
        sqlite3_finalize(s);
    }
    if (r == 0)
        r = db_commit(d);
    if (r < 0)
        db_rollback(d);
    return r;
}
