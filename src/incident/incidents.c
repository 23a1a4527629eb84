/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incidents.c - what is told, and what time makes of it.
 *
 * Every change is in memory first and then on disk, so that what cannot be written is written
 * later. Only one incident is open; the others that live wait for their curves or for the disk.
 */
#include "incident/incidents.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "incident/incidents_private.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define DAY_MS  (24 * HOUR_MS)
enum {
    KEEP_DAYS = 400,
    RANGE_MS = 2 * 60 * 1000,
    FORGET_AT_ONCE = 50,
    LOOK_MS = 30 * 1000,
    SHRINK_PAGES = 256,
};

/* --- birth and end --- */

static int take_live(struct incidents *i)
{
    int r = incident_db_last_row(i->db, &i->last_row);
    if (r == 0)
        r = incident_db_load(i->db, &i->live);
    for (struct incident *c = i->live; c && r == 0; c = c->next) {
        if (c->state == INCIDENT_OPEN)
            i->open = c;
    }
    return r;
}

/* A file that opens but cannot be read goes aside, too. */
static int open_file(struct incidents *i, struct err *reterr)
{
    bool was_damaged;
    int r = incident_db_open(i->path, &i->db, &was_damaged, reterr);
    if (r < 0)
        return r;
    r = take_live(i);
    if (r == -EBADMSG || r == -EILSEQ) {
        i->db = db_close(i->db);
        r = db_set_aside(i->path, NULL, 0);
        if (r == 0)
            r = incident_db_open(i->path, &i->db, &was_damaged, reterr);
        if (r == 0)
            r = take_live(i);
    }
    if (r < 0 && reterr && reterr->code == 0)
        err_set(reterr, r, "could not read incidents from \"%s\": %s", i->path, err_str(r));
    return r;
}

int incidents_open(const struct incidents_config *config, struct incidents **ret,
                   struct err *reterr)
{
    struct err err = {0};
    struct incidents *i = mem_zalloc(1, sizeof(*i));
    if (!i)
        return err_set(reterr, -ENOMEM, "out of memory");
    incident_db_path(config->dir, i->path, sizeof(i->path));
    i->keep_ms = config->keep_ms > 0 ? config->keep_ms : KEEP_DAYS * DAY_MS;
    i->range_ms = config->range_ms > RANGE_MS ? config->range_ms : RANGE_MS;
    pthread_mutex_init(&i->lock, NULL);
    pthread_mutex_init(&i->read_lock, NULL);
    int r = open_file(i, &err);
    if (r < 0) {
        if (reterr)
            *reterr = err;
        (void)incidents_close(i);
        return r;
    }
    *ret = i;
    return 0;
}

struct incidents *incidents_close(struct incidents *i)
{
    if (!i)
        return NULL;
    int r = i->db && i->live ? incident_db_save(i->db, i->live) : 0;
    if (r < 0)
        LOG_ERROR("what incidents had not written yet is lost: %s", err_str(r));
    for (struct incident *c = i->live, *next; c; c = next) {
        next = c->next;
        (void)incident_free(c);
    }
    incidents_close_reader(i);
    (void)db_close(i->db);
    pthread_mutex_destroy(&i->read_lock);
    pthread_mutex_destroy(&i->lock);
    mem_free(i);
    return NULL;
}

/* --- time --- */

/* Silence of minutes, or a clock that was set: nobody could tell anything meanwhile, and what was
 * to come is as far away as before. */
static void step(struct incidents *i, int64_t by_ms, int64_t now_ms)
{
    i->quiet_until_ms = now_ms + INCIDENTS_RESUME_MS;
    i->forget_at_ms = now_ms + DAY_MS;
    i->look_at_ms = now_ms;
    for (struct incident *c = i->live; c; c = c->next) {
        if (c->over_ms > 0)
            c->over_ms += by_ms;
    }
}

static void begin_time(struct incidents *i, int64_t now_ms)
{
    i->quiet_until_ms = now_ms + INCIDENTS_RESUME_MS;
    i->forget_at_ms = now_ms + HOUR_MS;
    for (struct incident *c = i->live; c; c = c->next)
        c->over_ms = c->over_ms < now_ms ? c->over_ms : now_ms;
}

static void go_on(struct incidents *i, int64_t now_ms)
{
    int64_t by_ms = now_ms - i->last_ms;
    if (i->last_ms == 0)
        begin_time(i, now_ms);
    else if (by_ms < 0 || by_ms > INCIDENTS_STEP_MS)
        step(i, by_ms, now_ms);
    i->last_ms = now_ms;
}

static void close_what_is_over(struct incidents *i, int64_t now_ms)
{
    struct incident *c = i->open;
    if (!c || c->n_firing > 0 || now_ms - c->over_ms < INCIDENT_LINGER_MS)
        return;
    c->state = INCIDENT_CLOSED;
    c->is_dirty = true;
    i->open = NULL;
}

/* --- what is told --- */

static size_t n_live(const struct incidents *i)
{
    size_t n = 0;
    for (const struct incident *c = i->live; c; c = c->next)
        n++;
    return n;
}

