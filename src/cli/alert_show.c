/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alert_show.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "cli/dialog.h"
#include "cli/terminal.h"

static int put(struct buf *out, const char *before, struct span s)
{
    int r = buf_append(out, span_cstr(before));
    return r < 0 ? r : terminal_put(s, out);
}

/* "3 min" since (or until) that time; "" where it is none. */
static int put_age(struct buf *out, struct span time, int64_t now_ms)
{
    wall_t t;
    if (timestamp_parse(time, &t) < 0)
        return 0;
    int64_t s = (now_ms - t.us / 1000) / 1000;
    s = s < 0 ? -s : s;
    if (s < 120)
        return buf_printf(out, "%lld s", (long long)s);
    if (s < INT64_C(2) * 3600)
        return buf_printf(out, "%lld min", (long long)s / 60);
    if (s < INT64_C(2) * 86400)
        return buf_printf(out, "%lld h", (long long)s / 3600);
    return buf_printf(out, "%lld d", (long long)s / 86400);
}

/* --- alerts --- */

static int put_labels(struct buf *out, json_t *labels)
{
    const char *key;
    json_t *value;
    int r = 0;
    bool is_first = true;
    json_object_foreach(labels, key, value)
    {
        if (r < 0 || strcmp(key, "alertname") == 0 || strcmp(key, "tier") == 0)
            continue;
        r = put(out, is_first ? "    " : "  ", span_cstr(key));
        if (r == 0)
            r = put(out, "=", dialog_text(labels, key));
        is_first = false;
    }
    return r == 0 && !is_first ? buf_append(out, SPAN("\n")) : r;
}

static int put_annotations(struct buf *out, const json_t *annotations)
{
    static const char *const keys[] = {"summary", "description", "evidence", "exemplar_requests",
                                       "runbook_url"};
    static const char *const before[] = {"    ", "    ",
                                         "    evidence: ", "    requests: ", "    runbook: "};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(keys) && r == 0; i++) {
        struct span s = dialog_text(annotations, keys[i]);
        if (s.n == 0)
            continue;
        r = put(out, before[i], s);
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}

static int put_alert(struct buf *out, const json_t *a, int64_t now_ms)
{
    json_t *labels = json_object_get(a, "labels");
    const json_t *status = json_object_get(a, "status");
    struct span tier = dialog_text(labels, "tier");
    if (!json_is_object(labels) || !json_is_object(status))
        return -EPROTO;
    int r = put(out, "", tier.n > 0 ? tier : SPAN("-"));
    if (r == 0)
        r = put(out, "  ", dialog_text(labels, "alertname"));
    if (r == 0)
        r = put(out, "  ", dialog_text(status, "state"));
    if (r == 0)
        r = buf_append(out, SPAN(", since "));
    if (r == 0)
        r = put_age(out, dialog_text(a, "startsAt"), now_ms);
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    if (r == 0)
        r = put_labels(out, labels);
    return r < 0 ? r : put_annotations(out, json_object_get(a, "annotations"));
}

/* Each element of the list that json is; nothing: what is said where none was shown. */
static int show_each(struct span json, int64_t now_ms, struct buf *out,
                     int (*show)(struct buf *out, const json_t *one, int64_t now_ms),
                     const char *nothing)
{
    json_t *all = dialog_load(json);
    json_t *list = json_is_object(all) ? json_object_get(all, "data") : all;
    int r = json_is_array(list) ? 0 : -EPROTO;
    size_t i, n_before = buf_len(out);
    json_t *one;
    json_array_foreach(list, i, one)
    {
        if (r == 0)
            r = show(out, one, now_ms);
    }
    if (r == 0 && buf_len(out) == n_before)
        r = buf_printf(out, "%s\n", nothing);
    json_decref(all);
    return r;
}

int alert_show_list(struct span json, int64_t now_ms, struct buf *out)
{
    return show_each(json, now_ms, out, put_alert, "no alert is firing");
}

/* --- silences --- */

static const char *operator_of(const json_t *m)
{
    bool is_equal = !json_is_false(json_object_get(m, "isEqual"));
    if (json_is_true(json_object_get(m, "isRegex")))
        return is_equal ? "=~" : "!~";
    return is_equal ? "=" : "!=";
}

static int put_silence(struct buf *out, const json_t *s, int64_t now_ms)
{
    struct span state = dialog_text(json_object_get(s, "status"), "state");
    const json_t *m;
    size_t i;
    if (!json_is_object(s))
        return -EPROTO;
    if (span_eq(state, SPAN("expired")))
        return 0;
    int r = put(out, "", dialog_text(s, "id"));
    if (r == 0)
        r = put(out, "  ", state);
    if (r == 0)
        r = buf_append(out, SPAN(", ends in "));
    if (r == 0)
        r = put_age(out, dialog_text(s, "endsAt"), now_ms);
    if (r == 0)
        r = buf_append(out, SPAN("\n   "));
    json_array_foreach(json_object_get(s, "matchers"), i, m)
    {
        if (r == 0)
            r = put(out, " ", dialog_text(m, "name"));
        if (r == 0)
            r = put(out, operator_of(m), dialog_text(m, "value"));
    }
    if (r == 0)
        r = put(out, "\n    ", dialog_text(s, "comment"));
    if (r == 0 && dialog_text(s, "createdBy").n > 0)
        r = put(out, ", by ", dialog_text(s, "createdBy"));
    return r < 0 ? r : buf_append(out, SPAN("\n"));
}

