/* SPDX-License-Identifier: Apache-2.0 */
#include "api/methods.h"

#include "api/guard.h"

/* What a resource may be asked with, and the refusal of the rest. */
static const struct {
    const char *also; /* beside GET and HEAD; NULL: nothing */
    bool is_change;   /* what is not GET or HEAD changes something */
    bool is_change_only;
    const char *why, *allow;
} methods[] = {
    [ROUTE_PAGE] = {NULL, false, false, "only GET and HEAD are served here",
                    "Allow: GET, HEAD\r\n"},
    [ROUTE_CHANGE] = {"POST", true, true, "only POST is served here", "Allow: POST\r\n"},
    [ROUTE_CALL] = {"POST", false, false, "only GET, HEAD and POST are served here",
                    "Allow: GET, HEAD, POST\r\n"},
    [ROUTE_QUERY] = {"POST", false, false, "only GET, HEAD and POST are served here",
                     "Allow: GET, HEAD, POST\r\n"},
    [ROUTE_VIEW] = {NULL, false, false, "only GET and HEAD are served here",
                    "Allow: GET, HEAD\r\n"},
    [ROUTE_LIST] = {"POST", true, false, "only GET, HEAD and POST are served here",
                    "Allow: GET, HEAD, POST\r\n"},
    [ROUTE_OBJECT] = {"DELETE", true, false, "only GET, HEAD and DELETE are served here",
                      "Allow: GET, HEAD, DELETE\r\n"},
    [ROUTE_WORK] = {"POST", true, true, "only POST is served here", "Allow: POST\r\n"},
    [ROUTE_FORM] = {"POST", false, false, "only GET, HEAD and POST are served here",
                    "Allow: GET, HEAD, POST\r\n"},
};

bool methods_is_look(struct span method)
{
    return span_eq(method, SPAN("GET")) || span_eq(method, SPAN("HEAD"));
}

bool methods_is_change(const struct route *route, struct span method)
{
    return methods[route->kind].is_change && !methods_is_look(method);
}

const char *methods_allow(const struct route *route)
{
    return methods[route->kind].allow;
}

static bool is_method_of(const struct route *route, struct span method)
{
    const char *also = methods[route->kind].also;
    if (methods_is_look(method))
        return !methods[route->kind].is_change_only;
    return also && span_eq(method, span_cstr(also));
}

/* Why a request that changes something is refused; NULL: it is not. */
static const char *change_refusal(const struct api_request *req, const struct route *route)
{
    if (methods_is_look(req->head->method))
        return NULL;
    if (route->kind == ROUTE_FORM)
        return guard_is_foreign(req->head, req->access)
                   ? "this request comes from a page of another site"
                   : NULL;
    if (!methods[route->kind].is_change)
        return NULL;
    return req->session->role < SESSION_WRITE ? "this token is for looking only"
                                              : guard_refusal(req->head, req->session, req->access);
}

/* What is kept for scrapers and probes, whatever they call us. */
static bool is_for_probes(const struct route *route)
{
    return route->access == ROUTE_OPEN_METRICS || route->access == ROUTE_OPEN_HEALTH;
}

bool methods_refuse(const struct api_request *req, const struct route *route,
                    struct api_answer *ret)
{
    const char *why = NULL;

    if (!route)
        api_answer_error(ret, 404, "no such page; GET / lists what there is");
    else if (!is_for_probes(route) && guard_is_rebound(req->head, req->session, req->access))
        api_answer_error(ret, 403,
                         "without a token Host has to be an address, localhost, this machine's "
                         "name or that of alerting.external_url, so that no other site's page "
                         "can ask");
    else if (!route_is_open(route, req->access, req->session))
        login_answer_needed(req, ret);
    else if (!is_method_of(route, req->head->method))
        api_answer_error(ret, 405, methods[route->kind].why);
    else if ((why = change_refusal(req, route)))
        api_answer_error(ret, 403, why);
    else
        return false;
    return true;
}
