/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/receiver_log.c - one line a alert in the operator's log.
 */
#include <errno.h>

#include "alert/letter.h"
#include "alert/options.h"
#include "alert/receiver_kinds.h"

enum { LINE_BYTES = 900, BODY_MAX = 16 << 20 };

static const struct option keys[] = {
    {.key = "send_resolved", .type = OPTION_PASSED},
    {0},
};

static int read_config(const struct yaml_node *map, const struct yaml_node *global,
                       const char *where, struct arena *a, const void **ret, struct err_list *errs)
{
    static const char none[1];
    struct options o = {where, a, errs};
    (void)global;
    int r = options_read(&o, map, keys, NULL);
    if (r == 0)
        *ret = none;
    return r == -ENOMEM ? r : 0; /* the rest is listed */
}

static void print_config(const void *config, struct yamlw *w)
{
    (void)config; /* it has no keys */
    (void)w;
}

static int put_lines(const struct alert_message *m, struct buf *out)
{
    int r = 0;
    for (size_t i = 0; i < m->n && r == 0; i++) {
        r = letter_line(&m->alerts[i], LINE_BYTES, out);
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}

static int render(const void *config, const struct alert_message *m, int64_t now_ms,
                  struct arena *a, struct receiver_request *ret, struct err *reterr)
{
    struct buf b;
    (void)config;
    (void)now_ms;
    buf_init(&b, BODY_MAX);
    int r = put_lines(m, &b);
    *ret = (struct receiver_request){.kind = REQUEST_LOG, .shown = SPAN("log")};
    if (r == 0 && !(ret->body = arena_dup(a, buf_span(&b))).p)
        r = -ENOMEM;
    buf_done(&b);
    return r < 0 ? err_set(reterr, r, "could not make the message: %s", err_str(r)) : 0;
}

static enum verdict judge(const void *config, const struct receiver_reply *r, int64_t *ret_wait_ms,
                          struct err *ret_why)
{
    (void)config;
    *ret_wait_ms = -1;
    if (r->error == 0)
        return VERDICT_DELIVERED;
    err_set(ret_why, r->error, "%s", err_str(r->error));
    return VERDICT_LATER;
}

const struct receiver_kind receiver_log = {
    .key = "log_configs",
    .name = "log",
    .tells_resolved = true,
    .read = read_config,
    .print = print_config,
    .render = render,
    .judge = judge,
};
