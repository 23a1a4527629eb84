/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config.h - the program's configuration: one plain object, immutable once loaded.
 *
 * Role:      defaults < file (YAML) < command line. The keys, with defaults, bounds, and texts,
 *            stand in one table (config_keys.c), which the loader, config_diff and docs/CONFIG.md
 *            read.
 * Errors:    all mistakes at once, with file, line, column and a hint (base/err_list.h).
 * Units:     durations in ns, sizes in bytes.
 * Threading: immutable after loading; reference-counted; ref and unref from any thread.
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/err_list.h"
#include "base/log.h"
#include "gateway/gateway.h"
#include "metrics/metrics.h"
#include "policy/business.h"
#include "slo/slo_set.h"

enum {
    CONFIG_ALERTMANAGERS_MAX = 8,
    CONFIG_KEYS_MAX = 128,        /* rows of the key table */
    CONFIG_WORKERS_AUTO_MAX = 64, /* "workers: auto" takes at most so many */
    CONFIG_LABELS_MAX = FAMILY_BUSINESS_MAX
};

/* Keys of one table, by their index. */
struct config_key_set {
    uint64_t bits[CONFIG_KEYS_MAX / 64];
};

static inline void config_key_set_add(struct config_key_set *set, size_t i)
{
    set->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline bool config_key_set_has(const struct config_key_set *set, size_t i)
{
    return (set->bits[i / 64] >> (i % 64) & 1) != 0;
}

struct config_texts {
    char **items;
    size_t n;
};

struct config_upstream {
    char *name;                 /* label value; host and port of the URL when not told */
    char *url;                  /* as gateway_upstream_parse takes it */
    struct config_texts models; /* "NAME", "PREFIX*", "*", "NAME=SERVED"; none: whatever it lists */
    uint64_t weight;
    uint64_t priority;                 /* lower first */
    char *version;                     /* label value; "" none */
    char *key_file;                    /* where its API key stands; "" none */
    char *key_env;                     /* or the variable that has it */
    char *key_header;                  /* "" by dialect */
    uint64_t max_inflight, max_tokens; /* 0: none, as all of these */
    uint64_t max_queue;                /* interactive requests */
    int64_t queue_timeout_ns;
    uint64_t batch_max_inflight, batch_max_tokens, batch_max_queue;
    int64_t batch_queue_timeout_ns;
    char *tls_ca, *tls_cert, *tls_key; /* files; "": the system's trust, no certificate */
    char *tls_server_name;             /* "": the URL's host */
    bool tls_verify;
    char *proxy;   /* a URL, perhaps with credentials; "none"; "": the environment */
    char *metrics; /* a URL or path; "auto", "none" */
    char *probe;   /* "auto", "always", "never" */
};

struct config_upstreams {
    struct config_upstream *items;
    size_t n;
};

/* A business label. */
struct config_label {
    char *name;
    struct config_texts from; /* policy/business.h says which sources there are */
    uint64_t max_values;
};

struct config_labels {
    struct config_label *items;
    size_t n;
};

/* A label that requests of an SLO have, and its values. */
struct config_match {
    char *label;
    struct config_texts values;
    int line, column; /* in the file; 0: not from one */
};

struct config_matches {
    struct config_match *items;
    size_t n;
};

/* An objective as it was told; what its preset says is not in here. */
struct config_objective {
    bool is_told, is_none;
    int64_t threshold_ns; /* 0: not told */
    double target;        /* 0: not told */
    int line, column;
};

struct config_objectives {
    struct config_objective at[SLO_OBJECTIVE_COUNT_];
};

struct config_slo {
    char *name;   /* label value; the preset's when not told */
    char *preset; /* "": none */
    struct config_matches match;
    struct config_objectives objectives;
    int64_t window_ns;
    uint64_t min_bad;
};

struct config_slos {
    struct config_slo *items;
    size_t n;
};

/* An engine on this machine, whose processes are looked at: one of these tells which. */
struct config_engine {
    char *name; /* label value */
    char *pid_file, *command;
    uint64_t port; /* 0: not told */
};

struct config_engines {
    struct config_engine *items;
    size_t n;
};

/* A Kafka cluster whose consumer groups are looked at. */
struct config_kafka {
    char *name;    /* label value */
    char *brokers; /* "host:port,..." */
    struct config_texts groups, topics;
    struct config_texts properties;                      /* "NAME=VALUE" of librdkafka */
    struct config_texts properties_file, properties_env; /* "NAME=PATH", "NAME=VARIABLE" */
};

struct config_kafkas {
    struct config_kafka *items;
    size_t n;
};

/* What a million tokens of a model cost (daemon/prices.h). */
struct config_price {
    char *model; /* its name, or the beginning of several and '*' */
    double prompt, cached, completion;
};

struct config_prices {
    struct config_price *items;
    size_t n;
};

/* Who is asked about GPUs. */
enum config_gpu { CONFIG_GPU_AUTO, CONFIG_GPU_NVML, CONFIG_GPU_SMI, CONFIG_GPU_NONE };

/* What metrics_new and metrics_set_bounds take; values belong to the list. */
struct config_bounds {
    struct metrics_bounds *items;
    size_t n;
};

struct config {
    atomic_int _refs;
    enum log_level log_level;        /* of the operator's log */
    const char *file;                /* it was read from, borrowed; NULL: none */
    struct config_key_set _keys_set; /* those that file or command line told */

    struct config_texts listen;               /* "ADDR:PORT" for clients */
    char *listen_cert, *listen_key;           /* files, for TLS on "listen"; "": plain HTTP */
    char *admin_listen;                       /* "ADDR:PORT" for metrics, health, API */
    char *admin_token_file, *admin_token_env; /* who may change something; "" none */
    char *admin_read_token_file, *admin_read_token_env; /* who may look */
    bool admin_open_metrics, admin_open_health;         /* to everybody all the same */
    int64_t admin_session_ns;                           /* how long a login holds */
    uint64_t workers;                                   /* resolved: at least 1 */
    struct config_upstreams upstreams;
    struct config_texts aliases; /* "NAME=MODEL" */
    struct config_labels labels;
    struct business *business; /* made of labels, for the policy; NULL: there are none */
    struct config_slos slos;
    struct slo_set *slo_set;   /* made of slos, with their presets */
    int64_t models_refresh_ns; /* how often upstreams are asked for theirs; 0: never */

    char *access_keys; /* the key file; "": everybody may */
    bool access_open;  /* also on addresses that other machines reach, without keys */

    uint64_t request_window_bytes;
    uint64_t max_body_bytes;
    uint64_t max_conns;         /* per worker */
    uint64_t max_idle_upstream; /* per worker and upstream */

    int64_t connect_timeout_ns;
    int64_t first_byte_timeout_ns;
    int64_t idle_timeout_ns;
    int64_t total_timeout_ns; /* 0: none */
    int64_t client_head_timeout_ns, client_body_timeout_ns, client_idle_timeout_ns;
    int64_t client_write_timeout_ns; /* a client that takes nothing of what waits for it */
    int64_t upstream_idle_timeout_ns;
    int64_t dns_ttl_ns;
    int64_t drain_timeout_ns;
    int64_t drain_delay_ns; /* not ready, but serving */
    char *handover;         /* Unix socket where the next process gets the listeners; "" none */

    uint64_t retry_attempts; /* tries of one request in all */
    uint64_t retry_budget;   /* retries per hundred requests */
    bool retry_same_upstream;
    int64_t retry_backoff_ns, retry_max_wait_ns;

    int64_t hung_after_ns; /* an upstream that is silent for so long is reported; 0: none */
    int64_t cut_after_ns;  /* a stalled stream is cut; 0: never */

    uint64_t runaway_tokens; /* a stream of more has run away; 0: none has */
    int64_t runaway_ns;      /* one that takes longer; 0: none does */
    bool runaway_cut;

    bool usage_inject;          /* ask upstreams for usage where the client did not */
    uint64_t timeline_every;    /* every n-th stream's timeline is kept; 0: none */
    struct config_texts models; /* label values from the start */
    struct config_bounds bounds;
    struct config_bounds all_bounds; /* those, and the thresholds of slos: what metrics take */
    uint64_t max_label_values;       /* per label */
    uint64_t max_series;

    int64_t history_interval_ns;
    int64_t history_keep_ns[3]; /* raw, 5 min, 1 h */
    uint64_t history_max_disk;  /* 0: no limit, as the next */
    uint64_t requests_max_disk;
    uint64_t history_max_series;
    int64_t requests_keep_ns;
    char *requests_archive; /* directory; "": none */
    uint64_t requests_spill;

    struct config_texts scrape_files, scrape_targets; /* paths and patterns; URLs */
    int64_t scrape_interval_ns, scrape_timeout_ns;
    enum config_gpu gpu;
    bool host_metrics;
    struct config_engines engines;
    struct config_kafkas kafkas;

    int64_t probe_interval_ns; /* upstreams are looked at by themselves; 0: never */

    struct config_texts rule_files; /* paths and patterns */
    bool rules_builtin;             /* those in the program, too */
    int64_t rules_interval_ns;
    char *time_zone;                   /* of baselines */
    char *alerting_file;               /* routes and receivers; "": built-in ones */
    struct config_texts alertmanagers; /* base URLs */
    char *external_url;

    int64_t query_timeout_ns;
    uint64_t query_max_samples;
    uint64_t query_max_bytes;

    char *currency;
    struct config_prices prices;

    char *log_file; /* of request records: a path, "-" standard output, "" none */
    char *data_dir; /* "": nothing is kept */
};

/*
 * Defaults and the file at path (NULL: no file; "-": standard input). All required keys have to be
 * there. Returns 0 and sets *ret (one reference: config_unref); or -EINVAL, -ENOMEM or why the file
 * could not be read, with at least one message in *reterrs, whose places borrow path.
 * Command line on top: config_args_load in daemon/config_args.h.
 */
int config_load(const char *path, struct config **ret, struct err_list *reterrs) WARN_UNUSED;

/* The same for looking at a file: required keys may be missing. */
int config_load_partial(const char *path, struct config **ret,
                        struct err_list *reterrs) WARN_UNUSED;

/* Only the defaults; no upstream. -ENOMEM. */
int config_defaults(struct config **ret) WARN_UNUSED;

struct config *config_ref(struct config *c);
struct config *config_unref(struct config *c); /* NULL is allowed; returns NULL */

/* Keys told by file or command line. */
size_t config_n_set(const struct config *c);

/* The gateway's part: *ret has one reference. Reads certificates, and asks the environment for
 * proxies. -ENOMEM, -EINVAL, -ENOENT and other errno. */
int config_to_gateway(const struct config *c, struct gateway_config **ret,
                      struct err *reterr) WARN_UNUSED;

/* Whether a changed key takes effect in a running program. */
enum config_reload {
    CONFIG_RELOAD,  /* yes, for new requests */
    CONFIG_RESTART, /* no: a reload that changes it is refused */
};

/*
 * Paths of the keys of that class whose values differ, in table order, static texts. Returns how
 * many. A reload is to be refused when config_diff(running, wanted, CONFIG_RESTART, ...) > 0.
 */
size_t config_diff(const struct config *a, const struct config *b, enum config_reload class,
                   const char *ret_paths[CONFIG_KEYS_MAX]);

/* The effective values as a configuration file. The same object gives the same text. */
int config_to_yaml(const struct config *c, struct buf *out) WARN_UNUSED;

/* docs/CONFIG.md, and the commented deploy/inferometer.yaml. On failure *out is as before. */
int config_to_markdown(struct buf *out) WARN_UNUSED;
int config_to_yaml_example(struct buf *out) WARN_UNUSED;

#endif
