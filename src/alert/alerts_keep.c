/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alerts_keep.c - from and to alerts.db. A database that refuses is counted and said once;
 * delivery goes on, and what was not kept is kept as soon as the database takes it. One that could
 * not be opened at the start is read once it can be: what was found out meanwhile stays.
 */
#include <errno.h>

#include "alert/alerts_private.h"
#include "alert/fingerprint.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"

/* Rules need some time to tell again what still fires: those whose `for` is below the grace period
 * of 10 min begin anew, and the first slot may be an interval away. */
enum { RESTORED_HOLDS_MS = 12 * 60 * 1000 };

static void said(struct alerts *a, int r)
{
    if (r < 0) {
        stat_inc(STAT_ALERT_DB_ERRORS);
        if (!a->is_db_failing)
            LOG_ERROR("could not write alerts.db: %s; a restart now may repeat or forget alerts",
                      err_str(r));
    } else if (a->is_db_failing) {
        LOG_INFO("alerts.db can be written again");
    }
    a->is_db_failing = r < 0;
    a->is_db_behind = a->is_db_behind || r < 0;
    a->is_db_damaged = a->is_db_damaged || r == -EBADMSG;
}

/* --- the last run --- */

struct restoring {
    struct alerts *a;
    struct moment now;
};

static int restore_silence(void *ctx, const struct silence *s)
{
    const struct restoring *r = ctx;
    return silences_restore(r->a->silences, s);
}

static int restore_told(void *ctx, const struct dispatch_log *l)
{
    const struct restoring *r = ctx;
    return dispatch_restore(r->a->dispatch, l);
}

static int restore_alert(void *ctx, const struct alert_notice *n, struct labels evidence)
{
    const struct restoring *r = ctx;
    struct alert_notice notice = *n;
    uint64_t fingerprint = alert_fingerprint(n->labels);
    struct arena arena;
    if (dispatch_has(r->a->dispatch, fingerprint))
        return 0; /* what rules said since is newer */
    struct evidence *e = alerts_evidence(r->a, fingerprint);
    if (!e)
        return -ENOMEM;
    arena_reset(&e->arena);
    e->is_known = !n->is_resolved;
    int error = labels_copy(&e->arena, evidence, &e->labels);
    arena_init(&arena, NULL);
    if (error == 0)
        error = alerts_join(&arena, n->annotations, evidence, &notice.annotations);
    if (!n->is_resolved && notice.ends_ms < r->now.wall_ms + RESTORED_HOLDS_MS)
        notice.ends_ms = r->now.wall_ms + RESTORED_HOLDS_MS;
    if (error == 0)
        error = dispatch_put(r->a->dispatch, &notice, r->now.wall_ms);
    arena_done(&arena);
    return error;
}

static int restore_held(void *ctx, const struct delivery_held *h)
{
    const struct restoring *r = ctx;
    return delivery_restore(r->a->delivery, h, r->now);
}

/* Silences, what was told, alerts: what could be read is in use whatever comes behind it. A file
 * that opens, but cannot be read, makes way for a fresh one. */
static int read_all(struct alerts *a)
{
    struct restoring restoring = {a, alerts_now()};
    const struct alertdb_visitor v = {restore_silence, restore_told, restore_alert, restore_held,
                                      &restoring};
    size_t n_bad = 0;
    int r = alertdb_read(a->db, &v, &n_bad);
    if (r == -ENOMEM)
        return r;
    if (n_bad > 0)
        LOG_ERROR("%zu rows of alerts.db could not be understood, ignoring them", n_bad);
    if (r < 0) {
        stat_inc(STAT_ALERT_DB_ERRORS);
        LOG_ERROR("could not read all of alerts.db: %s, going on with what could be read",
                  err_str(r));
        a->is_db_damaged = r == -EBADMSG;
        a->is_db_behind = true;
    }
    return 0;
}

int alerts_restore(struct alerts *a, struct err *reterr)
{
    struct err err = {.text = ""};
    int r = alertdb_open(a->dir, &a->db, &err);
    if (r < 0 && r != -ENOMEM && r != -EBUSY) {
        stat_inc(STAT_ALERT_DB_ERRORS);
        LOG_ERROR("%s%s%s; alerts are delivered without it, trying again", err.text,
                  err.hint[0] ? "; " : "", err.hint);
        a->is_db_failing = a->is_db_behind = a->is_unrestored = true;
        return 0;
    }
    if (r < 0)
        return err_set(reterr, r, "%s", err.text);
    r = read_all(a);
    return r < 0 ? err_set(reterr, r, "out of memory") : 0;
}

/* --- this one --- */

void alerts_keep_notices(struct alerts *a, const struct alert_notice *n, size_t count)
{
    if (!a->db || count == 0)
        return;
    int r = alertdb_begin(a->db);
    for (size_t i = 0; i < count && r == 0; i++) {
        r = alertdb_put_alert(a->db, alert_fingerprint(n[i].labels), &n[i]);
        if (r != -EMSGSIZE)
            continue;
        stat_inc(STAT_ALERT_DB_ERRORS); /* it will never fit; the others are kept */
        r = 0;
    }
    if (r == 0)
        r = alertdb_commit(a->db);
    else
        alertdb_rollback(a->db);
    said(a, r);
}

/* One that is set may end another. */
void alerts_keep_silences(struct alerts *a, int64_t now_ms)
{
    if (!a->db)
        return;
    int r = alertdb_begin(a->db);
    for (size_t i = 0; i < silences_n(a->silences) && r == 0; i++) {
        const struct silence *s = silences_at(a->silences, i);
        if (s->updated_ms >= now_ms)
            r = alertdb_put_silence(a->db, s);
    }
    if (r == 0)
        r = alertdb_commit(a->db);
    else
        alertdb_rollback(a->db);
    said(a, r);
}

