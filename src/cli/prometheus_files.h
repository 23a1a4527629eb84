/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/prometheus_files.h - private to cli/prometheus_*: the files, out of the gateway's answers.
 *
 * Errors:    -EPROTO: it is no such answer; -ENOMEM, -EMSGSIZE.
 * Threading: pure.
 */
#ifndef CLI_PROMETHEUS_FILES_H
#define CLI_PROMETHEUS_FILES_H

#include <jansson.h>

#include "base/buf.h"

/* What differs between set-ups. */
struct prometheus_setup {
    struct span target;       /* of the gateway's admin listener: HOST:PORT */
    struct span alertmanager; /* HOST:PORT; empty: none */
    struct span token_file;   /* empty: the listener wants no token */
    struct span rule_files;   /* "rules/a.yml, rules/b.yml": letters, digits and _ - . / */
    int64_t interval_s;
    int version; /* 2 or 3 */
};
int prometheus_files_config(const struct prometheus_setup *s, struct buf *out) WARN_UNUSED;

/* Groups of /api/v1/rules that came from that file, as a rule file. */
int prometheus_files_rules(const json_t *groups, struct span file, struct buf *out) WARN_UNUSED;

/*
 * Routes of /api/v2/status as Alertmanager (0.25 and later) takes them. Receivers that it does not
 * know, and what only the gateway knows of others, are left out; secrets are places to fill in.
 * Both are told in comments at the top.
 */
int prometheus_files_routes(struct span yaml, struct buf *out) WARN_UNUSED;

#endif
