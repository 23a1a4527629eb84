/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incident_acts.c - what people said and did, lists, and alerts for reviews.
 */
#include <errno.h>

#include "incident/codec.h"
#include "incident/incident_db.h"

static int ask(struct db *d, const char *sql, int64_t row, struct span text, sqlite3_stmt **ret)
{
    sqlite3_stmt *s;
    int r = db_prepare(d, sql, &s);
    if (r < 0)
        return r;
    r = db_errno(sqlite3_bind_int64(s, 1, row));
    if (r == 0 && text.p)
        r = db_bind_span(s, 2, text);
    if (r == 0)
        r = db_step(s);
    if (r < 0) {
        sqlite3_finalize(s);
        return r;
    }
    *ret = s;
    return r;
}

static int count(struct db *d, const char *sql, int64_t row, struct span text, int64_t *ret)
{
    sqlite3_stmt *s;
    int r = ask(d, sql, row, text, &s);
    if (r < 0)
        return r;
    *ret = r > 0 ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return 0;
}

int incident_db_row(struct db *d, struct span id, int64_t *ret)
{
    int r =
        count(d, "SELECT row FROM incidents WHERE id=?2 AND ?1=0", 0, id.p ? id : SPAN(""), ret);
    return r == 0 && *ret == 0 ? -ENOENT : r;
}

int incident_db_has_alert(struct db *d, int64_t row, struct span name, bool *ret)
{
    int64_t n;
    int r = count(d, "SELECT count(*) FROM episodes WHERE incident=?1 AND name=?2", row,
                  name.p ? name : SPAN(""), &n);
    if (r == 0)
        *ret = n > 0;
    return r;
}

static int insert(struct db *d, const struct incident_act *act)
{
    sqlite3_stmt *s;
    int r = db_prepare(d,
                       "INSERT INTO acts(incident, t_ms, kind, author, text)"
                       " VALUES (?1, ?2, ?3, ?4, ?5)",
                       &s);
    if (r < 0)
        return r;
    r = db_errno(sqlite3_bind_int64(s, 1, act->incident));
    if (r == 0)
        r = db_errno(sqlite3_bind_int64(s, 2, act->t_ms));
    if (r == 0)
        r = db_errno(sqlite3_bind_int(s, 3, (int)act->kind));
    if (r == 0)
        r = db_bind_span(s, 4, act->author);
    if (r == 0)
        r = db_bind_span(s, 5, act->text);
    if (r == 0)
        r = db_step(s);
    sqlite3_finalize(s);
    return r;
}

int incident_db_act(struct db *d, const struct incident_act *act)
{
    int64_t n = 0;
    int r = db_begin(d);
    if (r == 0)
        r = count(d, "SELECT count(*) FROM acts WHERE incident=?1", act->incident, (struct span){0},
                  &n);
    if (r == 0)
        r = n >= INCIDENT_NOTES_MAX ? -E2BIG : insert(d, act);
    if (r == 0)
        r = db_commit(d);
    if (r < 0)
        db_rollback(d);
    return r;
}

int incident_db_acts(struct db *d, int64_t row, struct arena *a, struct incident_act **ret,
                     size_t *ret_n)
{
    struct incident_act *all = NULL;
    size_t n = 0, cap = 0;
    sqlite3_stmt *s;
    int r = ask(d, "SELECT t_ms, kind, author, text FROM acts WHERE incident=?1 ORDER BY n", row,
                (struct span){0}, &s);
    if (r < 0)
        return r;
    for (; r > 0; r = db_step(s)) {
        struct incident_act *at = arena_grow(a, all, n, 1, &cap, sizeof(*all));
        struct span author = arena_dup(a, db_column_span(s, 2));
        struct span text = arena_dup(a, db_column_span(s, 3));
        if (!at || !author.p || !text.p) {
            r = -ENOMEM;
            break;
        }
        all = at;
        all[n++] = (struct incident_act){.incident = row,
                                         .t_ms = sqlite3_column_int64(s, 0),
                                         .kind = (enum incident_act_kind)sqlite3_column_int(s, 1),
                                         .author = author,
                                         .text = text};
    }
    sqlite3_finalize(s);
    if (r == 0) {
        *ret = all;
        *ret_n = n;
    }
    return r;
}

/* --- lists --- */

/* Of the incident whose number is in front; kinds are those of enum incident_act_kind. */
#define ACTS_OF(row)                                                                               \
    "(SELECT count(*) FROM acts WHERE incident=" row " AND kind=0),"                               \
    "(SELECT author FROM acts WHERE incident=" row " AND kind=1 ORDER BY n LIMIT 1),"              \
    "(SELECT t_ms FROM acts WHERE incident=" row " AND kind=1 ORDER BY n LIMIT 1),"                \
    "(SELECT kind FROM acts WHERE incident=" row                                                   \
    " AND kind>=2 AND text='' ORDER BY n DESC LIMIT 1)"