int alert_show_silences(struct span json, int64_t now_ms, struct buf *out)
{
    return show_each(json, now_ms, out, put_silence, "no silence is in force");
}

int alert_show_silence_id(struct span json, int64_t now_ms, struct buf *out)
{
    json_t *all = dialog_load(json);
    struct span id = dialog_text(all, "silenceID");
    (void)now_ms;
    int r = id.n > 0 ? put(out, "", id) : -EPROTO;
    if (r == 0)
        r = buf_append(out, SPAN("\n"));
    json_decref(all);
    return r;
}

/* --- deliveries --- */

static int put_number(struct buf *out, const json_t *o, const char *key, const char *behind)
{
    const json_t *v = json_object_get(o, key);
    return buf_printf(out, "%lld%s", (long long)json_integer_value(v), behind);
}

static int put_failed(struct buf *out, const json_t *o, const char *behind)
{
    long long n = json_integer_value(json_object_get(o, "failedAttempts"));
    return buf_printf(out, "%lld attempt%s failed%s", n, n == 1 ? "" : "s", behind);
}

static int put_problem(struct buf *out, const json_t *o)
{
    struct span error = dialog_text(o, "error");
    int r = error.n > 0 ? put(out, "    ", error) : 0;
    if (r == 0 && error.n > 0)
        r = buf_append(out, SPAN("\n"));
    if (r == 0 && dialog_text(o, "hint").n > 0) {
        r = put(out, "    hint: ", dialog_text(o, "hint"));
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}

static int put_name_of(struct buf *out, const json_t *o)
{
    int r = put(out, "", dialog_text(o, "receiver"));
    return r < 0 ? r : put(out, " ", dialog_text(o, "kind"));
}

static int put_receiver(struct buf *out, const json_t *o, int64_t now_ms)
{
    struct span at = dialog_text(o, "lastDeliveredAt");
    int r = put_name_of(out, o);
    if (r == 0)
        r = buf_append(out, SPAN(": "));
    if (r == 0)
        r = put_number(out, o, "delivered", " delivered, ");
    if (r == 0)
        r = put_failed(out, o, ", ");
    if (r == 0)
        r = put_number(out, o, "waiting", " waiting");
    if (r == 0 && at.n > 0)
        r = buf_append(out, SPAN(", last "));
    if (r == 0 && at.n > 0)
        r = put_age(out, at, now_ms);
    if (r == 0)
        r = buf_append(out, at.n > 0 ? SPAN(" ago\n") : SPAN("\n"));
    return r < 0 ? r : put_problem(out, o);
}

static int put_waiting(struct buf *out, const json_t *o, int64_t now_ms)
{
    bool is_over = json_is_true(json_object_get(o, "givenUp"));
    int r = put_name_of(out, o);
    if (r == 0)
        r = put(out, " ", dialog_text(o, "groupKey"));
    if (r == 0)
        r = buf_append(out, SPAN(": "));
    if (r == 0)
        r = put_failed(out, o, "");
    if (r == 0)
        r = buf_append(out, is_over ? SPAN(", not tried again\n") : SPAN(", tried again in "));
    if (r == 0 && !is_over)
        r = put_age(out, dialog_text(o, "nextAttemptAt"), now_ms);
    if (r == 0 && !is_over)
        r = buf_append(out, SPAN("\n"));
    return r < 0 ? r : put_problem(out, o);
}

int alert_show_deliveries(struct span json, int64_t now_ms, struct buf *out)
{
    json_t *all = dialog_load(json);
    const json_t *data = json_object_get(all, "data");
    const json_t *waiting = json_object_get(data, "waiting");
    const json_t *receivers = json_object_get(data, "receivers");
    int r = json_is_array(waiting) && json_is_array(receivers) ? 0 : -EPROTO;
    for (size_t i = 0; r == 0 && i < json_array_size(receivers); i++)
        r = put_receiver(out, json_array_get(receivers, i), now_ms);
    for (size_t i = 0; r == 0 && i < json_array_size(waiting); i++)
        r = put_waiting(out, json_array_get(waiting, i), now_ms);
    if (r == 0 && json_array_size(receivers) == 0)
        r = buf_append(out, SPAN("nothing was delivered yet\n"));
    json_decref(all);
    return r;
}

/* --- receivers --- */

static int put_name(struct buf *out, const json_t *one, int64_t now_ms)
{
    (void)now_ms;
    if (!json_is_string(one))
        return -EPROTO;
    int r = put(out, "", span_of(json_string_value(one), json_string_length(one)));
    return r < 0 ? r : buf_append(out, SPAN("\n"));
}

int alert_show_names(struct span json, int64_t now_ms, struct buf *out)
{
    return show_each(json, now_ms, out, put_name, "no receiver");
}

int alert_show_test(struct span json, bool *ret_delivered, struct buf *out)
{
    json_t *all = dialog_load(json);
    const json_t *data = json_object_get(all, "data");
    struct span text = dialog_text(data, "text");
    int r = json_is_object(data) ? 0 : -EPROTO;
    *ret_delivered = json_is_true(json_object_get(data, "delivered"));
    while (r == 0 && text.n > 0) {
        r = put(out, "", span_split(&text, '\n'));
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    json_decref(all);
    return r;
}