/* Those that are done and written live on the disk only. */
static void drop_done(struct incidents *i)
{
    for (struct incident **at = &i->live; *at;) {
        struct incident *c = *at;
        if (c->state != INCIDENT_DONE || incident_is_unsaved(c)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        (void)incident_free(c);
    }
}

/* The oldest gives way: without the rest of its curves, or wholly where the disk does not take it.
 */
static void make_room(struct incidents *i, int64_t now_ms)
{
    if (n_live(i) < INCIDENTS_LIVE_MAX)
        return;
    struct incident *oldest = i->live; /* not open: a new one is to come */
    oldest->state = INCIDENT_DONE;
    oldest->is_dirty = true;
    if (incidents_flush(i, now_ms) < 0) {
        i->live = oldest->next;
        i->n_lost++;
        (void)incident_free(oldest);
    }
    drop_done(i);
}

static void give_id(struct incident *c, int64_t now_ms)
{
    time_t t = (time_t)(c->from_ms > 0 ? c->from_ms / 1000 : now_ms / 1000);
    struct tm tm;
    char when[16];
    if (!gmtime_r(&t, &tm) || strftime(when, sizeof(when), "%Y%m%dT%H%M", &tm) == 0)
        (void)snprintf(when, sizeof(when), "00000000T0000");
    (void)snprintf(c->id, sizeof(c->id), "%.13s-%u", when, (unsigned)c->row % 1000000000U);
}

static int begin(struct incidents *i, const struct alert_notice *n, int64_t now_ms)
{
    struct incident *c = NULL;
    int r = incident_new(n->starts_ms, &c);
    if (r < 0)
        return r;
    r = incident_fire(c, n);
    if (r < 0) {
        (void)incident_free(c);
        return r;
    }
    make_room(i, now_ms);
    c->row = ++i->last_row;
    give_id(c, now_ms);
    struct incident **last = &i->live;
    while (*last)
        last = &(*last)->next;
    *last = c;
    i->open = c;
    return 0;
}

static int take(struct incidents *i, const struct alert_notice *n, int64_t now_ms)
{
    if (!incident_is_grave(n->labels))
        return 0;
    if (!n->is_resolved)
        return i->open ? incident_fire(i->open, n) : begin(i, n, now_ms);
    if (i->open)
        incident_resolve(i->open, n, now_ms);
    return 0;
}

int incidents_put(struct incidents *i, const struct alert_notice *notices, size_t n, int64_t now_ms)
{
    int r = 0;
    pthread_mutex_lock(&i->lock);
    go_on(i, now_ms);
    close_what_is_over(i, now_ms);
    for (size_t k = 0; k < n; k++) {
        int e = take(i, &notices[k], now_ms);
        r = r < 0 ? r : e;
    }
    int e = incidents_flush(i, now_ms);
    pthread_mutex_unlock(&i->lock);
    return r < 0 ? r : e;
}

int incidents_evidence(struct incidents *i, struct labels alert, struct labels annotations,
                       int64_t now_ms)
{
    struct incident *last = NULL;
    bool is_there = false;
    int r = 0;
    pthread_mutex_lock(&i->lock);
    for (struct incident *c = i->live; c; c = c->next)
        last = incident_find(c, alert) ? c : last;
    if (last)
        r = incident_add_evidence(last, alert, annotations, &is_there);
    if (r == 0 && is_there)
        r = incidents_flush(i, now_ms);
    pthread_mutex_unlock(&i->lock);
    return r;
}

/* --- what time does --- */

static int forget(struct incidents *i, int64_t now_ms)
{
    int n = 0;
    if (!i->db || now_ms < i->forget_at_ms)
        return 0;
    int r = incident_db_forget(i->db, now_ms - i->keep_ms, FORGET_AT_ONCE, &n);
    i->forget_at_ms = now_ms + (r == 0 && n == FORGET_AT_ONCE ? 0 : HOUR_MS);
    if (r == 0 && n > 0)
        r = db_shrink(i->db, SHRINK_PAGES);
    return r < 0 ? incidents_seen(i, r) : 0;
}

static void look_after_file(struct incidents *i, int64_t now_ms)
{
    if (now_ms < i->look_at_ms && !atomic_load(&i->is_damaged))
        return;
    i->look_at_ms = now_ms + LOOK_MS;
    incidents_look_after_file(i);
}

int incidents_tick(struct incidents *i, struct reader *r, int64_t now_ms)
{
    pthread_mutex_lock(&i->lock);
    go_on(i, now_ms);
    if (i->open && now_ms >= i->quiet_until_ms)
        incident_expire(i->open, now_ms);
    close_what_is_over(i, now_ms);
    pthread_mutex_unlock(&i->lock);
    int e = r ? incidents_take_curve(i, r, now_ms) : 0;
    pthread_mutex_lock(&i->lock);
    look_after_file(i, now_ms);
    incidents_finish_curves(i, now_ms);
    int saved = incidents_flush(i, now_ms);
    drop_done(i);
    int f = forget(i, now_ms);
    pthread_mutex_unlock(&i->lock);
    return saved < 0 ? saved : e < 0 ? e : f;
}

void incidents_stats(struct incidents *i, struct incidents_stats *ret)
{
    pthread_mutex_lock(&i->lock);
    *ret = (struct incidents_stats){.n_open = i->open != NULL, .n_lost = i->n_lost};
    for (const struct incident *c = i->live; c; c = c->next) {
        ret->n_waiting += c->state == INCIDENT_CLOSED;
        ret->n_unsaved += incident_is_unsaved(c);
    }
    pthread_mutex_unlock(&i->lock);
}
