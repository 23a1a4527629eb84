/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/builtin_rules.h - the rule files of deploy/rules, in the program (cmake/Modules.cmake).
 *
 * Role:      what is evaluated where nobody names rule files, so that one program is enough.
 * Threading: constant data.
 */
#ifndef DAEMON_BUILTIN_RULES_H
#define DAEMON_BUILTIN_RULES_H

#include <stddef.h>

struct builtin_rules {
    const char *name; /* "latency.yml" */
    const char *text; /* not terminated */
    const size_t *size;
};
extern const struct builtin_rules builtin_rules[];
extern const size_t builtin_rules_n;

#endif