void alerts_keep_evidence(struct alerts *a, uint64_t fingerprint, struct labels evidence)
{
    if (a->db)
        said(a, alertdb_put_evidence(a->db, fingerprint, evidence));
}

struct saving {
    struct alerts *a;
    bool is_begun;
};

static int begin(struct saving *s)
{
    int r = s->is_begun ? 0 : alertdb_begin(s->a->db);
    s->is_begun = s->is_begun || r == 0;
    return r;
}

static int save_told(void *ctx, const struct dispatch_log *l)
{
    struct saving *s = ctx;
    int r = begin(s);
    return r < 0 ? r : alertdb_put_told(s->a->db, l);
}

static int save_held(void *ctx, const struct delivery_held *h)
{
    struct saving *s = ctx;
    return alertdb_put_held(s->a->db, h);
}

static int save_all_held(struct saving *s, struct moment now)
{
    int r = begin(s);
    if (r == 0)
        r = alertdb_drop_held(s->a->db);
    return r < 0 ? r : delivery_each_held(s->a->delivery, now, save_held, s);
}

/* --- what could not be kept, and a file that is gone or damaged --- */

/* Alerts themselves come back as rules tell them, each minute. */
static int save_everything(struct alerts *a, struct moment now)
{
    struct saving s = {.a = a, .is_begun = true};
    int r = alertdb_begin(a->db);
    for (size_t i = 0; i < silences_n(a->silences) && r == 0; i++)
        r = alertdb_put_silence(a->db, silences_at(a->silences, i));
    if (r == 0)
        r = dispatch_each_log(a->dispatch, save_told, &s);
    if (r == 0)
        r = save_all_held(&s, now);
    if (r == 0)
        return alertdb_commit(a->db);
    alertdb_rollback(a->db);
    return r;
}

/* What the last run left comes before what this one has to add. */
static int open_again(struct alerts *a)
{
    struct err err = {.text = ""};
    int r = alertdb_open(a->dir, &a->db, &err);
    if (r == 0 && a->is_unrestored)
        r = read_all(a);
    a->is_unrestored = a->is_unrestored && r < 0;
    return r;
}

static int replace(struct alerts *a)
{
    struct err err = {.text = ""};
    int r = alertdb_replace(a->dir, &a->db, &err);
    a->is_db_damaged = false; /* one that is still there is found to be damaged again */
    if (r == 0)
        LOG_ERROR("alerts.db is damaged, moved it aside, beginning a new one");
    return r;
}

/* What is in memory is the truth: all of it is written. */
static void catch_up(struct alerts *a, struct moment now)
{
    int r = a->is_db_damaged ? replace(a) : a->db ? 0 : open_again(a);
    if (r == 0)
        r = save_everything(a, now);
    said(a, r);
    a->is_db_behind = r < 0;
    a->catch_up_ms = now.mono_ms + CATCH_UP_MS;
}

static void look_after_file(struct alerts *a, struct moment now)
{
    if (!a->db || alertdb_is_in_place(a->db))
        return;
    LOG_ERROR("alerts.db was removed or replaced while in use, making it again");
    a->db = alertdb_close(a->db);
    catch_up(a, now);
}

/* What is held changes with every attempt, and the truth about it is in what was told: once a
 * second is enough. */
void alerts_keep_changes(struct alerts *a, struct moment now, bool is_last)
{
    struct saving s = {.a = a};
    if (a->is_db_behind && (is_last || now.mono_ms >= a->catch_up_ms))
        catch_up(a, now);
    if (!a->db)
        return;
    int r = dispatch_each_changed_log(a->dispatch, save_told, &s);
    bool is_time = is_last || now.mono_ms - a->held_saved_ms >= HELD_SAVE_MS;
    if (r == 0 && is_time && delivery_take_changed(a->delivery)) {
        a->held_saved_ms = now.mono_ms;
        r = save_all_held(&s, now);
    }
    if (s.is_begun && r == 0)
        r = alertdb_commit(a->db);
    else if (s.is_begun)
        alertdb_rollback(a->db);
    if (s.is_begun || r < 0)
        said(a, r);
}

/* --- what goes --- */

static bool is_needed(void *ctx, uint64_t fingerprint)
{
    const struct alerts *a = ctx;
    return dispatch_has(a->dispatch, fingerprint);
}

static int drop_evidence(void *ctx, struct alert_map_node *node)
{
    struct alerts *a = ctx;
    if (!is_needed(a, node->hash))
        alerts_evidence_free(a, ALERT_MAP_ENTRY(node, struct evidence, node));
    return 0;
}

static void drop_silence(void *ctx, const char *id)
{
    struct alerts *a = ctx;
    if (a->db)
        said(a, alertdb_drop_silence(a->db, id));
}

void alerts_clean(struct alerts *a, struct moment now)
{
    look_after_file(a, now);
    silences_clean(a->silences, now.wall_ms, drop_silence, a);
    if (!list_is_empty(&a->inbox) || !list_is_empty(&a->work))
        return; /* what they bring is not with dispatch yet */
    (void)alert_map_each(&a->evidence, drop_evidence, a);
    if (!a->db)
        return;
    int r = alertdb_begin(a->db);
    if (r == 0)
        r = alertdb_clean_alerts(a->db, is_needed, a);
    if (r == 0)
        r = alertdb_commit(a->db);
    else
        alertdb_rollback(a->db);
    said(a, r);
}
