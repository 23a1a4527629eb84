/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/alertdb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "alert/alertdb_private.h"
#include "base/mem.h"

/* "iAlr" */
#define APPLICATION_ID 0x69416c72u

enum { PATH_BYTES = 4096, JSON_MAX = 4 << 20 };

static const char *const migrations[] = {
    "CREATE TABLE alerts(fingerprint INTEGER PRIMARY KEY, labels TEXT NOT NULL,"
    " annotations TEXT NOT NULL, evidence TEXT NOT NULL DEFAULT '{}', starts_ms INTEGER NOT NULL,"
    " ends_ms INTEGER NOT NULL, is_resolved INTEGER NOT NULL, value REAL,"
    " expr TEXT NOT NULL, generator_url TEXT NOT NULL);"
    "CREATE TABLE told(group_key TEXT NOT NULL, receiver TEXT NOT NULL,"
    " integration INTEGER NOT NULL, told_ms INTEGER NOT NULL, firing BLOB NOT NULL,"
    " resolved BLOB NOT NULL, PRIMARY KEY(group_key, receiver, integration)) WITHOUT ROWID;"
    "CREATE TABLE silences(id TEXT PRIMARY KEY, matchers TEXT NOT NULL, starts_ms INTEGER NOT NULL,"
    " ends_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, created_by TEXT NOT NULL,"
    " comment TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE held(receiver TEXT NOT NULL, integration INTEGER NOT NULL, kind TEXT NOT NULL,"
    " group_key TEXT NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,"
    " n_attempts INTEGER NOT NULL, is_given_up INTEGER NOT NULL, why TEXT NOT NULL,"
    " hint TEXT NOT NULL, shown TEXT NOT NULL);",
};

static const struct db_schema schema = {
    .name = "alerts",
    .application_id = APPLICATION_ID,
    .migrations = migrations,
    .n_migrations = ARRAY_LEN(migrations),
};

static const char put_alert[] =
    "INSERT INTO alerts(fingerprint, labels, annotations, starts_ms, ends_ms, is_resolved, value,"
    " expr, generator_url) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    " ON CONFLICT(fingerprint) DO UPDATE SET annotations = ?3, starts_ms = ?4, ends_ms = ?5,"
    " is_resolved = ?6, value = ?7, expr = ?8, generator_url = ?9";

static const char *const statements[ALERTDB_STATEMENTS] = {
    [PUT_ALERT] = put_alert,
    [PUT_EVIDENCE] = "UPDATE alerts SET evidence = ?2 WHERE fingerprint = ?1",
    [LIST_ALERTS] = "SELECT fingerprint FROM alerts",
    [DROP_ALERT] = "DELETE FROM alerts WHERE fingerprint = ?1",
    [PUT_TOLD] = "INSERT OR REPLACE INTO told VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [DROP_TOLD] = "DELETE FROM told WHERE group_key = ?1 AND receiver = ?2 AND integration = ?3",
    [PUT_SILENCE] = "INSERT OR REPLACE INTO silences VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [DROP_SILENCE] = "DELETE FROM silences WHERE id = ?1",
    [DROP_HELD] = "DELETE FROM held",
    [PUT_HELD] = "INSERT INTO held VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
};

/* --- life --- */

static int path_of(const char *dir, char path[PATH_BYTES], struct err *reterr)
{
    if (snprintf(path, PATH_BYTES, "%s/alerts.db", dir) >= PATH_BYTES)
        return err_set(reterr, -ENAMETOOLONG, "the data directory's path is too long");
    return 0;
}

int alertdb_open(const char *dir, struct alertdb **ret, struct err *reterr)
{
    char path[PATH_BYTES];
    bool was_damaged;
    int r = path_of(dir, path, reterr);
    if (r < 0)
        return r;
    struct alertdb *d = mem_zalloc(1, sizeof(*d));
    if (!d)
        return err_set(reterr, -ENOMEM, "out of memory");
    r = db_open_or_replace(path, &schema, &d->db, &was_damaged, reterr);
    for (size_t i = 0; i < ALERTDB_STATEMENTS && r == 0; i++) {
        r = db_prepare(d->db, statements[i], &d->statements[i]);
        if (r < 0)
            err_set(reterr, r, "could not use \"%s\": %s", path, db_error(d->db));
    }
    if (r < 0) {
        alertdb_close(d);
        return r;
    }
    *ret = d;
    return 0;
}

