/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flag.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/suggest.h"
#include "base/timestamp.h"
#include "promql/parse.h"

void flag_init(struct flag *f, int argc, char **argv)
{
    *f = (struct flag){._argc = argc, ._argv = argv, ._i = 1};
}

int flag_next(struct flag *f, struct err *reterr)
{
    struct span arg;

    if (f->_i >= f->_argc)
        return 0;
    arg = span_cstr(f->_argv[f->_i++]);
    f->_value = (struct span){0};
    if (span_eq(arg, SPAN("-h"))) {
        f->name = SPAN("help");
        return 1;
    }
    if (span_eq(arg, SPAN("-c"))) {
        f->name = SPAN("config");
        return 1;
    }
    if (!span_starts_with(arg, SPAN("--")) || arg.n == 2) {
        (void)err_set(reterr, -EINVAL, "\"%.*s\" is not a flag", SPAN_ARG(arg));
        err_hint(reterr, "flags begin with --; see --help");
        return -EINVAL;
    }
    arg = span_from(arg, 2);
    if (span_find_char(arg, '=') < arg.n) {
        f->name = span_split(&arg, '=');
        f->_value = arg;
    } else {
        f->name = arg;
    }
    return 1;
}

bool flag_is(const struct flag *f, const char *name)
{
    return span_eq(f->name, span_cstr(name));
}

bool flag_word(struct flag *f, struct span *ret)
{
    if (f->_i >= f->_argc || f->_argv[f->_i][0] == '-')
        return false;
    *ret = span_cstr(f->_argv[f->_i++]);
    return true;
}

int flag_value(struct flag *f, const char *fallback, struct span *ret, struct err *reterr)
{
    struct span next = f->_i < f->_argc ? span_cstr(f->_argv[f->_i]) : (struct span){0};

    if (f->_value.p) {
        *ret = f->_value;
    } else if (next.p && !span_starts_with(next, SPAN("--"))) {
        *ret = next;
        f->_i++;
    } else if (fallback) {
        *ret = span_cstr(fallback);
    } else {
        return err_set(reterr, -EINVAL, "--%.*s needs a value", SPAN_ARG(f->name));
    }
    return 0;
}

static int bad_value(const struct flag *f, struct span value, struct err *reterr,
                     const char *wanted)
{
    return err_set(reterr, -EINVAL, "--%.*s: \"%.*s\" is not %s", SPAN_ARG(f->name),
                   SPAN_ARG(value), wanted);
}

int flag_i64(struct flag *f, int64_t min, int64_t max, int64_t *ret, struct err *reterr)
{
    char wanted[80];
    struct span value = {0};
    int64_t n;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    if (num_parse_i64(value, &n) < 0 || n < min || n > max) {
        (void)snprintf(wanted, sizeof(wanted), "a whole number from %lld to %lld", (long long)min,
                       (long long)max);
        return bad_value(f, value, reterr, wanted);
    }
    *ret = n;
    return 0;
}

int flag_double(struct flag *f, double min, double max, double *ret, struct err *reterr)
{
    char wanted[80];
    struct span value = {0};
    double v;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    if (num_parse_double(value, &v) < 0 || v < min || v > max) {
        (void)snprintf(wanted, sizeof(wanted), "a number from %g to %g", min, max);
        return bad_value(f, value, reterr, wanted);
    }
    *ret = v;
    return 0;
}

int flag_duration(struct flag *f, int64_t *ret_ns, struct err *reterr)
{
    struct span value = {0};
    int64_t ns;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    if (num_parse_duration(value, &ns) < 0)
        return bad_value(f, value, reterr, "a duration like 500ms, 10s or 2m");
    *ret_ns = ns;
    return 0;
}

int flag_ms(struct flag *f, int64_t *ret_ns, struct err *reterr)
{
    double ms = 0;
    int r = flag_double(f, 0, 24 * 3600 * 1e3, &ms, reterr);

    if (r == 0)
        *ret_ns = (int64_t)llround(ms * (double)NS_PER_MS);
    return r;
}

int flag_time(struct flag *f, double *ret_s, struct err *reterr)
{
    struct span s = {0};
    int64_t ms;
    wall_t wall;
    double now = (double)clock_wall().us / 1e6;
    int r = flag_value(f, NULL, &s, reterr);

    if (r < 0)
        return r;
    if (span_eq(s, SPAN("now")))
        *ret_s = now;
    else if (s.n > 1 && s.p[0] == '-' && promql_parse_duration(span_from(s, 1), &ms) == 0)
        *ret_s = now - (double)ms / 1000;
    else if (num_parse_double(s, ret_s) < 0 && timestamp_parse(s, &wall) == 0)
        *ret_s = (double)wall.us / 1e6;
    else if (num_parse_double(s, ret_s) < 0) {
        r = bad_value(f, s, reterr, "a time");
        err_hint(reterr, "seconds since the epoch, 2026-11-29T16:25:39Z, now, or -90m");
    }
    return r;
}

int flag_unknown(const struct flag *f, const struct suggest *s, const char *command,
                 struct err *reterr)
{
    (void)err_set(reterr, -EINVAL, "unknown flag --%.*s", SPAN_ARG(f->name));
    if (s && s->best.n > 0)
        err_hint(reterr, "did you mean --%.*s?", SPAN_ARG(s->best));
    else
        err_hint(reterr, "\"inferometer %s --help\" lists the flags", command);
    return -EINVAL;
}

int flag_complain(const char *command, const struct err *e)
{
    (void)fprintf(stderr, "inferometer %s: %s\n", command, e->text);
    if (e->hint[0] != '\0')
        (void)fprintf(stderr, "  %s\n", e->hint);
    return 2;
}
