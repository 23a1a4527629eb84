/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incidents_save.c - from memory to the file, and a file that is damaged or gone.
 */
#include <errno.h>

#include "base/log.h"
#include "incident/incidents_private.h"

void incidents_close_reader(struct incidents *i)
{
    i->reader = db_close(i->reader);
}

/* The file that is there now knows nothing of them. */
static void write_all_again(struct incidents *i)
{
    for (struct incident *c = i->live; c; c = c->next) {
        c->is_dirty = true;
        for (size_t k = 0; k < c->n_episodes; k++)
            c->episodes[k].is_dirty = true;
        for (size_t k = 0; k < curves_n; k++)
            c->curves[k].is_dirty = buf_len(&c->curves[k].packed) > 0;
    }
}

static void close_both(struct incidents *i)
{
    pthread_mutex_lock(&i->read_lock);
    incidents_close_reader(i);
    pthread_mutex_unlock(&i->read_lock);
    i->db = db_close(i->db);
}

static int open_again(struct incidents *i)
{
    bool was_damaged = false;
    struct err err = {0};
    int r = incident_db_open(i->path, &i->db, &was_damaged, &err);
    if (r == 0)
        write_all_again(i);
    return r;
}

static int replace(struct incidents *i)
{
    close_both(i);
    int r = db_set_aside(i->path, NULL, 0);
    if (r == 0 || r == -ENOENT)
        LOG_ERROR(
            "the database of incidents \"%s\" is damaged, moved it aside, beginning a new one",
            i->path);
    atomic_store(&i->is_damaged, false);
    return open_again(i);
}

void incidents_look_after_file(struct incidents *i)
{
    int r = 0;
    if (atomic_load(&i->is_damaged))
        r = replace(i);
    else if (i->db && db_place(i->db) != DB_IN_PLACE)
        close_both(i);
    if (r == 0 && !i->db)
        r = open_again(i);
    if (r < 0)
        LOG_ERROR("could not open the database of incidents \"%s\": %s, trying again", i->path,
                  err_str(r));
}

static bool is_unsaved(const struct incidents *i)
{
    for (const struct incident *c = i->live; c; c = c->next) {
        if (incident_is_unsaved(c))
            return true;
    }
    return false;
}

static int save(struct incidents *i)
{
    int r = i->db ? 0 : open_again(i);
    if (r == 0)
        r = incident_db_save(i->db, i->live);
    if (r != -EBADMSG)
        return r;
    r = replace(i);
    return r == 0 ? incident_db_save(i->db, i->live) : r;
}

int incidents_flush(struct incidents *i, int64_t now_ms)
{
    if (!is_unsaved(i))
        return 0;
    int64_t since_ms = now_ms - i->save_failed_ms;
    if (i->save_error < 0 && since_ms >= 0 && since_ms < INCIDENTS_SAVE_AGAIN_MS)
        return i->save_error;
    i->save_error = save(i);
    i->save_failed_ms = now_ms;
    return i->save_error;
}
