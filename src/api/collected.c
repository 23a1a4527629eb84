/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

void collected_handle(const struct api_request *req, struct api_answer *ret)
{
    struct jsonw w;

    jsonw_init(&w, &ret->body);
    jsonw_begin_object(&w);
    if (req->sources->collected)
        req->sources->collected(req->sources->arg, &w);
    jsonw_end_object(&w);
    if (jsonw_error(&w) < 0 || buf_append(&ret->body, SPAN("\n")) < 0)
        api_answer_error(ret, 500, "out of memory");
}