int alertdb_replace(const char *dir, struct alertdb **d, struct err *reterr)
{
    char path[PATH_BYTES];
    int r = path_of(dir, path, reterr);
    *d = alertdb_close(*d);
    if (r == 0 && (r = db_set_aside(path, NULL, 0)) < 0 && r != -ENOENT)
        return err_set(reterr, r, "could not move \"%s\" aside: %s", path, err_str(r));
    return r < 0 && r != -ENOENT ? r : alertdb_open(dir, d, reterr);
}

bool alertdb_is_in_place(const struct alertdb *d)
{
    return db_place(d->db) == DB_IN_PLACE;
}

struct alertdb *alertdb_close(struct alertdb *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; i < ALERTDB_STATEMENTS; i++)
        sqlite3_finalize(d->statements[i]);
    d->db = db_close(d->db);
    mem_free(d);
    return NULL;
}

int alertdb_begin(struct alertdb *d)
{
    return db_begin(d->db);
}

int alertdb_commit(struct alertdb *d)
{
    int r = db_commit(d->db);
    if (r < 0)
        db_rollback(d->db);
    return r;
}

void alertdb_rollback(struct alertdb *d)
{
    db_rollback(d->db);
}

/* --- rows --- */

static int write_labels(struct labels l, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    labels_write(l, NULL, &w);
    return jsonw_error(&w);
}

static int write_matchers(const struct silence *s, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_begin_array(&w);
    for (size_t i = 0; i < s->n_matchers; i++) {
        jsonw_begin_array(&w);
        jsonw_i64(&w, s->matchers[i].op);
        jsonw_str(&w, s->matchers[i].name);
        jsonw_str(&w, s->matchers[i].value);
        jsonw_end_array(&w);
    }
    jsonw_end_array(&w);
    return jsonw_error(&w);
}

static int finish(sqlite3_stmt *s, int r)
{
    r = r < 0 ? r : db_step(s);
    db_reset(s);
    return r < 0 ? r : 0;
}

static int bind_i64(sqlite3_stmt *s, int i, int64_t v)
{
    return db_errno(sqlite3_bind_int64(s, i, v));
}

struct column {
    const struct span *text; /* NULL: it is the number */
    int64_t number;
};

static int bind_all(sqlite3_stmt *s, const struct column *c, size_t n)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = c[i].text ? db_bind_span(s, (int)i + 1, *c[i].text)
                      : bind_i64(s, (int)i + 1, c[i].number);
    return r;
}

int alertdb_put_alert(struct alertdb *d, uint64_t fingerprint, const struct alert_notice *n)
{
    sqlite3_stmt *s = d->statements[PUT_ALERT];
    struct buf labels, annotations;
    buf_init(&labels, JSON_MAX);
    buf_init(&annotations, JSON_MAX);
    int r = write_labels(n->labels, &labels);
    if (r == 0)
        r = write_labels(n->annotations, &annotations);
    struct span texts[] = {buf_span(&labels), buf_span(&annotations), n->expr, n->generator_url};
    const struct column columns[] = {{NULL, (int64_t)fingerprint},
                                     {&texts[0], 0},
                                     {&texts[1], 0},
                                     {NULL, n->starts_ms},
                                     {NULL, n->ends_ms},
                                     {NULL, n->is_resolved},
                                     {NULL, 0},
                                     {&texts[2], 0},
                                     {&texts[3], 0}};
    if (r == 0)
        r = bind_all(s, columns, ARRAY_LEN(columns));
    if (r == 0)
        r = db_errno(sqlite3_bind_double(s, 7, n->value)); /* NaN becomes NULL */
    r = finish(s, r);
    buf_done(&annotations);
    buf_done(&labels);
    return r;
}

int alertdb_put_evidence(struct alertdb *d, uint64_t fingerprint, struct labels evidence)
{
    sqlite3_stmt *s = d->statements[PUT_EVIDENCE];
    struct buf b;
    buf_init(&b, JSON_MAX);
    int r = write_labels(evidence, &b);
    if (r == 0)
        r = bind_i64(s, 1, (int64_t)fingerprint);
    if (r == 0)
        r = db_bind_span(s, 2, buf_span(&b));
    r = finish(s, r);
    buf_done(&b);
    return r;
}

