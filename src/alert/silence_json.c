/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/silence_json.c - silences as Alertmanager's API v2 has them. Members that are not known are
 * left alone: who changes a silence sends back what he was given.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "alert/jsontree.h"
#include "alert/silence_impl.h"
#include "base/err_list.h"
#include "base/timestamp.h"

enum { SILENCE_MATCHERS_MAX = 100 };

static int mistake(struct err *reterr, const char *hint, const char *text)
{
    (void)err_set(reterr, -EINVAL, "silence: %s", text);
    err_hint(reterr, "%s", hint);
    return -EINVAL;
}

static int read_text(struct arena *a, const json_t *root, const char *key, struct span *ret)
{
    struct span copy = arena_dup(a, jsontree_text(root, key));
    if (!copy.p)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

static int read_time(const json_t *root, const char *key, int64_t missing_ms, int64_t *ret_ms,
                     struct err *reterr)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = jsontree_text(root, key);
    wall_t t;
    if (s.n == 0 && missing_ms >= 0 && !json_object_get(root, key)) {
        *ret_ms = missing_ms;
        return 0;
    }
    if (timestamp_parse(s, &t) != 0) {
        (void)err_set(reterr, -EINVAL, "silence: \"%s\" is no point in time: \"%s\"", key,
                      err_list_shown(s, shown));
        err_hint(reterr, "write it as 2026-11-30T08:00:00Z");
        return -EINVAL;
    }
    *ret_ms = t.us / 1000;
    return 0;
}

/* true, false, or missing. */
static int read_flag(const json_t *object, const char *key, bool *to)
{
    const json_t *v = json_object_get(object, key);
    if (v && !json_is_null(v) && !json_is_boolean(v))
        return -EINVAL;
    if (json_is_boolean(v))
        *to = json_is_true(v);
    return 0;
}

static int read_matcher(struct arena *a, const json_t *v, struct alert_matchers *m,
                        struct err *reterr)
{
    bool is_regex = false, is_equal = true;
    struct span name = jsontree_text(v, "name");
    if (!json_is_object(v) || !json_is_string(json_object_get(v, "value")) ||
        read_flag(v, "isRegex", &is_regex) != 0 || read_flag(v, "isEqual", &is_equal) != 0)
        return mistake(reterr, "each is {\"name\", \"value\", \"isRegex\", \"isEqual\"}",
                       "a matcher has not the right members");
    if (!alert_matchers_is_name(name))
        return mistake(reterr, "\"name\" is the name of a label", "a matcher has no name");
    enum matcher_op op = is_regex   ? is_equal ? MATCH_RE : MATCH_NRE
                         : is_equal ? MATCH_EQ
                                    : MATCH_NE;
    return alert_matchers_add(a, m, op, name, jsontree_text(v, "value"), reterr);
}

static int read_matchers(struct arena *a, const json_t *root, struct alert_matchers *m,
                         struct err *reterr)
{
    const json_t *list = json_object_get(root, "matchers");
    bool matches_empty = true;
    int r = 0;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return mistake(reterr, "without it everything would be silent", "\"matchers\" is missing");
    if (json_array_size(list) > SILENCE_MATCHERS_MAX)
        return mistake(reterr, "use a pattern", "too many matchers");
    for (size_t i = 0; i < json_array_size(list) && r == 0; i++)
        r = read_matcher(a, json_array_get(list, i), m, reterr);
    for (size_t i = 0; i < m->n && r == 0; i++)
        matches_empty = matches_empty && matcher_matches_empty(&m->at[i]);
    if (r == 0 && matches_empty)
        return mistake(reterr, "one has to ask for a text that is not empty",
                       "its matchers match every alert");
    return r;
}

