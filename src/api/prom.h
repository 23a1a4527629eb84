/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom.h - private to api/: one call of Prometheus' HTTP API, and what its resources share.
 *
 * Role:      a resource reads its parameters, writes its data between prom_begin and prom_end, or
 *            says prom_fail; nothing else is needed for a whole answer.
 * Memory:    of a call comes from its arena, which has a budget.
 * Threading: a call belongs to one thread; resources of queries run on threads of the pool.
 * Source:    Prometheus 3, "HTTP API": names, forms, statuses and texts.
 */
#ifndef API_PROM_H
#define API_PROM_H

#include "api/api.h"
#include "api/params.h"
#include "promql/query.h"

enum prom_fault {
    PROM_BAD_DATA,    /* 400 */
    PROM_EXECUTION,   /* 422 */
    PROM_CANCELED,    /* 499 */
    PROM_TIMEOUT,     /* 503 */
    PROM_UNAVAILABLE, /* 503 */
    PROM_INTERNAL,    /* 500 */
    PROM_NOT_FOUND,   /* 404 */
    PROM_FAULT_COUNT_,
};

struct prom_note {
    bool is_warning;
    struct span text;
    struct prom_note *next;
};

struct prom_call {
    const struct api_sources *sources;
    struct span method; /* GET, POST, DELETE */
    struct span path;
    struct span content; /* of a body that is no form */
    struct params params;
    struct arena *arena;
    const struct arena_budget *budget; /* of the arena; NULL: none */
    int64_t now_ms;
    struct api_query_limits limits;
    mono_t deadline;            /* a resource may bring it forward */
    bool (*is_left)(void *ctx); /* whether nobody waits any more */
    /* The reader of rows that works for the call, which is cancelled when the call is over; NULL:
     * none any more. */
    void (*hold)(void *ctx, struct rows_reader *rows);
    void *ctx;
    struct prom_note *notes, **last_note;
    /* The answer. */
    struct jsonw w;
    struct buf *body;
    int status;
    const char *content_type; /* static; NULL: JSON. Of calls on threads of queries */
};

/* The parameters are still to be read: prom_run. */
void prom_init(struct prom_call *c, const struct api_sources *sources, struct arena *a,
               struct buf *body);
/* Decodes the parameters and calls the resource; afterwards there is a whole answer. */
void prom_run(struct prom_call *c, void (*handle)(struct prom_call *c), struct span query,
              struct span form);

/* Opens {"status":"success","data": for one value. */
void prom_begin(struct prom_call *c);
void prom_end(struct prom_call *c);
/* Replaces what was written by an error. */
void prom_fail(struct prom_call *c, enum prom_fault fault, const char *fmt, ...) PRINTF_LIKE(3, 4);
void prom_fail_memory(struct prom_call *c);
/* What a user should know of the result. */
void prom_note(struct prom_call *c, bool is_warning, struct span text);

/* is_over of promql: -ECANCELED, -ETIMEDOUT or 0; ctx is the call. */
int prom_is_over(void *ctx);

/* Parameters; false: prom_fail was called. Absent: *ret stays. */
bool prom_time(struct prom_call *c, const char *name, bool is_needed, int64_t *ret_ms);
bool prom_duration(struct prom_call *c, const char *name, bool is_needed, int64_t *ret_ms);
bool prom_limit(struct prom_call *c, size_t *ret); /* 0: none */
/* The text of the error behind: invalid parameter "query": ... */
void prom_fail_parse(struct prom_call *c, const char *parameter, const struct promql_error *e);

/* The parameter query as an expression, to be freed; NULL: prom_fail was called, which names the
 * parameter unless that is NULL. */
struct promql_expr *prom_parse(struct prom_call *c, const char *parameter);

/* A reader of the store; false: prom_fail was called. */
bool prom_open(struct prom_call *c, struct reader **ret);
void prom_close(struct prom_call *c, struct reader *r);

/* What an evaluation failed with. */
void prom_fail_query(struct prom_call *c, int r, const char *text);

/* prom_json.c */
/* The members resultType and result; at most limit series (0: all), more: *ret_is_cut. */
void prom_write_value(struct jsonw *w, const struct value *v, bool is_range, size_t limit,
                      bool *ret_is_cut);

/* prom_select.c: the series of match[] between start and end, sorted, each once. False: prom_fail
 * was called. */
bool prom_select(struct prom_call *c, bool is_match_needed, struct series_ref **ret, size_t *ret_n);
/* The same of a reader that is open; parameter: named in errors, unless NULL. */
bool prom_select_in(struct prom_call *c, struct reader *r, int64_t from_ms, int64_t to_ms,
                    const char *parameter, struct series_ref **ret, size_t *ret_n);
bool prom_needs_match(struct prom_call *c);

/* Resources: prom_query.c, prom_exemplars.c, prom_labels.c, prom_info.c, prom_federate.c */
void prom_query_instant(struct prom_call *c);
void prom_query_range(struct prom_call *c);
void prom_query_graph(struct prom_call *c);
void prom_query_format(struct prom_call *c);
void prom_exemplars_query(struct prom_call *c);
void prom_labels_names(struct prom_call *c);
void prom_labels_values(struct prom_call *c);
void prom_labels_series(struct prom_call *c);
void prom_info_metadata(struct prom_call *c);
void prom_info_targets(struct prom_call *c);
void prom_info_build(struct prom_call *c);
void prom_federate_text(struct prom_call *c);

#endif
