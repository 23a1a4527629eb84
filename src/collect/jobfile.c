/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/jobfile.c - the top level of a scrape file, and its life.
 *
 * Everything lives in one arena, but for the patterns of relabelling. A file with mistakes is read
 * to its end all the same, so that all of them are told, and thrown away.
 */
#include "collect/jobfile.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "collect/jobfile_private.h"

struct file {
    struct scrape_file pub; /* first */
    atomic_uint n_refs;
    struct arena arena;
};

void scrape_file_make_optional(struct scrape_file *f, size_t job)
{
    struct scrape_job *j = (void *)(uintptr_t)&f->jobs[job]; /* in our own memory */

    j->is_optional = true;
}

struct scrape_file *scrape_file_ref(struct scrape_file *f)
{
    (void)atomic_fetch_add(&((struct file *)f)->n_refs, 1);
    return f;
}

static void free_file(struct file *f)
{
    for (size_t i = 0; i < f->pub.n; i++) {
        relabel_done(f->pub.jobs[i].relabel);
        relabel_done(f->pub.jobs[i].metric_relabel);
    }
    arena_done(&f->arena);
    mem_free(f);
}

struct scrape_file *scrape_file_unref(struct scrape_file *pub)
{
    struct file *f = (struct file *)pub;

    if (f && atomic_fetch_sub(&f->n_refs, 1) == 1)
        free_file(f);
    return NULL;
}

/* --- global --- */

enum {
    GLOBAL_INTERVAL,
    GLOBAL_TIMEOUT,
    GLOBAL_LIMITS,
    GLOBAL_OTHERS = GLOBAL_LIMITS + LIMIT_COUNT_,
    GLOBAL_COUNT_ = GLOBAL_OTHERS + 13
};
static const char *const global_keys[GLOBAL_COUNT_] = {
    "scrape_interval", "scrape_timeout", FILE_LIMIT_KEYS,
    /* of no meaning here */
    "evaluation_interval", "rule_query_offset", "query_log_file", "scrape_failure_log_file",
    "external_labels", "keep_dropped_targets", "scrape_protocols", "metric_name_validation_scheme",
    "metric_name_escaping_scheme", "scrape_native_histograms", "always_scrape_classic_histograms",
    "convert_classic_histograms_to_nhcb", "runtime"};

static void read_global(struct file_reading *f, const struct doc_key *k)
{
    struct doc_key keys[GLOBAL_COUNT_];

    if (!k->value)
        return;
    (void)doc_keys(&f->doc, k->value, "global", global_keys, GLOBAL_COUNT_, keys);
    jobfile_duration(f, &keys[GLOBAL_INTERVAL], &f->interval_ms);
    jobfile_duration(f, &keys[GLOBAL_TIMEOUT], &f->timeout_ms);
    jobfile_limits(f, keys + GLOBAL_LIMITS, &f->limits);
    if (f->interval_ms > 0 && f->timeout_ms > f->interval_ms) {
        struct err *e = doc_error(&f->doc, keys[GLOBAL_TIMEOUT].key);
        (void)err_set(e, -EINVAL, "\"scrape_timeout\" is longer than \"scrape_interval\"");
        err_hint(e, "a scrape has to be over when the next one is due");
    }
}

/* --- jobs --- */

static int check_names(struct file_reading *f, const struct scrape_job *jobs, size_t n)
{
    struct doc_name *names = arena_array(f->doc.arena, n, sizeof(*names));

    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        names[i] = (struct doc_name){jobs[i].name, jobs[i].line, jobs[i].column};
    doc_names_once(&f->doc, "job", names, n);
    return 0;
}

static int read_job(void *ctx, const struct yaml_node *node, void *ret)
{
    return jobfile_job(ctx, node, ret);
}

static int read_jobs(struct file_reading *f, const struct doc_key *k, struct scrape_file *ret)
{
    if (k->value && k->value->kind == YAML_NODE_LIST && k->value->n > SCRAPE_JOBS_MAX) {
        struct err *e = doc_error(&f->doc, k->key);
        (void)err_set(e, -E2BIG, "more than %d jobs in one file", SCRAPE_JOBS_MAX);
        err_hint(e, "make several files of it");
        return 0;
    }
    int r = doc_list(&f->doc, k, sizeof(*ret->jobs), read_job, f, &ret->jobs, &ret->n);
    return r == 0 ? check_names(f, ret->jobs, ret->n) : r;
}

/* --- the file --- */

enum { FILE_JOBS, FILE_GLOBAL, FILE_MORE_FILES, FILE_OTHERS, FILE_COUNT_ = FILE_OTHERS + 8 };
static const char *const file_keys[FILE_COUNT_] = {
    "scrape_configs", "global", "scrape_config_files",
    /* other sections of a prometheus.yml */
    "rule_files", "alerting", "remote_write", "remote_read", "storage", "tracing", "runtime",
    "otlp"};

static int read_doc(struct file_reading *f, struct scrape_file *ret)
{
    static const struct file_refusal refused = {
        "scrape_config_files", "name those files beside this one: each is read by itself"};
    struct doc_key keys[FILE_COUNT_];
    int r = doc_read(&f->doc, SCRAPE_FILE_BYTES_MAX);

    if (r == -ENOMEM)
        return r;
    r = 0;
    if (f->doc.root) {
        (void)doc_keys(&f->doc, f->doc.root, "a scrape file", file_keys, FILE_COUNT_, keys);
        jobfile_refuse(f, &refused, 1, &keys[FILE_MORE_FILES]);
        read_global(f, &keys[FILE_GLOBAL]);
        r = read_jobs(f, &keys[FILE_JOBS], ret);
    }
    if (r == 0 && f->doc.has_mistakes)
        r = -EINVAL;
    doc_done(&f->doc);
    return r;
}

static struct span dir_of(struct span path)
{
    while (path.n > 0 && path.p[path.n - 1] != '/')
        path.n--;
    return path;
}

int scrape_file_read(struct span text, const char *where, struct scrape_file **ret,
                     struct err_list *errs)
{
    struct file *f = mem_zalloc(1, sizeof(*f));
    size_t first = errs->n;
    int r = -ENOMEM;

    if (!f)
        return -ENOMEM;
    atomic_init(&f->n_refs, 1);
    arena_init(&f->arena, NULL);
    struct span path = arena_dup(&f->arena, span_cstr(where));
    struct file_reading reading = {.doc = {text, where, errs, &f->arena, false, NULL},
                                   .dir = dir_of(path)};
    f->pub.path = path.p;
    if (path.p)
        r = read_doc(&reading, &f->pub);
    if (r < 0) {
        err_list_sort(errs, first);
        free_file(f);
        return r;
    }
    *ret = &f->pub;
    return 0;
}
