/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_reload.h"

#include <errno.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/log.h"
#include "base/stat.h"

/* The status page shows the last one. */
static void page_tell(struct daemon *d, const struct config_reload_report *r)
{
    struct buf json;

    buf_init(&json, CONFIG_RELOAD_TEXT_MAX);
    if (config_reload_to_json(r, &json) == 0)
        daemon_tell_reload(d, r->at, buf_span(&json));
    buf_done(&json);
}

void config_reload_try(struct daemon *d, const struct config_args *args,
                       struct config_reload_report *ret)
{
    const struct config *running = daemon_config(d);
    struct config *config = NULL;

    memset(ret, 0, sizeof(*ret));
    ret->at = clock_wall();
    ret->file = args->config_path;
    err_list_init(&ret->mistakes);
    err_list_init(&ret->in_file.list);
    if (config_args_load(args, &config, &ret->mistakes) < 0) {
        (void)err_set(&ret->err, -EINVAL, "the configuration has mistakes");
    } else {
        ret->n_changed = config_diff(running, config, CONFIG_RELOAD, ret->changed);
        ret->n_restart = config_diff(running, config, CONFIG_RESTART, ret->restart);
        ret->is_taken = daemon_reload(d, config, &ret->in_file, &ret->err) == 0;
    }
    if (!ret->is_taken)
        ret->n_changed = 0;
    page_tell(d, ret);
    stat_inc(ret->is_taken ? STAT_CONFIG_RELOADS : STAT_CONFIG_RELOAD_FAILURES);
    config_unref(config);
}

void config_reload_log(const struct config_reload_report *r)
{
    err_list_print(&r->mistakes, stderr);
    err_list_print(&r->in_file.list, stderr);
    if (r->is_taken)
        LOG_INFO("configuration reloaded");
    else
        LOG_ERROR("reload refused, the running configuration stays: %s%s%s", r->err.text,
                  r->err.hint[0] ? "; " : "", r->err.hint);
}

/* --- as JSON --- */

static void keys_write(struct jsonw *w, const char *key, const char *const *paths, size_t n)
{
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t i = 0; i < n; i++)
        jsonw_cstr(w, paths[i]);
    jsonw_end_array(w);
}

static void mistake_write(struct jsonw *w, const struct err_item *item)
{
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "where", item->where);
    if (item->line > 0) {
        jsonw_put_i64(w, "line", item->line);
        jsonw_put_i64(w, "column", item->column);
    }
    jsonw_put_cstr(w, "message", item->err.text);
    jsonw_put_cstr(w, "hint", item->err.hint);
    jsonw_end_object(w);
}

static void mistakes_write(struct jsonw *w, const struct err_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        mistake_write(w, &l->items[i]);
}

static void refusal_write(struct jsonw *w, const struct config_reload_report *r)
{
    jsonw_put_cstr(w, "error", r->err.text);
    jsonw_put_cstr(w, "hint", r->err.hint);
    jsonw_key(w, "mistakes");
    jsonw_begin_array(w);
    mistakes_write(w, &r->mistakes);
    mistakes_write(w, &r->in_file.list);
    jsonw_end_array(w);
    jsonw_put_u64(w, "n_more_mistakes", r->mistakes.n_dropped + r->in_file.list.n_dropped);
    keys_write(w, "needs_restart", r->restart, r->n_restart);
}

int config_reload_to_json(const struct config_reload_report *r, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "status", r->is_taken ? "reloaded" : "refused");
    jsonw_put_cstr(&w, "file", r->file ? r->file : "");
    if (r->is_taken)
        keys_write(&w, "changed", r->changed, r->n_changed);
    else
        refusal_write(&w, r);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? jsonw_error(&w) : buf_append(out, SPAN("\n"));
}

/* --- as text --- */

static ssize_t text_append(void *out, const char *p, size_t n)
{
    return buf_append(out, span_of(p, n)) < 0 ? 0 : (ssize_t)n;
}

static int mistakes_text(const struct err_list *l, struct buf *out)
{
    FILE *f = fopencookie(out, "w", (cookie_io_functions_t){.write = text_append});

    if (!f)
        return -ENOMEM;
    err_list_print(l, f);
    return fclose(f) == 0 ? 0 : -ENOMEM;
}

int config_reload_to_text(const struct config_reload_report *r, struct buf *out)
{
    int e;

    if (!r->is_taken) {
        e = mistakes_text(&r->mistakes, out);
        if (e == 0)
            e = mistakes_text(&r->in_file.list, out);
        if (e == 0)
            e = buf_printf(out, "refused, the running configuration stays: %s\n", r->err.text);
        return e == 0 && r->err.hint[0] ? buf_printf(out, "  hint: %s\n", r->err.hint) : e;
    }
    e = buf_append(out, r->n_changed > 0
                            ? SPAN("reloaded; changed: ")
                            : SPAN("reloaded; no key has changed, files that are named were "
                                   "read again"));
    for (size_t i = 0; e == 0 && i < r->n_changed; i++)
        e = buf_printf(out, "%s%s", i > 0 ? ", " : "", r->changed[i]);
    return e == 0 ? buf_append(out, SPAN("\n")) : e;
}
