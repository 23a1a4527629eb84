/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile_job.c - one job of a scrape file.
 */
#include <errno.h>

#include "collect/jobfile_private.h"

#define HINT_FILE_SD "write its targets to a file and name that in file_sd_configs"
#define HINT_TOOL                                                                                  \
    "let a tool of that platform write targets to a file, and name it in file_sd_configs"

static const struct file_refusal refused[] = {
    {"oauth2", "use authorization with credentials_file, which something else keeps fresh"},
    {"no_proxy", "give the jobs that need a proxy a proxy_url, the others \"none\""},
    {"proxy_connect_header", "use a proxy that needs no header"},
    {"http_headers", "use authorization; other headers are not sent"},
    {"http_sd_configs", "save what it answers to a file: file_sd_configs takes the same JSON"},
    {"kubernetes_sd_configs",
     "dns_sd_configs with a headless service has the pods; or let a tool write a file for "
     "file_sd_configs"},
    {"consul_sd_configs",
     "dns_sd_configs asks Consul's name server (NAME.service.consul); or use file_sd_configs"},
    {"nomad_sd_configs", HINT_TOOL},
    {"docker_sd_configs", HINT_TOOL},
    {"dockerswarm_sd_configs", "dns_sd_configs with tasks.SERVICE and type A has the tasks; or use "
                               "file_sd_configs"},
    {"azure_sd_configs", HINT_TOOL},
    {"digitalocean_sd_configs", HINT_TOOL},
    {"ec2_sd_configs", HINT_TOOL},
    {"eureka_sd_configs", HINT_TOOL},
    {"gce_sd_configs", HINT_TOOL},
    {"hetzner_sd_configs", HINT_TOOL},
    {"ionos_sd_configs", HINT_TOOL},
    {"kuma_sd_configs", HINT_TOOL},
    {"lightsail_sd_configs", HINT_TOOL},
    {"linode_sd_configs", HINT_TOOL},
    {"marathon_sd_configs", HINT_TOOL},
    {"nerve_sd_configs", HINT_FILE_SD},
    {"openstack_sd_configs", HINT_TOOL},
    {"ovhcloud_sd_configs", HINT_TOOL},
    {"puppetdb_sd_configs", HINT_TOOL},
    {"scaleway_sd_configs", HINT_TOOL},
    {"serverset_sd_configs", HINT_FILE_SD},
    {"stackit_sd_configs", HINT_TOOL},
    {"triton_sd_configs", HINT_TOOL},
    {"uyuni_sd_configs", HINT_TOOL},
    {"vultr_sd_configs", HINT_TOOL},
};

enum {
    KEY_NAME,
    KEY_INTERVAL,
    KEY_TIMEOUT,
    KEY_PATH,
    KEY_SCHEME,
    KEY_PARAMS,
    KEY_HONOR_LABELS,
    KEY_HONOR_TIMESTAMPS,
    KEY_FOLLOW_REDIRECTS,
    KEY_STATIC,
    KEY_FILE_SD,
    KEY_DNS_SD,
    KEY_RELABEL,
    KEY_METRIC_RELABEL,
    KEY_LIMITS,
    KEY_AUTH = KEY_LIMITS + LIMIT_COUNT_,
    KEY_OTHERS = KEY_AUTH + AUTH_COUNT_,
    KEY_REFUSED = KEY_OTHERS + 15,
    KEY_COUNT_ = KEY_REFUSED + ARRAY_LEN(refused),
};
static const char *const keys_read[KEY_REFUSED] = {
    "job_name", "scrape_interval", "scrape_timeout", "metrics_path", "scheme", "params",
    "honor_labels", "honor_timestamps", "follow_redirects", "static_configs", "file_sd_configs",
    "dns_sd_configs", "relabel_configs", "metric_relabel_configs", FILE_LIMIT_KEYS, FILE_AUTH_KEYS,
    /* of no meaning here: of protocols that are not spoken, or as everything is done anyway */
    "enable_http2", "enable_compression", "proxy_from_environment", "scrape_protocols",
    "fallback_scrape_protocol", "scrape_classic_histograms", "always_scrape_classic_histograms",
    "scrape_native_histograms", "convert_classic_histograms_to_nhcb",
    "native_histogram_bucket_limit", "native_histogram_min_bucket_factor", "keep_dropped_targets",
    "track_timestamps_staleness", "metric_name_validation_scheme", "scrape_failure_log_file"};

/* --- limits --- */

void jobfile_limits(struct file_reading *f, const struct doc_key *keys, struct scrape_limits *ret)
{
    jobfile_bytes(f, &keys[LIMIT_BODY], &ret->body_bytes);
    jobfile_count(f, &keys[LIMIT_SAMPLES], &ret->samples);
    jobfile_count(f, &keys[LIMIT_LABELS], &ret->labels);
    jobfile_count(f, &keys[LIMIT_NAME], &ret->name_bytes);
    jobfile_count(f, &keys[LIMIT_VALUE], &ret->value_bytes);
    jobfile_count(f, &keys[LIMIT_TARGETS], &ret->targets);
}

/* --- times --- */

