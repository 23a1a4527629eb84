/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/file_read.h"

#include <ctype.h>
#include <errno.h>

#include "base/num.h"

static const char *const weekdays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                       "thursday", "friday", "saturday"};
static const char *const months[] = {"january",   "february", "march",    "april",
                                     "may",       "june",     "july",     "august",
                                     "september", "october",  "november", "december"};

/* What the lists hold beside times. */
static const struct part {
    const char *key;
    const char *const *names;
    int n_names;
    int first; /* number of the first name */
    int min, max;
    bool has_numbers;
    const char *hint;
} parts[INTERVAL_COUNT_] = {
    [INTERVAL_WEEKDAYS] = {"weekdays", weekdays, 7, 0, 0, 6, false,
                           "write monday, or monday:friday; sunday is before monday"},
    [INTERVAL_DAYS] = {"days_of_month", NULL, 0, 0, -31, 31, true,
                       "write 1, 1:15, or -1 for the last day of the month"},
    [INTERVAL_MONTHS] = {"months", months, 12, 1, 1, 12, true,
                         "write january, 1, or january:march"},
    [INTERVAL_YEARS] = {"years", NULL, 0, 0, 1, 9999, true, "write 2026, or 2026:2028"},
};

static bool member(const struct part *p, struct span s, int *ret)
{
    int64_t v;
    for (int i = 0; i < p->n_names; i++) {
        if (span_eq_nocase(s, span_cstr(p->names[i]))) {
            *ret = p->first + i;
            return true;
        }
    }
    if (!p->has_numbers || num_parse_i64(s, &v) != 0 || v < p->min || v > p->max)
        return false;
    *ret = (int)v;
    return true;
}

/* Days count from the end where they are negative; months have at least 28. */
static const char *days_mistake(struct alert_range r)
{
    if (r.first == 0 || r.last == 0)
        return "there is no day 0 of a month";
    if (r.first < 0 && r.last > 0)
        return "the last day must be negative when the first is";
    int first = r.first < 0 ? 28 + r.first : r.first, last = r.last < 0 ? 28 + r.last : r.last;
    return first > last ? "the last day is before the first" : NULL;
}

static const char *range_mistake(enum alert_interval_part part, struct span s,
                                 struct alert_range *ret)
{
    const struct part *p = &parts[part];
    struct span last = s, first = span_split(&last, ':');
    bool is_range = first.n < s.n;
    if (!member(p, first, &ret->first) || (is_range && !member(p, last, &ret->last)))
        return "not one of these";
    if (!is_range)
        ret->last = ret->first;
    if (part == INTERVAL_DAYS)
        return days_mistake(*ret);
    return ret->first > ret->last ? "the end is before the beginning" : NULL;
}

struct list_reader {
    enum alert_interval_part part;
    struct alert_range *at;
    size_t n;
};

static int read_range(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct list_reader *l = to;
    const struct part *p = &parts[l->part];
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = {0};
    if (!file_text(rd, item, p->key, &s))
        return 0;
    const char *mistake = range_mistake(l->part, s, &l->at[l->n]);
    if (mistake) {
        struct err *e = file_error(rd, item);
        (void)err_set(e, -EINVAL, "\"%s\" in %s: %s", err_list_shown(s, shown), p->key, mistake);
        err_hint(e, "%s", p->hint);
        return 0;
    }
    l->n++;
    return 0;
}

/* "09:30"; 24:00 is the end of the day. */
static bool parse_time(struct span s, int *ret)
{
    if (s.n != 5 || s.p[2] != ':' || !isdigit((unsigned char)s.p[0]) ||
        !isdigit((unsigned char)s.p[1]) || !isdigit((unsigned char)s.p[3]) ||
        !isdigit((unsigned char)s.p[4]))
        return false;
    int hour = (s.p[0] - '0') * 10 + s.p[1] - '0', minute = (s.p[3] - '0') * 10 + s.p[4] - '0';
    *ret = hour * 60 + minute;
    return minute < 60 && *ret <= 24 * 60;
}

struct day_reader {
    int at[2];
    bool is_there[2], is_bad;
};

static int read_time(struct file_reader *rd, const struct yaml_node *node, int which,
                     struct day_reader *d)
{
    const char *what = which == 0 ? "start_time" : "end_time";
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = {0};
    d->is_there[which] = true;
    if (!file_text(rd, node, what, &s) || !parse_time(s, &d->at[which])) {
        struct err *e = file_error(rd, node);
        (void)err_set(e, -EINVAL, "\"%s\" must be a time of day, not \"%s\"", what,
                      err_list_shown(s, shown));
        err_hint(e, "write it as 'HH:MM', from '00:00' to '24:00'");
        d->is_bad = true;
    }
    return 0;
}

static int read_start(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_time(rd, value, 0, to);
}

static int read_end(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_time(rd, value, 1, to);
}

