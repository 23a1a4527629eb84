/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incident_db.h - of this module only: incidents, notes and marks in DIR/incidents.db.
 *
 * Rows:      an incident has a number that its holder gives; its episodes have their places in it,
 *            its curves their names.
 * Errors:    as db/db.h; -EILSEQ: what a row holds makes no sense, others may.
 * Threading: as struct db: one thread at a time per connection.
 */
#ifndef INCIDENT_INCIDENT_DB_H
#define INCIDENT_INCIDENT_DB_H

#include "db/db.h"
#include "incident/incident.h"

/* path: 4096 bytes. */
void incident_db_path(const char *dir, char *path, size_t cap);
int incident_db_open(const char *path, struct db **ret, bool *ret_was_damaged,
                     struct err *reterr) WARN_UNUSED;
int incident_db_open_reader(const char *path, struct db **ret) WARN_UNUSED;

/* All that is dirty of these, in one transaction; what was written is clean afterwards. */
int incident_db_save(struct db *d, struct incident *list) WARN_UNUSED;
/* Those that are not done, oldest first. */
int incident_db_load(struct db *d, struct incident **ret) WARN_UNUSED;
/* One of any state. -ENOENT. */
int incident_db_load_one(struct db *d, struct span id, struct incident **ret) WARN_UNUSED;
/* The largest number of an incident; 0: there is none. */
int incident_db_last_row(struct db *d, int64_t *ret) WARN_UNUSED;
int incident_db_has(struct db *d, struct span id, bool *ret) WARN_UNUSED;

/* Up to n of those that are done and ended before before_ms; *ret_n: how many there were. */
int incident_db_forget(struct db *d, int64_t before_ms, int n, int *ret_n) WARN_UNUSED;

/* What people said and did. */
enum incident_act_kind { INCIDENT_NOTE, INCIDENT_ACK, INCIDENT_NOISE, INCIDENT_NO_NOISE };
struct incident_act {
    int64_t incident; /* its row */
    int64_t t_ms;
    enum incident_act_kind kind;
    struct span author;
    struct span text; /* the note, or the name of the alert ("": all) */
};
int incident_db_act(struct db *d, const struct incident_act *act) WARN_UNUSED; /* -E2BIG */
/* In order. *ret: in the arena. */
int incident_db_acts(struct db *d, int64_t row, struct arena *a, struct incident_act **ret,
                     size_t *ret_n) WARN_UNUSED;
int incident_db_row(struct db *d, struct span id, int64_t *ret) WARN_UNUSED; /* -ENOENT */
/* Whether an incident has an alert of that name. */
int incident_db_has_alert(struct db *d, int64_t row, struct span name, bool *ret) WARN_UNUSED;

/* What a list shows of an incident. */
struct incident_summary {
    int64_t row;
    struct span id;
    enum incident_state state;
    int64_t from_ms, to_ms;
    struct span tier;
    int64_t n_alerts, n_firing, n_notes;
    struct span names; /* of its alerts, a JSON array */
    struct span acknowledged_by;
    int64_t acknowledged_ms;
    bool is_noise; /* all of it */
};
/* Names of alerts, each once, as the JSON array. */
int incident_db_names(const struct incident *c, struct buf *out) WARN_UNUSED;
/* n_notes, acknowledged_*, is_noise of ret->row; texts in the arena. */
int incident_db_add_acts(struct db *d, struct arena *a, struct incident_summary *ret) WARN_UNUSED;
/* Newest first, at most f->limit; a visit that returns nonzero ends it. */
int incident_db_list(struct db *d, const struct incidents_filter *f,
                     int (*visit)(void *ctx, const struct incident_summary *s),
                     void *ctx) WARN_UNUSED;
/* Every episode that overlaps the range. labels: valid during the visit. */
int incident_db_each_alert(struct db *d, int64_t from_ms, int64_t to_ms,
                           int (*visit)(void *ctx, const struct incident_alert *a),
                           void *ctx) WARN_UNUSED;

#endif
