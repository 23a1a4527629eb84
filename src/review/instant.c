/* SPDX-License-Identifier: Apache-2.0 */
#include "review/instant.h"

#include <errno.h>

void instant_init(struct instant *a)
{
    buf_init(&a->text, (size_t)2 * PROMQL_QUERY_MAX);
    a->_expr = NULL;
}

int instant_run(struct instant *a, const struct review *r, const struct value **ret_value,
                struct err *reterr)
{
    struct promql_options o = {.start_ms = r->q.to_ms,
                               .end_ms = r->q.to_ms,
                               .max_bytes = REVIEW_BYTES_MAX,
                               .is_over = r->q.is_over,
                               .ctx = r->q.ctx};
    struct promql_error error = {.text = ""};
    int failed = promql_parse(buf_span(&a->text), &a->_expr, &error);
    *ret_value = NULL;
    if (failed == 0)
        failed = promql_query(a->_expr, r->q.reader, &o, &a->result, &error);
    if (failed == 0)
        *ret_value = &a->result.value;
    if (failed == -EINVAL || failed == -E2BIG)
        return 0;
    return failed < 0 ? err_set(reterr, failed, "%s", error.text[0] ? error.text : err_str(failed))
                      : 0;
}

void instant_done(struct instant *a)
{
    if (a->_expr)
        promql_result_done(&a->result);
    a->_expr = promql_free_expr(a->_expr);
    buf_done(&a->text);
}
