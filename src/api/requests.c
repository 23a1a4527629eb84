/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

#include "base/num.h"

enum { RECENT_LIMIT_DEFAULT = 50, RECENT_LIMIT_MAX = 1000 };

/* Opens {"requests":[ for the items to come; list_end closes it. */
static void list_begin(struct jsonw *w, struct api_answer *ret)
{
    jsonw_init(w, &ret->body);
    jsonw_begin_object(w);
    jsonw_key(w, "requests");
    jsonw_begin_array(w);
}

static void list_end(struct jsonw *w, struct api_answer *ret)
{
    jsonw_end_array(w);
    jsonw_end_object(w);
    if (jsonw_error(w) < 0 || buf_append(&ret->body, SPAN("\n")) < 0)
        api_answer_error(ret, 500, "out of memory");
}

void requests_handle_inflight(const struct api_request *req, struct api_answer *ret)
{
    struct jsonw w;

    list_begin(&w, ret);
    req->sources->inflight(req->sources->arg, &w);
    list_end(&w, ret);
}

void requests_handle_recent(const struct api_request *req, struct api_answer *ret)
{
    struct span text = api_query_value(req->query, SPAN("limit"));
    uint64_t limit = RECENT_LIMIT_DEFAULT;
    struct jsonw w;

    if (text.p && (num_parse_u64(text, &limit) < 0 || limit == 0 || limit > RECENT_LIMIT_MAX)) {
        api_answer_error(ret, 400, "limit must be a number from 1 to 1000");
        return;
    }
    list_begin(&w, ret);
    recent_write(req->sources->recent, (size_t)limit, &w);
    list_end(&w, ret);
}
