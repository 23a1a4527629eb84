/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dialog.h"

#include <errno.h>

#include "base/limits.h"
#include "cli/flag.h"
#include "cli/terminal.h"

int dialog_read_words(int argc, char **argv, struct dialog_words *w,
                      int (*read)(struct flag *f, void *ctx, struct err *reterr), void *ctx,
                      struct err *reterr)
{
    struct flag f;
    struct span word;
    int r = 0;
    flag_init(&f, argc, argv);
    while (r == 0) {
        if (flag_word(&f, &word)) {
            if (w->max == 0)
                return err_set(reterr, -EINVAL, "\"%.*s\" is no flag", SPAN_ARG(word));
            if (w->n == w->max)
                return err_set(reterr, -EINVAL, "more than %zu words%s", w->max, w->too_many);
            w->at[w->n++] = word;
            continue;
        }
        r = flag_next(&f, reterr);
        if (r <= 0)
            return r < 0 ? r : 1;
        if (flag_is(&f, "help"))
            return 0;
        r = read(&f, ctx, reterr);
    }
    return r;
}

json_t *dialog_load(struct span json)
{
    return json_loadb(json.p ? json.p : "", json.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

struct span dialog_text(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_string(v) ? span_of(json_string_value(v), json_string_length(v)) : SPAN("");
}

int dialog_print_refusal(struct span json, struct buf *out)
{
    json_t *all = dialog_load(json);
    struct span text = json_is_string(all)
                           ? span_of(json_string_value(all), json_string_length(all))
                           : dialog_text(all, "error");
    int r = terminal_put(text.n > 0 ? text : json, out);
    json_decref(all);
    return r;
}

static int refused(int status, struct span body, struct err *reterr)
{
    struct buf text;
    buf_init(&text, TALK_ANSWER_MAX);
    int r = dialog_print_refusal(body, &text);
    err_set(reterr, -EREMOTEIO, "refused with status %d: %.*s", status,
            SPAN_ARG(r == 0 ? buf_span(&text) : SPAN("out of memory")));
    buf_done(&text);
    return -EREMOTEIO;
}

int dialog_get(const struct talk_place *at, struct talk_question q, struct buf *body,
               int *ret_status, struct err *reterr)
{
    int status = 0;
    q.accept = q.accept ? q.accept : "application/json";
    q.flag = "--url";
    int r = talk_ask(at, &q, &status, body, reterr);
    if (ret_status)
        *ret_status = status;
    return r == 0 && status / 100 != 2 ? refused(status, buf_span(body), reterr) : r;
}
