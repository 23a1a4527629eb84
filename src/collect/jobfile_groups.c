/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile_groups.c - where targets come from: written down, in files, in DNS.
 */
#include <errno.h>

#include "collect/jobfile_private.h"

enum { REFRESH_FILES_MS = 5 * 60 * 1000, REFRESH_DNS_MS = 30 * 1000, PORT_MAX = 65535 };

/* --- groups --- */

static void check_addresses(struct file_reading *f, const struct doc_key *k)
{
    char shown[ERR_LIST_SHOWN_MAX];

    if (!k->value || k->value->kind != YAML_NODE_LIST)
        return;
    for (const struct yaml_node *n = k->value->first; n; n = n->next) {
        struct span s = yaml_span(n);
        if (n->kind != YAML_NODE_SCALAR || span_find_char(s, '/') == s.n)
            continue;
        struct err *e = doc_error(&f->doc, n);
        (void)err_set(e, -EINVAL, "\"%s\" is no address", err_list_shown(s, shown));
        err_hint(e, "write host:port; the job has \"scheme\" and \"metrics_path\" for the rest");
    }
}

static int read_labels(struct file_reading *f, const struct doc_key *k, struct labels *ret)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct doc_pair *pairs = NULL;
    size_t n = 0, n_kept = 0;
    int r = doc_pairs(&f->doc, k, &pairs, &n);
    struct label *labels = r < 0 ? NULL : arena_array(f->doc.arena, n, sizeof(*labels));

    if (!labels)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct span name = yaml_span(pairs[i].name), value = doc_value(pairs[i].value);
        if (labels_is_label_name(name)) {
            labels[n_kept++] =
                (struct label){arena_dup(f->doc.arena, name), arena_dup(f->doc.arena, value)};
            if (!labels[n_kept - 1].name.p || !labels[n_kept - 1].value.p)
                return -ENOMEM;
            continue;
        }
        struct err *e = doc_error(&f->doc, pairs[i].name);
        (void)err_set(e, -EINVAL, "\"%s\" is no label's name", err_list_shown(name, shown));
        err_hint(e, "letters, digits and '_', not a digit first");
    }
    if (labels_normalise(labels, n_kept, ret, NULL) < 0)
        *ret = (struct labels){0}; /* one is there twice, which is listed */
    return 0;
}

static int read_group(void *ctx, const struct yaml_node *node, void *ret)
{
    enum { TARGETS, LABELS, COUNT_ };
    static const char *const names[COUNT_] = {"targets", "labels"};
    struct file_reading *f = ctx;
    struct scrape_group *g = ret;
    struct doc_key keys[COUNT_];

    if (jobfile_is_null(f, node, "a group"))
        return 0;
    (void)doc_keys(&f->doc, node, "a group of targets", names, COUNT_, keys);
    int r = jobfile_texts(f, &keys[TARGETS], &g->addresses, &g->n);
    if (r == 0)
        r = read_labels(f, &keys[LABELS], &g->labels);
    check_addresses(f, &keys[TARGETS]);
    return r;
}

int jobfile_static(struct file_reading *f, const struct doc_key *k, struct scrape_job *j)
{
    return doc_list(&f->doc, k, sizeof(*j->groups), read_group, f, &j->groups, &j->n_groups);
}

int jobfile_groups_read(struct span text, const char *where, struct arena *a,
                        struct scrape_group **ret, size_t *ret_n, struct err_list *errs)
{
    struct file_reading f = {.doc = {text, where, errs, a, false, NULL}};
    struct scrape_group *groups = NULL;
    size_t first = errs->n, n = 0;
    int r = doc_read(&f.doc, SCRAPE_FILE_BYTES_MAX);

    if (r == -ENOMEM)
        return r;
    r = 0;
    if (f.doc.root && f.doc.root->kind == YAML_NODE_LIST) {
        groups = arena_zalloc(a, f.doc.root->n, sizeof(*groups));
        r = groups ? 0 : -ENOMEM;
        for (const struct yaml_node *i = f.doc.root->first; i && r == 0; i = i->next)
            r = read_group(&f, i, &groups[n++]);
    } else if (f.doc.root && !yaml_is_null(f.doc.root) && f.doc.root->kind != YAML_NODE_BAD) {
        struct err *e = doc_error(&f.doc, f.doc.root);
        (void)err_set(e, -EINVAL, "a file of targets has to be a list of groups");
        err_hint(e, "- targets: [\"host:port\"]");
    }
    if (r == 0 && f.doc.has_mistakes)
        r = -EINVAL;
    doc_done(&f.doc);
    if (r < 0) {
        err_list_sort(errs, first);
        return r;
    }
    *ret = groups;
    *ret_n = n;
    return 0;
}

/* --- files --- */

/* As Prometheus: a name that ends in .json, .yml or .yaml, with one "*" in its last part. */
static bool is_pattern(struct span s)
{
    static const struct span ends[] = {SPAN_INIT(".json"), SPAN_INIT(".yml"), SPAN_INIT(".yaml"),
                                       SPAN_INIT(".JSON"), SPAN_INIT(".YML"), SPAN_INIT(".YAML")};
    size_t star = span_find_char(s, '*'), n_end = 0;

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        n_end = span_ends_with(s, ends[i]) ? ends[i].n : n_end;
    if (n_end == 0)
        return false;
    struct span tail = span_from(s, star + 1);
    return star == s.n || (span_find_char(tail, '*') == tail.n &&
                           span_find_char(tail, '/') == tail.n && tail.n >= n_end);
}

struct files_reading {
    struct file_reading *f;
    const struct doc_key *k;
};

