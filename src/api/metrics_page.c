/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

#include "base/process.h"
#include "base/stat.h"
#include "export/export.h"

void metrics_page_handle(const struct api_request *req, struct api_answer *ret)
{
    int r;

    stat_inc(STAT_SCRAPES);
    process_sample();
    r = export_metrics(req->sources->metrics, http1_field_value(req->head, SPAN("Accept")),
                       http1_field_value(req->head, SPAN("Accept-Encoding")), &ret->body,
                       &ret->content_type, &ret->is_gzip);

    if (r < 0)
        api_answer_error(ret, 500, "the page could not be rendered: out of memory");
}
