/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/page_private.h - between the files of a page.
 *
 * Role:      page.c goes over the lines; page_series.c knows each series by its bytes;
 *            page_labels.c is what Prometheus does to labels; page_model.c is the page as an
 *            engine's: which signals there are, and their values; page_missing.c tells which are
 * not.
 */
#ifndef COLLECT_PAGE_PRIVATE_H
#define COLLECT_PAGE_PRIVATE_H

#include "collect/live.h"
#include "collect/page.h"

/* --- page_series.c --- */

/* A name of samples. When one comes or goes, the page is another one. */
struct page_name {
    struct page_name *next;
    uint64_t hash;
    uint64_t round; /* what n counts */
    size_t n;       /* series of it in that round */
    size_t n_kept;  /* in the last page that was kept */
    bool is_used;   /* signals read it */
    bool has_new;   /* in that round: a series that was not on the page before */
    struct span name;
    char text[];
};
struct page_entry {
    struct page_entry *next;     /* of the same bucket */
    struct page_entry *follower; /* came behind it the last time */
    uint64_t hash;
    uint64_t round;             /* of the last page that has it */
    uint64_t kept;              /* of the last one that was kept; 0: none was */
    struct live_series *series; /* NULL: dropped, or it cannot be read */
    const char *mistake;        /* why */
    struct page_name *name;
    double *slot; /* where signals read its value; NULL: none does */
    struct span bytes;
    char text[];
};
struct page_table {
    struct page_entry **entries;
    size_t n_entries, n_entry_buckets;
    struct page_name **names;
    size_t n_names, n_name_buckets;
};

void page_table_done(struct page_table *t);
/* Whatever was made of series is void: it is made anew when they come again. */
void page_table_clear(struct page_table *t);
struct page_entry *page_table_find(const struct page_table *t, struct span bytes);
/* A series that was never seen: its labels, and whether it stays. -ENOMEM; -E2BIG, -EINVAL: the
 * page is refused, p's words say why. */
int page_entry_new(struct page *p, const struct text_item *item,
                   struct page_entry **ret) WARN_UNUSED;
/* Behind a page that is kept: counts of names, and what was not seen for long is forgotten. */
void page_table_keep(struct page_table *t, uint64_t round);

/* Names that signals read: those of the slots. */
void page_table_use(struct page_table *t, const struct families_selection *f);

/* --- page_labels.c --- */

/* page_labels of what a page has as `written`. */
int page_labels_written(const struct scrape_job *j, struct labels target, struct labels own,
                        struct span written, struct arena *a, struct labels *ret) WARN_UNUSED;

/* --- page_model.c --- */

/* A sample of a signal and the series that it becomes. */
struct page_signal {
    const struct signal_found *from;
    const char *tail;
    double le, v;
    size_t value; /* of which value of the page */
    struct live_series *series;
};
/* Samples of signals in the order in which values tell them, with the labels of each value. */
struct page_signals {
    struct arena arena;
    struct page_signal *at;
    size_t n, cap;
    struct labels *values;
    size_t n_values;
};
/* What a page is as an engine's; made anew when names come or go. */
struct page_model {
    struct arena arena;
    struct engine_page page;
    struct families_selection families; /* those that signals read, with the page's values */
    bool has_no_data;                   /* a signal is missing for want of values, which may come */
    size_t n_with_data;                 /* signals that had values once */
    uint64_t made_in;                   /* round */
    struct page_signals signals;
};
struct page_model *page_model_free(struct page_model *m);
/* Recognises the page, whose series are those of p->round. */
int page_model_make(struct page *p, struct span body, enum text_format format,
                    int64_t t_ms) WARN_UNUSED;
/* Signals out of the page's values. *ret_lost: one of them has none any more. */
int page_model_read(struct page *p, bool *ret_lost) WARN_UNUSED;
int page_model_tell(struct page *p, int64_t t_ms, struct batch *out) WARN_UNUSED;

/* --- page_missing.c --- */

/* What is remembered of a signal. */
struct page_told {
    const struct engine_map *map; /* who told it last; NULL: nobody did */
    const struct engine_source *source;
    char *family; /* the first that it was made of, as the page called it */
    int64_t t_ms; /* when */
    bool is_told; /* by this page */
    bool has_drifted;
};
struct page_missing {
    struct page_told told[SIGNAL_COUNT_];
    double started_s; /* of the process; NaN: not known */
    struct live_series *series[SIGNAL_COUNT_];
    size_t n_series;
};
/* Behind page_model_make: what is missing, and what has drifted. f: the page. */
int page_missing_judge(struct page *p, const struct families *f, int64_t t_ms) WARN_UNUSED;
int page_missing_tell(struct page *p, int64_t t_ms, struct batch *out) WARN_UNUSED;
void page_missing_clear(struct page_missing *m); /* no series are held any more */
void page_missing_done(struct page_missing *m);

/* --- page.c --- */

struct page {
    const struct scrape_job *job;
    struct labels labels;
    struct arena arena; /* labels */
    struct live live;
    struct page_table table;
    uint64_t round;      /* of the page that is read */
    uint64_t last_round; /* of the last that was kept; 0: none */
    uint64_t types_hash; /* of its comments */
    struct page_model *model;
    struct page_missing missing;
    struct err_list *mistakes; /* NULL: never any */
    size_t n_mistakes;
    struct arena scratch;
    char words[200];
};
/* Why a page is refused. Returns r. */
int page_refuse(struct page *p, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
