/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/matchers.h - Alertmanager's text for matchers: severity="P0", team=~"a|b", {a!=b}.
 *
 * Role:      `matchers:` of routes and inhibitions, filter= of the API, `inferometer alert`.
 * Grammar:   of Alertmanager 0.22 on: a classic name, a value with or without quotes, \n \" \\
 *            the only escapes. A text that does not follow it may follow that of 0.27 on: any
 *            name and value, quoted as in Go where they hold a blank or one of {}!=~,\"'`.
 * Source:    so reads Alertmanager in the mode that is its default.
 * Errors:    -EINVAL with what is wrong and at which byte; -ENOMEM.
 * Threading: pure.
 */
#ifndef ALERT_MATCHERS_H
#define ALERT_MATCHERS_H

#include "series/matcher.h"

struct alert_matchers {
    struct matcher *at;
    size_t n, _cap;
};

/* One, to be ended with matcher_done. */
int alert_matcher_parse(struct span text, struct arena *a, struct matcher *ret,
                        struct err *reterr) WARN_UNUSED;

/* Adds those of text, in its order; on failure none. They live in a, and alert_matchers_done. */
int alert_matchers_parse(struct arena *a, struct span text, struct alert_matchers *to,
                         struct err *reterr) WARN_UNUSED;
int alert_matchers_add(struct arena *a, struct alert_matchers *to, enum matcher_op op,
                       struct span name, struct span value, struct err *reterr) WARN_UNUSED;
void alert_matchers_done(struct alert_matchers *m);

/* By name, value and operator: the order in which the key of a route has them. */
void alert_matchers_sort(struct alert_matchers *m);
/* {severity="P0",team=~"a|b"} */
int alert_matchers_print(const struct matcher *at, size_t n, struct buf *out) WARN_UNUSED;
/* severity="P0": reads back as the same. */
int alert_matchers_print_one(const struct matcher *m, struct buf *out) WARN_UNUSED;

/* Whether a name or value with this byte needs quotes. */
bool alert_matchers_is_reserved(char c);
/* Whether a name may be one of a label: UTF-8, not empty. */
bool alert_matchers_is_name(struct span s);

#endif
