/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

void index_handle(const struct api_request *req, struct api_answer *ret)
{
    (void)req;
    ret->content_type = "text/plain; charset=utf-8";
    if (buf_printf(&ret->body, "inferometer %s, admin listener\n\n", PROJECT_VERSION) < 0)
        ret->status = 500;
    for (size_t i = 0; route_at(i); i++)
        if (buf_printf(&ret->body, "%-26.*s %s\n", SPAN_ARG(route_at(i)->path), route_at(i)->help) <
            0)
            ret->status = 500;
}
