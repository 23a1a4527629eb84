/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

static void status_write(const struct api_request *req, bool is_ok, const char *why,
                         struct api_answer *ret)
{
    struct jsonw w;

    jsonw_init(&w, &ret->body);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "status", is_ok ? "ok" : "not ready");
    if (!is_ok)
        jsonw_put_cstr(&w, "reason", why);
    if (req->session->role != SESSION_NONE) /* which faults it has is not told to everybody */
        jsonw_put_cstr(&w, "version", PROJECT_VERSION);
    jsonw_end_object(&w);
    ret->status = jsonw_error(&w) < 0 || buf_append(&ret->body, SPAN("\n")) < 0 ? 500
                  : is_ok                                                       ? 200
                                                                                : 503;
}

void health_handle_healthz(const struct api_request *req, struct api_answer *ret)
{
    status_write(req, true, "", ret);
}

void health_handle_readyz(const struct api_request *req, struct api_answer *ret)
{
    const char *why = "";
    bool is_ready = req->sources->is_ready(req->sources->arg, &why);

    status_write(req, is_ready, why, ret);
}