static int read_pattern(void *ctx, const struct yaml_node *node, void *ret)
{
    struct files_reading *fr = ctx;
    const struct doc_key k = {fr->k->key, node};
    char shown[ERR_LIST_SHOWN_MAX];

    if (!doc_is(&fr->f->doc, &k, YAML_NODE_SCALAR))
        return 0;
    if (is_pattern(yaml_span(node)))
        return jobfile_path(fr->f, &k, ret);
    struct err *e = doc_error(&fr->f->doc, node);
    (void)err_set(e, -EINVAL, "\"%s\" is no name of files with targets",
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "it ends in .json, .yml or .yaml, and may have one \"*\" in its last part");
    return 0;
}

static int read_files(void *ctx, const struct yaml_node *node, void *ret)
{
    enum { FILES, REFRESH, COUNT_ };
    static const char *const names[COUNT_] = {"files", "refresh_interval"};
    struct file_reading *f = ctx;
    struct scrape_files *sf = ret;
    struct doc_key keys[COUNT_];
    struct files_reading fr = {f, &keys[FILES]};

    sf->refresh_ms = REFRESH_FILES_MS;
    if (jobfile_is_null(f, node, "a file_sd_config"))
        return 0;
    bool is_whole = doc_keys(&f->doc, node, "a file_sd_config", names, COUNT_, keys);
    jobfile_duration(f, &keys[REFRESH], &sf->refresh_ms);
    int r = doc_list(&f->doc, &keys[FILES], sizeof(*sf->patterns), read_pattern, &fr, &sf->patterns,
                     &sf->n);
    if (r == 0 && is_whole && sf->n == 0 &&
        (!keys[FILES].value || keys[FILES].value->kind == YAML_NODE_LIST)) {
        struct err *e = doc_error(&f->doc, keys[FILES].key ? keys[FILES].key : node);
        (void)err_set(e, -EINVAL, "a file_sd_config without a file");
        err_hint(e, "name some in \"files\": [\"targets/*.yml\"]");
    }
    return r;
}

int jobfile_file_sd(struct file_reading *f, const struct doc_key *k, struct scrape_job *j)
{
    return doc_list(&f->doc, k, sizeof(*j->files), read_files, f, &j->files, &j->n_files);
}

/* --- DNS --- */

static void read_type(struct file_reading *f, const struct doc_key *k, enum scrape_dns_type *ret)
{
    static const struct span types[] = {[SCRAPE_DNS_SRV] = SPAN_INIT("SRV"),
                                        [SCRAPE_DNS_A] = SPAN_INIT("A"),
                                        [SCRAPE_DNS_AAAA] = SPAN_INIT("AAAA"),
                                        [SCRAPE_DNS_MX] = SPAN_INIT("MX")};
    char shown[ERR_LIST_SHOWN_MAX];

    *ret = SCRAPE_DNS_SRV;
    if (!k->value || !doc_is(&f->doc, k, YAML_NODE_SCALAR))
        return;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (span_eq_nocase(yaml_span(k->value), types[i])) {
            *ret = (enum scrape_dns_type)i;
            return;
        }
    struct err *e = doc_error(&f->doc, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is no type of records that is known here",
                  err_list_shown(yaml_span(k->value), shown));
    err_hint(e, "SRV, A, AAAA or MX");
}

static void read_port(struct file_reading *f, const struct doc_key *k, const struct yaml_node *node,
                      struct scrape_dns *d)
{
    int64_t port = 0;

    doc_whole(&f->doc, k, &port);
    if (port < 0 || port > PORT_MAX) {
        struct err *e = doc_error(&f->doc, k->value);
        (void)err_set(e, -EINVAL, "\"port\" is none");
        err_hint(e, "1 to 65535");
    } else if (port == 0 && d->type != SCRAPE_DNS_SRV && !k->value) {
        struct err *e = doc_error(&f->doc, node);
        (void)err_set(e, -EINVAL, "a dns_sd_config without \"port\"");
        err_hint(e, "only SRV records have ports of their own");
    }
    d->port = (uint16_t)port;
}

static int read_dns(void *ctx, const struct yaml_node *node, void *ret)
{
    enum { NAMES, TYPE, PORT, REFRESH, COUNT_ };
    static const char *const names[COUNT_] = {"names", "type", "port", "refresh_interval"};
    struct file_reading *f = ctx;
    struct scrape_dns *d = ret;
    struct doc_key keys[COUNT_];

    d->refresh_ms = REFRESH_DNS_MS;
    if (jobfile_is_null(f, node, "a dns_sd_config"))
        return 0;
    bool is_whole = doc_keys(&f->doc, node, "a dns_sd_config", names, COUNT_, keys);
    jobfile_duration(f, &keys[REFRESH], &d->refresh_ms);
    read_type(f, &keys[TYPE], &d->type);
    if (is_whole)
        read_port(f, &keys[PORT], node, d);
    int r = jobfile_texts(f, &keys[NAMES], &d->names, &d->n);
    if (r == 0 && is_whole && d->n == 0 &&
        (!keys[NAMES].value || keys[NAMES].value->kind == YAML_NODE_LIST)) {
        struct err *e = doc_error(&f->doc, keys[NAMES].key ? keys[NAMES].key : node);
        (void)err_set(e, -EINVAL, "a dns_sd_config without a name");
        err_hint(e, "\"names\" has those to look up");
    }
    return r;
}

int jobfile_dns_sd(struct file_reading *f, const struct doc_key *k, struct scrape_job *j)
{
    return doc_list(&f->doc, k, sizeof(*j->dns), read_dns, f, &j->dns, &j->n_dns);
}
