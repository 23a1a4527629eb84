/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile_private.h - between the files that read a scrape file.
 *
 * Role:      jobfile.c owns the file, its top level and the names of jobs; jobfile_job.c reads a
 *            job, jobfile_auth.c who we are and how to get there, jobfile_groups.c where targets
 *            come from, jobfile_relabel.c rules, jobfile_values.c values.
 * Errors:    as yaml/doc.h: mistakes are listed, 0 is returned; or -ENOMEM.
 */
#ifndef COLLECT_JOBFILE_PRIVATE_H
#define COLLECT_JOBFILE_PRIVATE_H

#include "collect/jobfile.h"
#include "yaml/doc.h"

struct file_reading {
    struct doc doc;
    struct span dir; /* of the file, with its '/'; empty: where the process is */
    /* global: */
    int64_t interval_ms, timeout_ms; /* 0: not told */
    struct scrape_limits limits;
};

enum {
    SCRAPE_INTERVAL_MS = 10 * 1000,
    SCRAPE_INTERVAL_MAX_MS = 60 * 1000, /* that a timeout alone may make of it */
    SCRAPE_TIMEOUT_MS = 10 * 1000,
};

/* A key that is known, not supported, and what to use. */
struct file_refusal {
    const char *key, *hint;
};
/* keys[i] is that of rows[i]; those that are there are mistakes. */
void jobfile_refuse(struct file_reading *f, const struct file_refusal *rows, size_t n,
                    const struct doc_key *keys);
/* Nothing where something has to be: listed. what: "a job". */
bool jobfile_is_null(struct file_reading *f, const struct yaml_node *node, const char *what);
/* A list of texts. */
int jobfile_texts(struct file_reading *f, const struct doc_key *k, const struct span **ret,
                  size_t *ret_n) WARN_UNUSED;
/* A text that is a path: one that is relative begins at the file's directory. */
int jobfile_path(struct file_reading *f, const struct doc_key *k, struct span *ret) WARN_UNUSED;
/* 0 and more. */
void jobfile_count(struct file_reading *f, const struct doc_key *k, uint64_t *ret);
void jobfile_bytes(struct file_reading *f, const struct doc_key *k, uint64_t *ret);
/* More than 0; Prometheus takes 0 for "as elsewhere". */
void jobfile_duration(struct file_reading *f, const struct doc_key *k, int64_t *ret_ms);

/* jobfile_job.c */
int jobfile_job(struct file_reading *f, const struct yaml_node *node,
                struct scrape_job *j) WARN_UNUSED;
/* Keys of limits have the same names in global and in a job. */
enum {
    LIMIT_BODY,
    LIMIT_SAMPLES,
    LIMIT_LABELS,
    LIMIT_NAME,
    LIMIT_VALUE,
    LIMIT_TARGETS,
    LIMIT_COUNT_
};
#define FILE_LIMIT_KEYS                                                                            \
    "body_size_limit", "sample_limit", "label_limit", "label_name_length_limit",                   \
        "label_value_length_limit", "target_limit"
void jobfile_limits(struct file_reading *f, const struct doc_key *keys, struct scrape_limits *ret);

/* jobfile_auth.c */
enum {
    AUTH_BASIC,
    AUTH_AUTHORIZATION,
    AUTH_TOKEN,
    AUTH_TOKEN_FILE,
    AUTH_TLS,
    AUTH_PROXY,
    AUTH_COUNT_
};
#define FILE_AUTH_KEYS                                                                             \
    "basic_auth", "authorization", "bearer_token", "bearer_token_file", "tls_config", "proxy_url"
int jobfile_auth(struct file_reading *f, const struct doc_key *keys,
                 struct scrape_job *j) WARN_UNUSED;

/* jobfile_groups.c */
int jobfile_static(struct file_reading *f, const struct doc_key *k,
                   struct scrape_job *j) WARN_UNUSED;
int jobfile_file_sd(struct file_reading *f, const struct doc_key *k,
                    struct scrape_job *j) WARN_UNUSED;
int jobfile_dns_sd(struct file_reading *f, const struct doc_key *k,
                   struct scrape_job *j) WARN_UNUSED;

/* jobfile_relabel.c */
int jobfile_relabel(struct file_reading *f, const struct doc_key *k,
                    struct relabel_list *ret) WARN_UNUSED;

#endif
