/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/discover.h - targets that files and name servers list, looked up again and again.
 *
 * Role:      a file_sd_config or a dns_sd_config of a job, and what it said last.
 * Trouble:   a file that is broken or cannot be read keeps its groups, a name whose server fails
 *            its records, and discover_words says so. A file that is gone, a name that is not there
 *            any more have no targets.
 * Labels:    as Prometheus names them: __meta_filepath; __meta_dns_name,
 *            __meta_dns_srv_record_target, __meta_dns_srv_record_port, __meta_dns_mx_record_target.
 * Threading: one thread looks (it may wait for disks and servers); findings are constant and
 *            counted.
 * Limits:    FINDING_TARGETS_MAX targets; more are left out, and that is told.
 */
#ifndef COLLECT_DISCOVER_H
#define COLLECT_DISCOVER_H

#include <netinet/in.h>

#include "collect/jobfile.h"

enum { FINDING_TARGETS_MAX = 50 * 1000 };

struct discovered {
    struct span address;
    struct labels group; /* of a file's group */
    struct labels meta;
};
struct finding {
    const struct discovered *at; /* sorted */
    size_t n;
};
struct finding *finding_ref(struct finding *f);
struct finding *finding_unref(struct finding *f); /* NULL is allowed; returns NULL */

struct discover;
/* What they point to has to outlive it. */
int discover_of_files(const struct scrape_files *files, struct discover **ret) WARN_UNUSED;
int discover_of_dns(const struct scrape_dns *dns, struct discover **ret) WARN_UNUSED;
struct discover *discover_free(struct discover *d); /* NULL is allowed; returns NULL */
/* Whom to ask; NULL (as it begins): the system's name servers. Copied. */
void discover_ask(struct discover *d, const struct sockaddr_in *server);

int64_t discover_refresh_ms(const struct discover *d);
/* 1: *ret is what there is now, and the caller's; 0: as it was; -ENOMEM: not known. */
int discover_look(struct discover *d, struct finding **ret) WARN_UNUSED;
/* What went wrong in the last look; "": nothing. */
const char *discover_words(const struct discover *d);

#endif
