/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/alerting.c - what Prometheus' API tells of rules and alerts; deliveries.
 */
#include "api/alerting.h"

#include <errno.h>

#include "api/routes.h"

const char *alerting_why_not(int error)
{
    if (error == -ENODEV)
        return "no rules are evaluated here: they need \"data_dir\"";
    if (error == -EBUSY)
        return "rules are not evaluated yet: another process has the data directory, or it is "
               "being opened";
    return "out of memory";
}

bool alerting_values(struct prom_call *c, const char *name, const struct span **ret, size_t *ret_n)
{
    struct span *all = arena_array(c->arena, c->params.n, sizeof(*all));
    size_t n = 0;
    if (!all) {
        prom_fail_memory(c);
        return false;
    }
    for (size_t i = 0; i < c->params.n; i++) {
        if (span_eq(c->params.at[i].name, span_cstr(name)))
            all[n++] = c->params.at[i].value;
    }
    *ret = all;
    *ret_n = n;
    return true;
}

/* --- rules --- */

struct rules_question {
    struct prom_call *c;
    struct rules_filter filter;
};

static void answer_rules(void *ctx, struct rules *r)
{
    struct rules_question *q = ctx;
    prom_begin(q->c);
    rules_write(r, &q->filter, &q->c->w);
    prom_end(q->c);
}

static void no_rules(struct prom_call *c)
{
    prom_begin(c);
    jsonw_begin_object(&c->w);
    jsonw_key(&c->w, "groups");
    jsonw_begin_array(&c->w);
    jsonw_end_array(&c->w);
    jsonw_end_object(&c->w);
    prom_end(c);
}

static bool read_filter(struct prom_call *c, struct rules_filter *f)
{
    struct span type = params_get(&c->params, SPAN("type"));
    f->only_alerts = span_eq(type, SPAN("alert"));
    f->only_records = span_eq(type, SPAN("record"));
    f->without_alerts = span_eq(params_get(&c->params, SPAN("exclude_alerts")), SPAN("true"));
    if (type.n > 0 && !f->only_alerts && !f->only_records) {
        prom_fail(c, PROM_BAD_DATA, "not supported value \"%.*s\"", SPAN_ARG(type));
        return false;
    }
    return alerting_values(c, "rule_name[]", &f->names, &f->n_names) &&
           alerting_values(c, "rule_group[]", &f->groups, &f->n_groups) &&
           alerting_values(c, "file[]", &f->files, &f->n_files);
}

void alerting_rules(struct prom_call *c)
{
    struct rules_question q = {.c = c};
    if (!read_filter(c, &q.filter))
        return;
    int r =
        c->sources->rules_use ? c->sources->rules_use(c->sources->arg, answer_rules, &q) : -ENODEV;
    if (r == -ENODEV)
        no_rules(c);
    else if (r < 0)
        prom_fail(c, PROM_UNAVAILABLE, "%s", alerting_why_not(r));
}

static void answer_alerts(void *ctx, struct rules *r)
{
    struct prom_call *c = ctx;
    prom_begin(c);
    rules_write_alerts(r, &c->w);
    prom_end(c);
}

void alerting_alerts(struct prom_call *c)
{
    int r =
        c->sources->rules_use ? c->sources->rules_use(c->sources->arg, answer_alerts, c) : -ENODEV;
    if (r < 0)
        prom_fail(c, PROM_UNAVAILABLE, "%s", alerting_why_not(r));
}

/* --- deliveries --- */

static void answer_deliveries(void *ctx, struct alerts *a)
{
    struct prom_call *c = ctx;
    prom_begin(c);
    alerts_write_deliveries(a, &c->w);
    prom_end(c);
}

void alerting_deliveries(struct prom_call *c)
{
    int r = c->sources->alerts_use ? c->sources->alerts_use(c->sources->arg, answer_deliveries, c)
                                   : -ENODEV;
    if (r < 0)
        prom_fail(c, PROM_UNAVAILABLE, "%s", alerting_why_not(r));
}

enum { TEST_TIMEOUT_MS = 15000 };

static void run_test(void *ctx, struct alerts *a)
{
    struct prom_call *c = ctx;
    struct span receiver = params_get(&c->params, SPAN("receiver"));
    const struct alerts_patience patience = {TEST_TIMEOUT_MS, prom_is_over, c};
    struct err err = {0};
    struct buf text;
    buf_init(&text, (size_t)64 * 1024);
    int r = alerts_test(a, receiver, &patience, &text, &err);
    if (r < 0 && r != -EREMOTEIO) {
        prom_fail(c, r == -ENOENT ? PROM_NOT_FOUND : PROM_INTERNAL, "%s%s%s", err.text,
                  err.hint[0] ? "; " : "", err.hint);
    } else {
        prom_begin(c);
        jsonw_begin_object(&c->w);
        jsonw_put_bool(&c->w, "delivered", r == 0);
        jsonw_put_str(&c->w, "text", buf_span(&text));
        jsonw_end_object(&c->w);
        prom_end(c);
    }
    buf_done(&text);
}

void alerting_test(struct prom_call *c)
{
    int r = c->sources->alerts_use ? c->sources->alerts_use(c->sources->arg, run_test, c) : -ENODEV;
    if (r < 0)
        prom_fail(c, PROM_UNAVAILABLE, "%s", alerting_why_not(r));
}
