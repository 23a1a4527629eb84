/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/told.h"

#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "verify/peers.h"
#include "wire/json.h"

static bool is_key(struct span key, const char *name)
{
    return json_str_eq(key, span_cstr(name));
}

/* --- load --- */

static void read_ttft(struct json *j, struct verify_load *l)
{
    struct json_value v;
    struct span key;

    if (!json_next(j, &v) || v.type != JSON_OBJECT)
        return;
    while (json_key(j, &key)) {
        double *to = is_key(key, "mean")  ? &l->ttft_mean_s
                     : is_key(key, "p50") ? &l->ttft_p50_s
                     : is_key(key, "p99") ? &l->ttft_p99_s
                                          : NULL;
        double ns;
        if (is_key(key, "count") && json_next(j, &v))
            (void)json_i64(&v, &l->n_ttft);
        else if (to && json_next(j, &v) && json_double(&v, &ns))
            *to = ns / 1e9;
        else if (!to)
            (void)json_skip(j);
    }
}

static void read_errors(struct json *j, struct verify_load *l)
{
    struct json_value v;
    struct span key;

    if (!json_next(j, &v) || v.type != JSON_OBJECT)
        return;
    while (json_key(j, &key)) {
        if (l->error[0] == '\0')
            (void)span_copy(key, l->error, sizeof(l->error));
        (void)json_skip(j);
    }
}

int verify_told_load(struct span json, struct verify_load *ret)
{
    struct verify_load l = {.is_there = true,
                            .ttft_mean_s = (double)NAN,
                            .ttft_p50_s = (double)NAN,
                            .ttft_p99_s = (double)NAN};
    struct json_value v;
    struct span key;
    struct json j;

    json_init(&j, json);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return -EPROTO;
    while (json_key(&j, &key)) {
        int64_t *to = is_key(key, "sent")     ? &l.n_sent
                      : is_key(key, "ok")     ? &l.n_ok
                      : is_key(key, "failed") ? &l.n_failed
                                              : NULL;
        if (to && json_next(&j, &v))
            (void)json_i64(&v, to);
        else if (is_key(key, "ttft_ns"))
            read_ttft(&j, &l);
        else if (is_key(key, "errors"))
            read_errors(&j, &l);
        else
            (void)json_skip(&j);
    }
    if (json_status(&j) != JSON_OK)
        return -EPROTO;
    *ret = l;
    return 0;
}

/* --- faults --- */

static void read_active(struct json *j, struct span name, double *ret)
{
    struct json_value v;
    struct span key;

    if (!json_next(j, &v) || v.type != JSON_OBJECT)
        return;
    while (json_key(j, &key)) {
        if (json_str_eq(key, name) && json_next(j, &v))
            (void)json_double(&v, ret);
        else
            (void)json_skip(j);
    }
}

int verify_told_fault(struct span json, struct span name, double *ret)
{
    bool is_found = false;
    struct json_value v;
    struct span key;
    struct json j;

    *ret = 0;
    json_init(&j, json);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return -EPROTO;
    while (json_key(&j, &key)) {
        bool is_it = is_key(key, "active");

        is_found |= is_it;
        if (is_it)
            read_active(&j, name, ret);
        else
            (void)json_skip(&j);
    }
    return is_found && json_status(&j) == JSON_OK ? 0 : -EPROTO;
}

/* --- queries --- */

/* Behind "value": [time, "1.5"]. */
static double read_point(struct json *j)
{
    double v = (double)NAN;
    struct json_value item;
    size_t i = 0;

    if (!json_next(j, &item) || item.type != JSON_ARRAY)
        return v;
    while (json_item(j) && json_next(j, &item))
        if (i++ == 1 && item.type == JSON_STRING && num_parse_double(item.raw, &v) < 0)
            v = span_eq(item.raw, SPAN("+Inf")) ? (double)INFINITY : (double)NAN;
    return v;
}

static void read_result(struct json *j, double *ret, size_t *ret_n)
{
    struct json_value v;
    struct span key;

    if (!json_next(j, &v) || v.type != JSON_ARRAY)
        return;
    while (json_item(j)) {
        if (!json_next(j, &v) || v.type != JSON_OBJECT)
            return;
        while (json_key(j, &key)) {
            if (is_key(key, "value") && *ret_n == 0)
                *ret = read_point(j);
            else
                (void)json_skip(j);
        }
        (*ret_n)++;
    }
}

int verify_told_value(struct span json, double *ret, size_t *ret_n)
{
    struct json_value v;
    struct span key;
    struct json j;
    bool is_found = false;

    *ret = (double)NAN;
    *ret_n = 0;
    json_init(&j, json);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return -EPROTO;
    while (json_key(&j, &key)) {
        if (!is_key(key, "data")) {
            (void)json_skip(&j);
            continue;
        }
        if (!json_next(&j, &v) || v.type != JSON_OBJECT)
            return -EPROTO;
        while (json_key(&j, &key)) {
            is_found |= is_key(key, "result");
            if (is_key(key, "result"))
                read_result(&j, ret, ret_n);
            else
                (void)json_skip(&j);
        }
    }
    return is_found && json_status(&j) == JSON_OK ? 0 : -EPROTO;
}

/* --- Alertmanager --- */

struct told_labels {
    bool is_named;
    size_t n_same; /* of those that the rule sets */
    char source[32];
};

static bool is_fixed(const struct rule_text *label)
{
    return span_find(label->value, SPAN("{{")) == label->value.n;
}

static bool is_set(const struct rule *rule, struct span name, struct span value)
{
    for (size_t i = 0; i < rule->n_labels; i++)
        if (is_fixed(&rule->labels[i]) && json_str_eq(name, rule->labels[i].name) &&
            json_str_eq(value, rule->labels[i].value))
            return true;
    return false;
}

static size_t count_set(const struct rule *rule)
{
    size_t n = 0;

    for (size_t i = 0; i < rule->n_labels; i++)
        n += is_fixed(&rule->labels[i]) && rule->labels[i].value.n > 0;
    return n;
}

static void read_labels(struct json *j, const struct rule *rule, struct told_labels *l)
{
    struct json_value v;
    struct span key;

    if (!json_next(j, &v) || v.type != JSON_OBJECT)
        return;
    while (json_key(j, &key)) {
        if (!json_next(j, &v) || v.type != JSON_STRING)
            return;
        l->n_same += is_set(rule, key, v.raw);
        if (is_key(key, "alertname"))
            l->is_named = json_str_eq(v.raw, rule->name);
        else if (is_key(key, VERIFY_SOURCE_LABEL))
            (void)json_unescape(v.raw, l->source, sizeof(l->source));
    }
}

int verify_told_alerts(struct span json, const struct rule *rule, struct span source, size_t *ret_n)
{
    size_t n_set = count_set(rule);
    struct json_value v;
    struct span key;
    struct json j;

    *ret_n = 0;
    json_init(&j, json);
    if (!json_next(&j, &v) || v.type != JSON_ARRAY)
        return -EPROTO;
    while (json_item(&j)) {
        struct told_labels l = {.source = ""};
        if (!json_next(&j, &v) || v.type != JSON_OBJECT)
            return -EPROTO;
        while (json_key(&j, &key)) {
            if (is_key(key, "labels"))
                read_labels(&j, rule, &l);
            else
                (void)json_skip(&j);
        }
        *ret_n += l.is_named && l.n_same == n_set && span_eq(span_cstr(l.source), source);
    }
    return json_status(&j) == JSON_OK ? 0 : -EPROTO;
}
