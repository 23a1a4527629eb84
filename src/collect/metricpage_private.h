/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/metricpage_private.h - between the files of a page.
 *
 * Role:      metricpage.c goes over the lines; metricpage_series.c knows each series by its bytes;
 *            metricpage_labels.c is what Prometheus does to labels; metricpage_model.c is the page
 *            as an engine's: which signals there are, and their values; metricpage_missing.c tells
 *            which are not.
 */
#ifndef COLLECT_METRICPAGE_PRIVATE_H
#define COLLECT_METRICPAGE_PRIVATE_H

#include "collect/metricpage.h"
#include "collect/present.h"

/* --- metricpage_series.c --- */

/* A name of samples. When one comes or goes, the page is another one. */
struct metricpage_name {
    struct metricpage_name *next;
    uint64_t hash;
    uint64_t round;   /* what n counts */
    size_t n;         /* series of it in that round */
    size_t n_kept;    /* in the last page that was kept */
    size_t n_entries; /* in the table, with this name */
    bool is_used;     /* signals read it */
    bool has_new;     /* in that round: a series that was not on the page before */
    struct span name;
    char text[];
};
struct metricpage_entry {
    struct metricpage_entry *next;     /* of the same bucket */
    struct metricpage_entry *follower; /* came behind it the last time */
    uint64_t hash;
    uint64_t round;                /* of the last page that has it */
    uint64_t kept;                 /* of one that was kept, when a later one had it, too; 0: none */
    struct present_series *series; /* NULL: dropped, or it cannot be read */
    const char *mistake;           /* why */
    struct metricpage_name *name;
    double *slot; /* where signals read its value; NULL: none does */
    struct span bytes;
    char text[];
};
struct metricpage_table {
    struct metricpage_entry **entries;
    size_t n_entries, n_entry_buckets;
    size_t n_kept; /* entries behind the last page that was kept */
    struct metricpage_name **names;
    size_t n_names, n_name_buckets;
};

void metricpage_table_done(struct metricpage_table *t);
/* Whatever was made of series is void: it is made anew when they come again. */
void metricpage_table_clear(struct metricpage_table *t);
struct metricpage_entry *metricpage_table_find(const struct metricpage_table *t, struct span bytes);
/* A series that was never seen: its labels, and whether it stays. -ENOMEM; -E2BIG, -EINVAL: the
 * page is refused, p's words say why. */
int metricpage_entry_new(struct metricpage *p, const struct text_item *item,
                         struct metricpage_entry **ret) WARN_UNUSED;
/* Behind a page that is kept: counts of names, and what was not seen for long is forgotten. */
void metricpage_table_keep(struct metricpage_table *t, uint64_t round);
/* Behind one that is refused: series of such pages do not pile up. */
void metricpage_table_refuse(struct metricpage_table *t, uint64_t round);

/* Names that signals read: those of the slots. */
void metricpage_table_use(struct metricpage_table *t, const struct families_selection *f);

/* --- metricpage_labels.c --- */

/* metricpage_labels of what a page has as `written`. */
int metricpage_labels_written(const struct scrape_job *j, struct labels target, struct labels own,
                              struct span written, struct arena *a, struct labels *ret) WARN_UNUSED;

/* --- metricpage_model.c --- */

/* A sample of a signal and the series that it becomes. */
struct metricpage_signal {
    const struct signal_found *from;
    const char *tail;
    double le, v;
    size_t value; /* of which value of the page */
    struct present_series *series;
};
/* Samples of signals in the order in which values tell them, with the labels of each value. */
struct metricpage_signals {
    struct arena arena;
    struct metricpage_signal *at;
    size_t n, cap;
    struct labels *values;
    size_t n_values;
};
/* What a page is as an engine's; made anew when names come or go. */
struct metricpage_model {
    struct arena arena;
    struct engine_page page;
    struct families_selection families; /* those that signals read, with the page's values */
    bool has_no_data;                   /* a signal is missing for want of values, which may come */
    size_t n_with_data;                 /* signals that had values once */
    uint64_t made_in;                   /* round */
    struct metricpage_signals signals;
};
struct metricpage_model *metricpage_model_free(struct metricpage_model *m);
/* Recognises the page, whose series are those of p->round. */
int metricpage_model_make(struct metricpage *p, struct span body, enum text_format format,
                          int64_t t_ms) WARN_UNUSED;
/* Signals out of the page's values. *ret_lost: one of them has none any more. */
int metricpage_model_read(struct metricpage *p, bool *ret_lost) WARN_UNUSED;
int metricpage_model_tell(struct metricpage *p, int64_t t_ms, struct batch *out) WARN_UNUSED;

/* --- metricpage_missing.c --- */

/* What is remembered of a signal. */
struct metricpage_told {
    const struct engine_map *map; /* who told it last; NULL: nobody did */
    const struct engine_source *source;
    char *family; /* the first that it was made of, as the page called it */
    int64_t t_ms; /* when */
    bool is_told; /* by this page */
    bool has_drifted;
};
struct metricpage_missing {
    struct metricpage_told told[SIGNAL_COUNT_];
    double started_s; /* of the process; NaN: not known */
    struct present_series *series[SIGNAL_COUNT_];
    size_t n_series;
};
/* Behind metricpage_model_make: what is missing, and what has drifted. f: the page. */
int metricpage_missing_judge(struct metricpage *p, const struct families *f,
                             int64_t t_ms) WARN_UNUSED;
int metricpage_missing_tell(struct metricpage *p, int64_t t_ms, struct batch *out) WARN_UNUSED;
void metricpage_missing_clear(struct metricpage_missing *m); /* no series are held any more */
void metricpage_missing_done(struct metricpage_missing *m);

/* --- metricpage.c --- */

struct metricpage {
    const struct scrape_job *job;
    struct labels labels;
    struct arena arena; /* labels */
    struct present live;
    struct metricpage_table table;
    uint64_t round;      /* of the page that is read */
    uint64_t last_round; /* of the last that was kept; 0: none */
    uint64_t types_hash; /* of its comments */
    struct metricpage_model *model;
    struct metricpage_missing missing;
    struct err_list *mistakes; /* NULL: never any */
    size_t n_mistakes;
    struct arena scratch;
    char words[200];
};
/* Why a page is refused. Returns r. */
int metricpage_refuse(struct metricpage *p, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