static void take_acts(sqlite3_stmt *s, int first, struct incident_summary *ret)
{
    ret->n_notes = sqlite3_column_int64(s, first);
    ret->acknowledged_by = db_column_span(s, first + 1);
    ret->acknowledged_ms = sqlite3_column_int64(s, first + 2);
    ret->is_noise = sqlite3_column_int(s, first + 3) == INCIDENT_NOISE;
}

int incident_db_add_acts(struct db *d, struct arena *a, struct incident_summary *ret)
{
    sqlite3_stmt *s;
    int r = ask(d, "SELECT " ACTS_OF("?1"), ret->row, (struct span){0}, &s);
    if (r < 0)
        return r;
    take_acts(s, 0, ret);
    ret->acknowledged_by = arena_dup(a, ret->acknowledged_by);
    r = ret->acknowledged_by.p ? 0 : -ENOMEM;
    sqlite3_finalize(s);
    return r;
}

int incident_db_list(struct db *d, const struct incidents_filter *f,
                     int (*visit)(void *ctx, const struct incident_summary *s), void *ctx)
{
    sqlite3_stmt *s;
    int r = db_prepare(
        d,
        "SELECT row, id, state, from_ms, to_ms, tier, n_alerts, n_firing, names," ACTS_OF(
            "i.row") " FROM incidents i WHERE (?1=0 OR to_ms=0 OR to_ms>=?1) AND (?2=0 OR"
                     " from_ms<=?2) AND (?3=0 OR state=0) ORDER BY from_ms DESC, row DESC LIMIT ?4",
        &s);
    const int64_t numbers[] = {f->from_ms, f->to_ms, f->only_open, (int64_t)f->limit};
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_LEN(numbers) && r == 0; i++)
        r = db_errno(sqlite3_bind_int64(s, (int)i + 1, numbers[i]));
    while (r == 0 && (r = db_step(s)) > 0) {
        struct incident_summary one = {.row = sqlite3_column_int64(s, 0),
                                       .id = db_column_span(s, 1),
                                       .state = (enum incident_state)sqlite3_column_int(s, 2),
                                       .from_ms = sqlite3_column_int64(s, 3),
                                       .to_ms = sqlite3_column_int64(s, 4),
                                       .tier = db_column_span(s, 5),
                                       .n_alerts = sqlite3_column_int64(s, 6),
                                       .n_firing = sqlite3_column_int64(s, 7),
                                       .names = db_column_span(s, 8)};
        take_acts(s, 9, &one);
        r = visit(ctx, &one);
    }
    sqlite3_finalize(s);
    return r;
}

/* --- reviews --- */

#define IS_NOISE                                                                                   \
    "coalesce((SELECT kind FROM acts a WHERE a.incident=e.incident AND kind>=2"                    \
    " AND (text='' OR text=e.name) ORDER BY n DESC LIMIT 1), 3)"

static int visit_alert(sqlite3_stmt *s, struct arena *a,
                       int (*visit)(void *ctx, const struct incident_alert *a), void *ctx)
{
    struct codec_reader in = {.rest = db_column_span(s, 4)};
    struct incident_alert one = {.incident = db_column_span(s, 0),
                                 .name = db_column_span(s, 1),
                                 .labels = codec_labels(&in, a),
                                 .from_ms = sqlite3_column_int64(s, 2),
                                 .to_ms = sqlite3_column_int64(s, 3),
                                 .is_firing = sqlite3_column_int64(s, 3) == 0,
                                 .is_noise = sqlite3_column_int(s, 5) == INCIDENT_NOISE};
    /* Where the labels make no sense it fired all the same. */
    return in.error == -ENOMEM ? in.error : visit(ctx, &one);
}

int incident_db_each_alert(struct db *d, int64_t from_ms, int64_t to_ms,
                           int (*visit)(void *ctx, const struct incident_alert *a), void *ctx)
{
    struct arena a;
    sqlite3_stmt *s;
    int r = db_prepare(d,
                       "SELECT i.id, e.name, e.from_ms, e.to_ms, e.labels," IS_NOISE
                       " FROM incidents i JOIN episodes e ON e.incident=i.row"
                       " WHERE (e.to_ms=0 OR e.to_ms>=?1) AND e.from_ms<=?2"
                       " ORDER BY i.from_ms, i.row, e.place",
                       &s);
    if (r < 0)
        return r;
    arena_init(&a, NULL);
    r = db_errno(sqlite3_bind_int64(s, 1, from_ms));
    if (r == 0)
        r = db_errno(sqlite3_bind_int64(s, 2, to_ms));
    while (r == 0 && (r = db_step(s)) > 0) {
        r = visit_alert(s, &a, visit, ctx);
        arena_reset(&a);
    }
    sqlite3_finalize(s);
    arena_done(&a);
    return r;
}
