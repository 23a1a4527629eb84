/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planned.h - a plan of one rule file that a test writes.
 */
#ifndef PLANNED_H
#define PLANNED_H

#include "harness.h"

#include "verify/plan.h"

struct planned {
    struct rule_file *file;
    const struct rule_file *files[1];
    struct verify_plan plan;
};

static inline void planned_open(struct planned *p, const char *rules, bool is_real_time)
{
    struct err_list errs;

    err_list_init(&errs);
    if (rule_file_read(span_cstr(rules), "r.yml", &p->file, &errs) < 0) {
        err_list_print(&errs, stderr);
        fail_msg("a rule of the test has a mistake");
    }
    p->files[0] = p->file;
    assert_int_equal(verify_plan_make(p->files, 1, is_real_time, &p->plan), 0);
}

static inline void planned_close(struct planned *p)
{
    verify_plan_done(&p->plan);
    p->file = rule_file_unref(p->file);
}

/* A file with one alert of a group that is evaluated every second. */
#define PLANNED_ALERT(expr, rest)                                                                  \
    "groups:\n- name: g\n  interval: 1s\n  rules:\n  - alert: A\n    expr: '" expr "'\n" rest

#endif
