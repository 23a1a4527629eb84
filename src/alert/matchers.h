/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/matchers.h - matchers as Alertmanager's files, its API and amtool write them.
 *
 * Forms:     name="v", name=v, name!=..., name=~..., name!~...; spaces around; names may be quoted;
 *            a list in braces or with commas where a list is asked for.
 * Errors:    -EINVAL with a text that shows the matcher; -ENOMEM.
 * Threading: pure.
 */
#ifndef ALERT_MATCHERS_H
#define ALERT_MATCHERS_H

#include "base/err.h"
#include "series/matcher.h"

/* ret to be ended with matcher_done. */
int alert_matcher_parse(struct span text, struct arena *a, struct matcher *ret,
                        struct err *reterr) WARN_UNUSED;

#endif
