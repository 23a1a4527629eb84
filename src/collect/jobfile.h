/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile.h - what is scraped: a file with Prometheus' scrape_configs, read and checked.
 *
 * Grammar:   `scrape_configs` (and `global` with scrape_interval, scrape_timeout, limits) of a
 *            prometheus.yml: job_name, scrape_interval, scrape_timeout, metrics_path, scheme,
 *            params, honor_labels, honor_timestamps, basic_auth, authorization,
 * bearer_token(_file), tls_config, proxy_url, follow_redirects, static_configs, file_sd_configs,
 *            dns_sd_configs, relabel_configs, metric_relabel_configs, body_size_limit,
 *            sample_limit, label_limit, label_name_length_limit, label_value_length_limit,
 *            target_limit. The other sections of a prometheus.yml (rule_files, alerting,
 *            remote_write, ...) are passed over. A discovery that is not here says so, and that
 *            file_sd_configs does the same.
 * Secrets:   password, credentials, bearer_token stand in the file or in a file that it names;
 *            nothing prints them.
 * Errors:    all mistakes at once, with file, line, column and a hint; a file with one is refused
 *            whole. -ENOMEM.
 * Ownership: everything lives as long as the struct scrape_file, which is counted.
 * Threading: constant once read; ref and unref from any thread.
 * Limits:    SCRAPE_FILE_BYTES_MAX; SCRAPE_JOBS_MAX jobs.
 * Source:    Prometheus' configuration, scrape_config.
 */
#ifndef COLLECT_JOBFILE_H
#define COLLECT_JOBFILE_H

#include "base/err_list.h"
#include "scrape/relabel.h"
#include "web/web.h"

enum { SCRAPE_FILE_BYTES_MAX = 4 * 1024 * 1024, SCRAPE_JOBS_MAX = 1000 };

/* Targets that were written down, or that a file lists: addresses and labels of their own. */
struct scrape_group {
    const struct span *addresses; /* "host:port" */
    size_t n;
    struct labels labels;
};
enum scrape_dns_type { SCRAPE_DNS_SRV, SCRAPE_DNS_A, SCRAPE_DNS_AAAA, SCRAPE_DNS_MX };
struct scrape_dns {
    const struct span *names;
    size_t n;
    enum scrape_dns_type type;
    uint16_t port;
    int64_t refresh_ms;
};
struct scrape_files {
    const struct span *patterns; /* paths, "*" in the last part */
    size_t n;
    int64_t refresh_ms;
};
struct scrape_param {
    struct span name;
    const struct span *values;
    size_t n;
};
struct scrape_limits { /* 0: none */
    uint64_t body_bytes, samples, labels, name_bytes, value_bytes, targets;
};
struct scrape_auth {
    struct span user, password, password_file;       /* Basic */
    struct span type, credentials, credentials_file; /* "Bearer" unless told */
};
struct scrape_job {
    struct span name;
    int64_t interval_ms, timeout_ms;
    struct span path, scheme;
    const struct scrape_param *params;
    size_t n_params;
    bool honors_labels, honors_timestamps, follows_redirects;
    struct scrape_auth auth;
    struct web_link link;
    const struct scrape_group *groups;
    size_t n_groups;
    const struct scrape_files *files;
    size_t n_files;
    const struct scrape_dns *dns;
    size_t n_dns;
    struct relabel_list relabel, metric_relabel;
    struct scrape_limits limits;
    bool is_optional; /* a server that has no such page is no fault (target.h) */
    int line, column;
};
struct scrape_file {
    const struct scrape_job *jobs;
    size_t n;
    const char *path;
};

int scrape_file_read(struct span text, const char *where, struct scrape_file **ret,
                     struct err_list *errs) WARN_UNUSED;
/* Jobs of what may have a page or not; before anybody else has a reference. */
void scrape_file_make_optional(struct scrape_file *f, size_t job);
struct scrape_file *scrape_file_ref(struct scrape_file *f);
struct scrape_file *scrape_file_unref(struct scrape_file *f); /* NULL is allowed; returns NULL */

/* A list of groups as file_sd_configs and http_sd have it, in YAML or JSON: [{targets: [...],
 * labels: {...}}]. Lives in a. -EINVAL: errs says why. */
int jobfile_groups_read(struct span text, const char *where, struct arena *a,
                        struct scrape_group **ret, size_t *ret_n,
                        struct err_list *errs) WARN_UNUSED;

#endif