static int read_day(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    static const struct file_key keys[] = {{"start_time", read_start, NULL},
                                           {"end_time", read_end, NULL}};
    struct list_reader *l = to;
    struct day_reader d = {.is_bad = false};
    size_t n = rd->errs->n;
    int r = file_keys_read(rd, item, "times", keys, ARRAY_LEN(keys), &d);
    if (r < 0 || d.is_bad || rd->errs->n > n)
        return r;
    if (!d.is_there[0] || !d.is_there[1]) {
        (void)err_set(file_error(rd, item), -EINVAL, "times need both start_time and end_time");
    } else if (d.at[0] >= d.at[1]) {
        struct err *e = file_error(rd, item);
        (void)err_set(e, -EINVAL, "start_time is not before end_time");
        err_hint(e, "a night is two entries: one up to '24:00', one from '00:00'");
    } else {
        l->at[l->n++] = (struct alert_range){d.at[0], d.at[1]};
    }
    return 0;
}

static int read_part(struct file_reader *rd, const struct yaml_node *value,
                     struct alert_interval *to, enum alert_interval_part part)
{
    struct list_reader l = {.part = part};
    bool is_times = part == INTERVAL_TIMES;
    l.at = arena_array(&rd->to->arena, file_keys_length(value), sizeof(*l.at));
    if (!l.at)
        return -ENOMEM;
    int r = file_keys_each(rd, value, is_times ? "times" : parts[part].key,
                           is_times ? read_day : read_range, &l);
    to->parts[part] = (struct alert_ranges){l.at, l.n, value->kind == YAML_NODE_LIST};
    return r;
}

static int read_times(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_part(rd, value, to, INTERVAL_TIMES);
}

static int read_weekdays(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_part(rd, value, to, INTERVAL_WEEKDAYS);
}

static int read_days(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_part(rd, value, to, INTERVAL_DAYS);
}

static int read_months(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_part(rd, value, to, INTERVAL_MONTHS);
}

static int read_years(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_part(rd, value, to, INTERVAL_YEARS);
}

static int read_location(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct alert_interval *in = to;
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = {0};
    if (!file_text(rd, value, "location", &s) || s.n == 0)
        return 0;
    int r = zone_load(&rd->to->arena, s, &in->zone);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        struct err *e = file_error(rd, value);
        (void)err_set(e, r, "unknown time zone \"%s\"", err_list_shown(s, shown));
        err_hint(e, "use a name as in /usr/share/zoneinfo (package tzdata): Asia/Shanghai, UTC");
        return 0;
    }
    return file_copy(rd, s, &in->location);
}

struct times_reader {
    struct span name;
    struct alert_interval *intervals;
    size_t n;
};

static int read_interval(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    static const struct file_key keys[] = {
        {"times", read_times, NULL},        {"weekdays", read_weekdays, NULL},
        {"days_of_month", read_days, NULL}, {"months", read_months, NULL},
        {"years", read_years, NULL},        {"location", read_location, NULL},
    };
    struct times_reader *t = to;
    struct alert_interval *in = &t->intervals[t->n++];
    in->location = SPAN("");
    return file_keys_read(rd, item, "time interval", keys, ARRAY_LEN(keys), in);
}

static int read_intervals(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct times_reader *t = to;
    t->n = 0;
    t->intervals = arena_zalloc(&rd->to->arena, file_keys_length(value), sizeof(*t->intervals));
    if (!t->intervals)
        return -ENOMEM;
    return file_keys_each(rd, value, "time_intervals", read_interval, t);
}

static int read_name(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct times_reader *t = to;
    struct span s = {0};
    return file_text(rd, value, "name", &s) ? file_copy(rd, s, &t->name) : 0;
}

static int read_named(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    static const struct file_key keys[] = {{"name", read_name, NULL},
                                           {"time_intervals", read_intervals, NULL}};
    struct alert_times *all = to;
    struct times_reader t = {.name = SPAN("")};
    char shown[ERR_LIST_SHOWN_MAX];
    int r = file_keys_read(rd, item, "time_intervals", keys, ARRAY_LEN(keys), &t);
    if (r < 0)
        return r;
    if (t.name.n == 0) {
        (void)err_set(file_error(rd, item), -EINVAL, "a time interval needs a name");
        return 0;
    }
    if (alert_file_times(&rd->to->file, t.name)) {
        (void)err_set(file_error(rd, item), -EINVAL, "time interval \"%s\" is there twice",
                      err_list_shown(t.name, shown));
        return 0;
    }
    all[rd->to->file.n_times++] = (struct alert_times){t.name, t.intervals, t.n};
    return 0;
}

int file_times_read(struct file_reader *rd, const struct yaml_node *list,
                    const struct yaml_node *old_list)
{
    size_t n = file_keys_length(list) + file_keys_length(old_list);
    struct alert_times *all = arena_zalloc(&rd->to->arena, n, sizeof(*all));
    if (!all)
        return -ENOMEM;
    rd->to->file.times = all;
    int r = file_keys_each(rd, old_list, "mute_time_intervals", read_named, all);
    return r < 0 ? r : file_keys_each(rd, list, "time_intervals", read_named, all);
}
