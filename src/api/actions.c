/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

void actions_handle_reload(const struct api_request *req, struct api_answer *ret)
{
    if (req->sources->reload)
        ret->is_later = true;
    else
        api_answer_error(ret, 404, "there is no configuration to reload");
}