static int drop_one(struct alertdb *d, uint64_t fingerprint)
{
    sqlite3_stmt *s = d->statements[DROP_ALERT];
    return finish(s, bind_i64(s, 1, (int64_t)fingerprint));
}

int alertdb_clean_alerts(struct alertdb *d, bool (*keep)(void *ctx, uint64_t fingerprint),
                         void *ctx)
{
    sqlite3_stmt *s = d->statements[LIST_ALERTS];
    uint64_t *gone = NULL;
    size_t n = 0, cap = 0;
    struct arena a;
    int r;
    arena_init(&a, NULL);
    while ((r = db_step(s)) == 1) {
        uint64_t fingerprint = (uint64_t)sqlite3_column_int64(s, 0);
        if (keep(ctx, fingerprint))
            continue;
        uint64_t *more = arena_grow(&a, gone, n, 1, &cap, sizeof(*gone));
        if (!more) {
            r = -ENOMEM;
            break;
        }
        gone = more;
        gone[n++] = fingerprint;
    }
    db_reset(s);
    for (size_t i = 0; i < n && r == 0; i++)
        r = drop_one(d, gone[i]);
    arena_done(&a);
    return r;
}

int alertdb_put_told(struct alertdb *d, const struct dispatch_log *l)
{
    sqlite3_stmt *s = d->statements[l->told_ms < 0 ? DROP_TOLD : PUT_TOLD];
    const struct column columns[] = {
        {&l->group_key, 0}, {&l->receiver, 0}, {NULL, l->integration}, {NULL, l->told_ms}};
    int r = bind_all(s, columns, l->told_ms < 0 ? 3 : 4);
    if (r == 0 && l->told_ms >= 0)
        r = db_bind_blob(s, 5, span_of(l->firing, l->n_firing * sizeof(uint64_t)));
    if (r == 0 && l->told_ms >= 0)
        r = db_bind_blob(s, 6, span_of(l->resolved, l->n_resolved * sizeof(uint64_t)));
    return finish(s, r);
}

int alertdb_put_silence(struct alertdb *d, const struct silence *silence)
{
    sqlite3_stmt *s = d->statements[PUT_SILENCE];
    struct buf matchers;
    buf_init(&matchers, JSON_MAX);
    int r = write_matchers(silence, &matchers);
    struct span texts[] = {span_cstr(silence->id), buf_span(&matchers)};
    const struct column columns[] = {{&texts[0], 0},
                                     {&texts[1], 0},
                                     {NULL, silence->starts_ms},
                                     {NULL, silence->ends_ms},
                                     {NULL, silence->updated_ms},
                                     {&silence->created_by, 0},
                                     {&silence->comment, 0}};
    if (r == 0)
        r = bind_all(s, columns, ARRAY_LEN(columns));
    r = finish(s, r);
    buf_done(&matchers);
    return r;
}

int alertdb_drop_silence(struct alertdb *d, const char *id)
{
    sqlite3_stmt *s = d->statements[DROP_SILENCE];
    return finish(s, db_bind_span(s, 1, span_cstr(id)));
}

int alertdb_drop_held(struct alertdb *d)
{
    return finish(d->statements[DROP_HELD], 0);
}

int alertdb_put_held(struct alertdb *d, const struct delivery_held *h)
{
    sqlite3_stmt *s = d->statements[PUT_HELD];
    struct span kind = span_cstr(h->kind);
    const struct column columns[] = {{&h->receiver, 0},
                                     {NULL, h->integration},
                                     {&kind, 0},
                                     {&h->group_key, 0},
                                     {NULL, h->first_ms},
                                     {NULL, h->last_ms},
                                     {NULL, (int64_t)h->n_attempts},
                                     {NULL, h->is_given_up},
                                     {&h->why, 0},
                                     {&h->hint, 0},
                                     {&h->shown, 0}};
    return finish(s, bind_all(s, columns, ARRAY_LEN(columns)));
}
