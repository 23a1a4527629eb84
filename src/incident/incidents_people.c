/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incidents_people.c - notes, acknowledgements and marks. They are written at once, or
 * whoever makes them hears why not.
 */
#include <errno.h>

#include "base/utf8.h"
#include "incident/incidents_private.h"

/* Text of anybody as it is kept: UTF-8, lines that end with LF, no other control characters. */
static int clean(struct span s, bool has_lines, struct buf *out)
{
    int r = 0;
    while (s.n > 0 && r == 0) {
        bool is_valid;
        struct span c = span_take(&s, utf8_step(s, &is_valid));
        unsigned char first = (unsigned char)c.p[0];
        if (!is_valid) {
            c = SPAN("\xef\xbf\xbd");
        } else if (first == '\r') {
            if (s.n > 0 && s.p[0] == '\n')
                (void)span_take(&s, 1);
            c = SPAN("\n");
        } else if ((first < 0x20 && first != '\n' && first != '\t') || first == 0x7f ||
                   (first == 0xc2 && (unsigned char)c.p[1] < 0xa0)) {
            c = SPAN("?");
        }
        if (!has_lines && c.n == 1 && (c.p[0] == '\n' || c.p[0] == '\t'))
            c = SPAN(" ");
        r = buf_append(out, c);
    }
    return r;
}

static struct span trimmed(struct span s)
{
    while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ')
        s.n--;
    while (s.n > 0 && (unsigned char)s.p[0] <= ' ')
        (void)span_take(&s, 1);
    return s;
}

/* *ret in out. what: for the message. */
static int read_text(struct span s, const char *what, size_t max, bool has_lines, struct buf *out,
                     struct span *ret, struct err *reterr)
{
    buf_init(out, max * 3 + 1); /* what is no UTF-8 grows */
    s = trimmed(s);
    if (s.n == 0)
        return err_set(reterr, -EINVAL, "the %s is empty", what);
    int r = s.n > max ? -EMSGSIZE : clean(s, has_lines, out);
    if (r == -EMSGSIZE || (r == 0 && buf_len(out) > max))
        return err_set(reterr, -EMSGSIZE, "the %s is longer than %zu bytes", what, max);
    if (r < 0)
        return err_set(reterr, r, "%s", err_str(r));
    *ret = buf_span(out);
    return 0;
}

static int explain(int r, struct span id, struct err *reterr)
{
    if (r == -ENOENT) {
        err_set(reterr, r, "there is no incident \"%.*s\"", (int)(id.n < 40 ? id.n : 40), id.p);
        err_hint(reterr, "inferometer incident list");
    } else if (r == -E2BIG) {
        err_set(reterr, r, "there are %d notes and marks already", INCIDENT_NOTES_MAX);
    } else {
        err_set(reterr, r, "it could not be written: %s", err_str(r));
    }
    return r;
}

/* Under the lock; the incident is on disk before what is said of it. */
static int find_row(struct incidents *i, struct span id, int64_t now_ms, int64_t *ret)
{
    const struct incident *c = incidents_find_live(i, id);
    int r = c ? incidents_flush(i, now_ms) : 0;
    if (r < 0)
        return r;
    if (!i->db)
        return -EIO;
    if (c)
        *ret = c->row;
    return c ? 0 : incident_db_row(i->db, id, ret);
}

static int check_alert(struct incidents *i, const struct incident_act *act, struct err *reterr)
{
    bool has = true;
    if (act->kind < INCIDENT_NOISE || act->text.n == 0)
        return 0;
    int r = incident_db_has_alert(i->db, act->incident, act->text, &has);
    if (r == 0 && !has)
        return err_set(reterr, -ENOENT, "the incident has no alert \"%.*s\"",
                       (int)(act->text.n < 200 ? act->text.n : 200), act->text.p);
    return r;
}

static int act_on(struct incidents *i, struct span id, struct incident_act *act, struct err *reterr)
{
    struct err err = {0};
    pthread_mutex_lock(&i->lock);
    int r = find_row(i, id, act->t_ms, &act->incident);
    if (r == 0)
        r = check_alert(i, act, &err);
    if (r == 0)
        r = incident_db_act(i->db, act);
    (void)incidents_seen(i, r);
    pthread_mutex_unlock(&i->lock);
    if (r < 0 && err.code == 0)
        (void)explain(r, id, &err);
    if (r < 0 && reterr)
        *reterr = err;
    return r;
}

/* With what was read of the author. */
static int act_by(struct incidents *i, struct span id, struct span author, struct incident_act *act,
                  struct err *reterr)
{
    struct buf name;
    int r = read_text(author, "author", INCIDENT_AUTHOR_MAX, false, &name, &act->author, reterr);
    if (r == 0)
        r = act_on(i, id, act, reterr);
    buf_done(&name);
    return r;
}

int incidents_note(struct incidents *i, struct span id, struct span author, struct span text,
                   int64_t now_ms, struct err *reterr)
{
    struct incident_act act = {.t_ms = now_ms, .kind = INCIDENT_NOTE};
    struct buf note;
    int r = read_text(text, "note", INCIDENT_NOTE_MAX, true, &note, &act.text, reterr);
    if (r == 0)
        r = act_by(i, id, author, &act, reterr);
    buf_done(&note);
    return r;
}

int incidents_acknowledge(struct incidents *i, struct span id, struct span author, int64_t now_ms,
                          struct err *reterr)
{
    struct incident_act act = {.t_ms = now_ms, .kind = INCIDENT_ACK};
    return act_by(i, id, author, &act, reterr);
}

int incidents_mark_noise(struct incidents *i, struct span id, struct span alert, bool is_noise,
                         struct span author, int64_t now_ms, struct err *reterr)
{
    struct incident_act act = {
        .t_ms = now_ms, .kind = is_noise ? INCIDENT_NOISE : INCIDENT_NO_NOISE, .text = alert};
    return act_by(i, id, author, &act, reterr);
}
