/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert_life.h - scripts of alert_play.h told in ms since the second day of the epoch.
 */
#ifndef ALERT_LIFE_H
#define ALERT_LIFE_H

#include "alert_play.h"

enum { DAY = 86400000 };

#define RECEIVERS                                                                                  \
    "receivers: [{name: a, webhook_configs: [{url: x}]}, {name: b, webhook_configs: [{url: "       \
    "x}]}]\n"
#define WAITS "group_wait: 10s, group_interval: 1m, repeat_interval: 1h"

static inline void begin(struct play *p, const char *text, struct alert_file **ret)
{
    *ret = kind_file(text);
    play_init(p, *ret, DAY);
    p->names_only = true;
}

static inline void expect(struct play *p, const char *want)
{
    struct span out = buf_span(&p->out);
    struct buf moved;
    buf_init(&moved, 100000);
    while (out.n > 0) {
        struct span line = span_split(&out, '\n'), ms = span_split(&line, ' ');
        assert_int_equal(
            buf_printf(&moved, "%lld %.*s\n", (long long)(play_number(ms) - DAY), SPAN_ARG(line)),
            0);
    }
    assert_span_equal("played", buf_span(&moved), span_cstr(want));
    buf_done(&moved);
    buf_clear(&p->out);
}

static inline void until(struct play *p, int64_t ms)
{
    play_until(p, DAY + ms);
}

static inline void script(struct play *p, const char *text)
{
    play_script(p, span_cstr(text));
}

static inline void end(struct play *p, struct alert_file *f)
{
    play_done(p);
    alert_file_unref(f);
}

/* --- rows of the log --- */

static inline int count_log(void *ctx, const struct dispatch_log *l)
{
    int *n = ctx;
    n[l->told_ms < 0]++;
    return 0;
}

#endif
