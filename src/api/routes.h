/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/routes.h - private to api/: the route table and what a handler gets and gives.
 *
 * Adding a resource: a file api/<resource>.c with its handlers, a row in api/routes.c.
 */
#ifndef API_ROUTES_H
#define API_ROUTES_H

#include "api/api.h"
#include "api/language.h"
#include "api/session.h"
#include "base/buf.h"
#include "base/span.h"
#include "wire/http1.h"

struct api_request {
    const struct api_sources *sources;
    const struct api_access *access;
    const struct session *session;
    const struct http1_head *head;
    struct span path;
    struct span query; /* behind '?', undecoded */
};

struct api_answer {
    int status;               /* 200 unless the handler says otherwise */
    const char *content_type; /* static; default application/json */
    const char *fields;       /* more header lines, static; NULL: none */
    const char *cache;        /* Cache-Control, static; NULL: no-store */
    const char *etag;         /* static; NULL: none */
    struct buf more_fields;   /* header lines that are not static */
    bool is_gzip;
    bool is_later;  /* comes with api_reloaded */
    bool is_events; /* goes on and on: api/changes.h */
    struct buf body;
};

/* A form that was posted, for those who read it themselves. */
struct api_form {
    const struct api_access *access;
    struct span form;
    enum language language;
    bool wants_html;
    bool is_https; /* the browser says that it came over TLS, which others in front of us speak */
};

enum route_kind {
    ROUTE_PAGE,
    ROUTE_CHANGE, /* changes something: POST alone, and not from pages of other sites */
    ROUTE_CALL,   /* of Prometheus' API: GET, or POST of a form; at once */
    ROUTE_QUERY,  /* the same, needs the store or waits for a lock: on the threads of queries */
    /* Of Alertmanager's API: at once. What changes something (POST, DELETE) is guarded as above. */
    ROUTE_VIEW,   /* GET alone: who sends alerts here has to hear that nobody takes them */
    ROUTE_LIST,   /* GET, or POST of JSON */
    ROUTE_OBJECT, /* GET, or DELETE */
    ROUTE_WORK,   /* POST alone; may take long: on threads of its own */
    ROUTE_FORM,   /* GET, or POST of a form; not from pages of other sites */
};

/* Who may ask without a token where tokens are needed. */
enum route_access {
    ROUTE_GUARDED,
    ROUTE_OPEN,
    ROUTE_OPEN_HEALTH, /* as configured */
    ROUTE_OPEN_METRICS,
};

struct prom_call;
struct route {
    struct span path; /* one part may be *: any text without a slash; ** at the end: any text */
    enum route_kind kind;
    void (*handle)(const struct api_request *req, struct api_answer *ret);
    void (*call)(struct prom_call *c); /* from ROUTE_CALL on: instead of handle */
    const char *help;                  /* for GET / */
    enum route_access access;
    void (*post)(const struct api_form *f, struct api_answer *ret); /* of ROUTE_FORM */
};

/* The row for that path, or NULL. */
const struct route *route_find(struct span path);
const struct route *route_at(size_t i); /* NULL behind the last */

/* Value of a query parameter (undecoded), p == NULL when absent. */
struct span api_query_value(struct span query, struct span name);

/* Whether it may be asked for by that session. */
bool route_is_open(const struct route *r, const struct api_access *a, const struct session *s);

/* Replaces the answer by {"error": text} with that status. */
void api_answer_error(struct api_answer *a, int status, const char *text);

/* definitions.c */
void definitions_handle(const struct api_request *req, struct api_answer *ret);

/* changes.c */
void changes_handle(const struct api_request *req, struct api_answer *ret);

/* health.c, metrics_page.c, requests.c, status.c, actions.c */
void health_handle_healthz(const struct api_request *req, struct api_answer *ret);
void health_handle_readyz(const struct api_request *req, struct api_answer *ret);
void metrics_page_handle(const struct api_request *req, struct api_answer *ret);
void requests_handle_inflight(const struct api_request *req, struct api_answer *ret);
void requests_handle_recent(const struct api_request *req, struct api_answer *ret);
void actions_handle_reload(const struct api_request *req, struct api_answer *ret);
void status_handle_page(const struct api_request *req, struct api_answer *ret);
void status_handle_style(const struct api_request *req, struct api_answer *ret);
void status_handle_script(const struct api_request *req, struct api_answer *ret);
void status_handle_json(const struct api_request *req, struct api_answer *ret);

/* login.c */
void login_handle_page(const struct api_request *req, struct api_answer *ret);
void login_handle_style(const struct api_request *req, struct api_answer *ret);
void login_handle_session(const struct api_request *req, struct api_answer *ret);
void login_post(const struct api_form *f, struct api_answer *ret);
void login_post_leave(const struct api_form *f, struct api_answer *ret);
/* The refusal of who has shown no token: 401, or for people where the login page is. */
void login_answer_needed(const struct api_request *req, struct api_answer *ret);

/* collected.c */
void collected_get(struct prom_call *c);
void collected_prices(struct prom_call *c);

/* alerting.c, alerting_v2.c */
void alerting_rules(struct prom_call *c);
void alerting_alerts(struct prom_call *c);
void alerting_deliveries(struct prom_call *c);
void alerting_test(struct prom_call *c);
void alerting_route(struct prom_call *c);
void alerting_list(struct prom_call *c);
void alerting_groups(struct prom_call *c);
void alerting_silences(struct prom_call *c);
void alerting_silence(struct prom_call *c);
void alerting_receivers(struct prom_call *c);
void alerting_status(struct prom_call *c);

/* incident_calls.c */
void incident_calls_list(struct prom_call *c);
void incident_calls_one(struct prom_call *c);
void incident_calls_add_note(struct prom_call *c);
void incident_calls_ack(struct prom_call *c);
void incident_calls_noise(struct prom_call *c);

/* review_calls.c */
void review_calls_get(struct prom_call *c);

/* search_answer.c */
void search_list(struct prom_call *c);
void search_one(struct prom_call *c);

#endif
