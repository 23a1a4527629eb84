/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/host_clock.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"

#define US 1e-6
#define NS 1e-9

const struct source_series host_clock_series[] = {
    {"clock_synchronised", METRIC_GAUGE, "", "",
     "1: something keeps the clock (the kernel's STA_UNSYNC is off); 0: nothing does, or its error "
     "grew too large."},
    {"clock_offset_seconds", METRIC_GAUGE, "seconds", "",
     "What is still to be corrected of the clock. Daemons that set it in other ways leave it 0."},
    {"clock_error_max_seconds", METRIC_GAUGE, "seconds", "",
     "Bound of the clock's error; grows by 500 us a second while nothing keeps it, up to 16 s."},
    {"clock_error_estimated_seconds", METRIC_GAUGE, "seconds", "", "Its estimated error."},
    {"clock_frequency_ratio", METRIC_GAUGE, "ratio", "",
     "Correction of the clock's frequency: 1e-6 is one millionth faster."},
    {"clock_leap_second", METRIC_GAUGE, "", "",
     "1: a leap second is put in at the end of this day; -1: one is left out; 0: neither."},
    {"clock_tai_offset_seconds", METRIC_GAUGE, "seconds", "",
     "TAI less UTC, where the kernel was told."},
};
const size_t host_clock_series_n = ARRAY_LEN(host_clock_series);

struct host_clock {
    int (*ask)(struct timex *t);
};

static int begin(const void *config, void **ret, struct err *reterr)
{
    const struct host_clock_config *wish = config;
    struct host_clock *c = mem_zalloc(1, sizeof(*c));

    if (!c)
        return err_set(reterr, -ENOMEM, "out of memory");
    c->ask = wish && wish->ask ? wish->ask : adjtimex;
    *ret = c;
    return 0;
}

static void tell(const struct timex *t, int state, struct source_out *o)
{
    bool is_kept = state != TIME_ERROR && !(t->status & STA_UNSYNC);
    double leap = t->status & STA_INS || state == TIME_INS   ? 1
                  : t->status & STA_DEL || state == TIME_DEL ? -1
                                                             : 0;

    source_out_add(o, "clock_synchronised", NULL, 0, is_kept);
    source_out_add(o, "clock_offset_seconds", NULL, 0,
                   (double)t->offset * (t->status & STA_NANO ? NS : US));
    source_out_add(o, "clock_error_max_seconds", NULL, 0,
                   t->maxerror >= 0 ? (double)t->maxerror * US : (double)NAN);
    source_out_add(o, "clock_error_estimated_seconds", NULL, 0,
                   t->esterror >= 0 ? (double)t->esterror * US : (double)NAN);
    /* Millionths with 16 bits behind the point. */
    source_out_add(o, "clock_frequency_ratio", NULL, 0, (double)t->freq / 65536 * 1e-6);
    source_out_add(o, "clock_leap_second", NULL, 0, leap);
    source_out_add(o, "clock_tai_offset_seconds", NULL, 0, t->tai > 0 ? t->tai : (double)NAN);
}

static enum source_state read_clock(void *source, int64_t t_ms, struct batch *out,
                                    struct err *reterr)
{
    struct host_clock *c = source;
    struct timex t = {.modes = 0}; /* nothing is changed */
    struct source_out o;
    int state = c->ask(&t);

    if (state < 0) {
        int r = -errno;

        (void)err_set(reterr, r, "the kernel does not tell of its clock: %s", err_str(r));
        err_hint(reterr, "adjtimex is forbidden here (seccomp of a container?)");
        return r == -EPERM || r == -ENOSYS ? SOURCE_ABSENT : SOURCE_BROKEN;
    }
    source_out_begin(&o, out, t_ms);
    tell(&t, state, &o);
    return source_out_end(&o, reterr) < 0 ? SOURCE_BROKEN : SOURCE_WORKING;
}

static void end(void *source)
{
    mem_free(source);
}

const struct source_kind source_clock = {"clock", begin, read_clock, end};