/* Whatever is not told comes from global, or is what fits. */
static void read_times(struct file_reading *f, const struct doc_key *keys, struct scrape_job *j)
{
    int64_t interval_ms = 0, timeout_ms = 0;

    jobfile_duration(f, &keys[KEY_INTERVAL], &interval_ms);
    jobfile_duration(f, &keys[KEY_TIMEOUT], &timeout_ms);
    if (interval_ms == 0)
        interval_ms = f->interval_ms;
    int64_t told_ms = timeout_ms > 0 ? timeout_ms : f->timeout_ms;
    if (interval_ms == 0 && told_ms > SCRAPE_INTERVAL_MS && told_ms <= SCRAPE_INTERVAL_MAX_MS)
        interval_ms = told_ms;
    if (interval_ms == 0)
        interval_ms = SCRAPE_INTERVAL_MS;
    if (timeout_ms > interval_ms) {
        struct err *e = doc_error(&f->doc, keys[KEY_TIMEOUT].key);
        (void)err_set(e, -EINVAL, "\"scrape_timeout\" is longer than the interval");
        err_hint(e, "a scrape has to be over when the next one is due: raise \"scrape_interval\"");
    }
    if (timeout_ms == 0)
        timeout_ms = f->timeout_ms > 0 ? f->timeout_ms : SCRAPE_TIMEOUT_MS;
    j->interval_ms = interval_ms;
    j->timeout_ms = timeout_ms < interval_ms ? timeout_ms : interval_ms;
}

/* --- the way to a page --- */

static int read_scheme(struct file_reading *f, const struct doc_key *k, struct scrape_job *j)
{
    char shown[ERR_LIST_SHOWN_MAX];
    int r = doc_text(&f->doc, k, &j->scheme);

    if (r < 0 || span_eq(j->scheme, SPAN("http")) || span_eq(j->scheme, SPAN("https")))
        return r;
    if (j->scheme.n == 0) {
        j->scheme = SPAN("http");
        return 0;
    }
    struct err *e = doc_error(&f->doc, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is no scheme", err_list_shown(j->scheme, shown));
    err_hint(e, "it is http or https");
    return 0;
}

static int read_params(struct file_reading *f, const struct doc_key *k, struct scrape_job *j)
{
    struct scrape_param *params;
    int r = 0;

    if (!k->value || !doc_is(&f->doc, k, YAML_NODE_MAP))
        return 0;
    params = arena_zalloc(f->doc.arena, k->value->n, sizeof(*params));
    if (!params)
        return -ENOMEM;
    for (const struct yaml_node *n = k->value->first; n && r == 0; n = n->next) {
        struct scrape_param *p = &params[j->n_params];
        const struct doc_key one = {n, n->value && !yaml_is_null(n->value) ? n->value : NULL};
        if (n->kind != YAML_NODE_SCALAR)
            continue;
        p->name = arena_dup(f->doc.arena, yaml_span(n));
        r = p->name.p ? jobfile_texts(f, &one, &p->values, &p->n) : -ENOMEM;
        j->n_params++;
    }
    j->params = params;
    return r;
}

static int read_way(struct file_reading *f, const struct doc_key *keys, struct scrape_job *j)
{
    int r = doc_text(&f->doc, &keys[KEY_PATH], &j->path);

    if (j->path.n == 0)
        j->path = SPAN("/metrics");
    if (r == 0)
        r = read_scheme(f, &keys[KEY_SCHEME], j);
    if (r == 0)
        r = read_params(f, &keys[KEY_PARAMS], j);
    doc_bool(&f->doc, &keys[KEY_FOLLOW_REDIRECTS], &j->follows_redirects);
    return r == 0 ? jobfile_auth(f, keys + KEY_AUTH, j) : r;
}

static int read_targets(struct file_reading *f, const struct doc_key *keys, struct scrape_job *j)
{
    int r = jobfile_static(f, &keys[KEY_STATIC], j);

    if (r == 0)
        r = jobfile_file_sd(f, &keys[KEY_FILE_SD], j);
    if (r == 0)
        r = jobfile_dns_sd(f, &keys[KEY_DNS_SD], j);
    if (r == 0)
        r = jobfile_relabel(f, &keys[KEY_RELABEL], &j->relabel);
    return r == 0 ? jobfile_relabel(f, &keys[KEY_METRIC_RELABEL], &j->metric_relabel) : r;
}

static void check_name(struct file_reading *f, const struct yaml_node *node,
                       const struct doc_key *k)
{
    if (k->value && (k->value->kind != YAML_NODE_SCALAR || k->value->n > 0))
        return;
    struct err *e = doc_error(&f->doc, k->key ? k->key : node);
    (void)err_set(e, -EINVAL, "%s",
                  k->key ? "\"job_name\" is empty" : "a job without \"job_name\"");
    err_hint(e, "each job has a name of its own, which becomes the label \"job\"");
}

int jobfile_job(struct file_reading *f, const struct yaml_node *node, struct scrape_job *j)
{
    const char *names[KEY_COUNT_];
    struct doc_key keys[KEY_COUNT_];

    j->line = node->line;
    j->column = node->column;
    j->scheme = SPAN("http");
    j->honors_timestamps = j->follows_redirects = true;
    j->limits = f->limits;
    if (jobfile_is_null(f, node, "a job"))
        return 0;
    memcpy(names, keys_read, sizeof(keys_read));
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        names[KEY_REFUSED + i] = refused[i].key;
    if (doc_keys(&f->doc, node, "a job", names, KEY_COUNT_, keys))
        check_name(f, node, &keys[KEY_NAME]);
    jobfile_refuse(f, refused, ARRAY_LEN(refused), keys + KEY_REFUSED);
    int r = doc_text(&f->doc, &keys[KEY_NAME], &j->name);
    read_times(f, keys, j);
    doc_bool(&f->doc, &keys[KEY_HONOR_LABELS], &j->honors_labels);
    doc_bool(&f->doc, &keys[KEY_HONOR_TIMESTAMPS], &j->honors_timestamps);
    jobfile_limits(f, keys + KEY_LIMITS, &j->limits);
    if (r == 0)
        r = read_way(f, keys, j);
    return r == 0 ? read_targets(f, keys, j) : r;
}