static int read_members(const json_t *root, int64_t now_ms, struct arena *a,
                        struct alert_matchers *m, struct silence *to, struct err *reterr)
{
    struct span id = jsontree_text(root, "id");
    int r = id.n < sizeof(to->id)
                ? 0
                : mistake(reterr, "ids are as 8-4-4-4-12 hex digits", "\"id\" is too long");
    (void)span_copy(id, to->id, sizeof(to->id));
    if (r == 0)
        r = read_matchers(a, root, m, reterr);
    if (r == 0)
        r = read_time(root, "startsAt", now_ms, &to->starts_ms, reterr);
    if (r == 0)
        r = read_time(root, "endsAt", -1, &to->ends_ms, reterr);
    if (r == 0)
        r = read_text(a, root, "createdBy", &to->created_by);
    if (r == 0)
        r = read_text(a, root, "comment", &to->comment);
    to->matchers = m->at;
    to->n_matchers = m->n;
    if (r == 0 && to->ends_ms <= to->starts_ms)
        return mistake(reterr, "\"endsAt\" is behind \"startsAt\"", "it ends before it begins");
    if (r == 0 && to->ends_ms < now_ms)
        return mistake(reterr, "give an \"endsAt\" that is to come", "it has ended already");
    return r;
}

int silence_read(struct span json, int64_t now_ms, struct arena *a, struct alert_matchers *m,
                 struct silence *to, struct err *reterr)
{
    json_t *root = NULL;
    int r = jsontree_read(json, &root, reterr);
    if (r < 0)
        return r;
    r = json_is_object(root) ? read_members(root, now_ms, a, m, to, reterr)
                             : mistake(reterr, "send one object, as POST /api/v2/silences takes it",
                                       "not an object");
    json_decref(root);
    return r;
}

int silence_copy(const struct silence *from, struct arena *a, struct alert_matchers *m,
                 struct silence *to)
{
    int r = 0;
    for (size_t i = 0; i < from->n_matchers && r == 0; i++)
        r = alert_matchers_add(a, m, from->matchers[i].op, from->matchers[i].name,
                               from->matchers[i].value, NULL);
    *to = *from;
    to->matchers = m->at;
    to->n_matchers = m->n;
    to->created_by = arena_dup(a, from->created_by);
    to->comment = arena_dup(a, from->comment);
    return r == 0 && (!to->created_by.p || !to->comment.p) ? -ENOMEM : r;
}

/* --- out --- */

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[96];
    struct tm tm = {.tm_mday = 1};
    time_t t = (time_t)(ms / 1000);
    (void)gmtime_r(&t, &tm); /* out of range: 1900 */
    (void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms % 1000));
    jsonw_put_cstr(w, key, text);
}

static void write_matcher(struct jsonw *w, const struct matcher *m)
{
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", m->name);
    jsonw_put_str(w, "value", m->value);
    jsonw_put_bool(w, "isRegex", m->op == MATCH_RE || m->op == MATCH_NRE);
    jsonw_put_bool(w, "isEqual", m->op == MATCH_EQ || m->op == MATCH_RE);
    jsonw_end_object(w);
}

void silence_write(const struct silence *one, int64_t now_ms, struct jsonw *w)
{
    static const char *const states[] = {
        [SILENCE_EXPIRED] = "expired", [SILENCE_ACTIVE] = "active", [SILENCE_PENDING] = "pending"};
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "id", one->id);
    jsonw_key(w, "status");
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "state", states[silence_state(one, now_ms)]);
    jsonw_end_object(w);
    write_time(w, "updatedAt", one->updated_ms);
    jsonw_put_str(w, "comment", one->comment);
    jsonw_put_str(w, "createdBy", one->created_by);
    write_time(w, "startsAt", one->starts_ms);
    write_time(w, "endsAt", one->ends_ms);
    jsonw_key(w, "matchers");
    jsonw_begin_array(w);
    for (size_t i = 0; i < one->n_matchers; i++)
        write_matcher(w, &one->matchers[i]);
    jsonw_end_array(w);
    jsonw_end_object(w);
}
