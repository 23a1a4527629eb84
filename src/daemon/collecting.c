/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/collecting.h"

#include <errno.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"
#include "collect/gpu.h"
#include "collect/host.h"
#include "collect/host_clock.h"
#include "collect/kafka.h"

enum { FILES_MAX = 1000, SOURCES_MAX = 32, OWN_BYTES_MAX = 4 * 1024 * 1024 };

/* What sources are told; it lives as long as they do. */
struct kafka_told {
    struct kafka_config config;
    struct kafka_property *properties;
};
struct collecting {
    struct store *store;
    struct collector *collector;
    struct gpu_config gpu;
    struct host_config host;
    struct host_engine *engines;
    struct host_clock_config clock;
    struct kafka_told *kafkas;
    size_t n_kafkas;
    struct config *config; /* of the start: sources borrow from it */
    struct collector_source sources[SOURCES_MAX];
    size_t n_sources;
};

/* --- files --- */

void collecting_files_done(struct collecting_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        scrape_file_unref(f->at[i]);
    mem_free(f->at);
    *f = (struct collecting_files){0};
}

struct reading {
    struct collecting_files files;
    struct file_mistakes *errs;
    struct err *err;
};

static int add(void *ctx, const char *path, struct span text)
{
    struct reading *f = ctx;
    if (f->files.n == FILES_MAX)
        return err_set(f->err, -E2BIG, "more than %d scrape files", FILES_MAX);
    for (size_t i = 0; i < f->files.n; i++)
        if (strcmp(f->files.at[i]->path, path) == 0)
            return 0; /* named by two patterns */
    int r = scrape_file_read(text, path, &f->files.at[f->files.n], &f->errs->list);
    if (r < 0)
        return named_files_tell(f->errs, path, r, f->err);
    f->files.n++;
    return 0;
}

static int add_own(struct reading *f, const struct config *c)
{
    struct buf text;
    buf_init(&text, OWN_BYTES_MAX);
    int r = collecting_own_write(c, &text);
    if (r < 0)
        err_set(f->err, r, "could not list what is scraped: %s", err_str(r));
    else
        r = add(f, "configuration", buf_span(&text));
    if (r == 0)
        scrape_file_make_optional(f->files.at[0], 0); /* upstreams */
    buf_done(&text);
    return r;
}

int collecting_read(const struct config *c, struct collecting_files *ret,
                    struct file_mistakes *reterrs, struct err *reterr)
{
    struct reading f = {.files.at = mem_zalloc(FILES_MAX, sizeof(struct scrape_file *)),
                        .errs = reterrs,
                        .err = reterr};
    named_files_init(reterrs);
    int r = f.files.at ? add_own(&f, c) : err_set(reterr, -ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < c->scrape_files.n; i++)
        r = named_files_each(c->scrape_files.items[i], "scrape files", SCRAPE_FILE_BYTES_MAX, add,
                             &f, reterr);
    if (r < 0) {
        collecting_files_done(&f.files);
        return r;
    }
    *ret = f.files;
    return 0;
}

/* --- sources --- */

static void add_source(struct collecting *k, const struct source_kind *kind, const void *config)
{
    k->sources[k->n_sources++] =
        (struct collector_source){kind, config, k->config->scrape_interval_ns / NS_PER_MS, NULL};
}

static void add_gpu(struct collecting *k)
{
    enum config_gpu from = k->config->gpu;
    if (from == CONFIG_GPU_NONE)
        return;
    if (from == CONFIG_GPU_NVML)
        k->gpu.smi_path = "";
    else if (from == CONFIG_GPU_SMI)
        k->gpu.nvml_path = "";
    add_source(k, &source_gpu, &k->gpu);
}

static int add_host(struct collecting *k)
{
    const struct config_engines *engines = &k->config->engines;
    k->engines = mem_zalloc(engines->n + 1, sizeof(*k->engines));
    if (!k->engines)
        return -ENOMEM;
    for (size_t i = 0; i < engines->n; i++) {
        const struct config_engine *e = &engines->items[i];
        k->engines[i] = (struct host_engine){.name = e->name,
                                             .pid_file = e->pid_file[0] ? e->pid_file : NULL,
                                             .port = (uint16_t)e->port,
                                             .command = e->command[0] ? e->command : NULL};
    }
    k->host = (struct host_config){.engines = k->engines, .n_engines = engines->n};
    if (k->config->host_metrics || engines->n > 0)
        add_source(k, &source_host, &k->host);
    if (k->config->host_metrics)
        add_source(k, &source_clock, &k->clock);
    return 0;
}

/* Of NAME=TEXT the name is copied. A text is a value, or where it stands. */
enum property_from { FROM_VALUE, FROM_FILE, FROM_ENV };

static int add_properties(struct kafka_told *t, const struct config_texts *pairs,
                          enum property_from from)
{
    for (size_t i = 0; i < pairs->n; i++) {
        const char *at = strchr(pairs->items[i], '=');
        const char *name = mem_strndup(pairs->items[i], (size_t)(at - pairs->items[i]));
        if (!name)
            return -ENOMEM;
        t->properties[t->config.n_properties++] =
            (struct kafka_property){.name = name,
                                    .value = from == FROM_VALUE ? at + 1 : NULL,
                                    .file = from == FROM_FILE ? at + 1 : NULL,
                                    .env = from == FROM_ENV ? at + 1 : NULL};
    }
    return 0;
}

/* A reading ends before the next one is due. */
static int64_t deadline_ms(int64_t interval_ms)
{
    int64_t ms = interval_ms * 8 / 10;
    return ms > KAFKA_DEADLINE_MS       ? KAFKA_DEADLINE_MS
           : ms < KAFKA_DEADLINE_MIN_MS ? KAFKA_DEADLINE_MIN_MS
                                        : ms;
}

static int tell_kafka(struct kafka_told *t, const struct config_kafka *from, int64_t interval_ms)
{
    size_t n = from->properties.n + from->properties_file.n + from->properties_env.n;
    t->properties = mem_zalloc(n + 1, sizeof(*t->properties));
    t->config = (struct kafka_config){.cluster = from->name,
                                      .brokers = from->brokers,
                                      .properties = t->properties,
                                      .groups = (const char *const *)from->groups.items,
                                      .n_groups = from->groups.n,
                                      .topics = (const char *const *)from->topics.items,
                                      .n_topics = from->topics.n,
                                      .deadline_ms = deadline_ms(interval_ms)};
    int r = t->properties ? add_properties(t, &from->properties, FROM_VALUE) : -ENOMEM;
    if (r == 0)
        r = add_properties(t, &from->properties_file, FROM_FILE);
    if (r == 0)
        r = add_properties(t, &from->properties_env, FROM_ENV);
    return r;
}

static void kafka_done(struct kafka_told *t)
{
    for (size_t i = 0; i < t->config.n_properties; i++)
        mem_free((void *)(uintptr_t)t->properties[i].name); /* our own copy */
    mem_free(t->properties);
}

static void kafkas_free(struct collecting *k)
{
    for (size_t i = 0; i < k->n_kafkas; i++)
        kafka_done(&k->kafkas[i]);
    mem_free(k->kafkas);
}

int collecting_check(const struct config *c, struct err *reterr)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < c->kafkas.n; i++) {
        struct config_kafka here = c->kafkas.items[i];
        struct kafka_told t = {.properties = NULL};
        here.properties_file = here.properties_env = (struct config_texts){0};
        if (tell_kafka(&t, &here, c->scrape_interval_ns / NS_PER_MS) < 0)
            r = err_set(reterr, -ENOMEM, "out of memory");
        else
            r = kafka_check(&t.config, reterr);
        kafka_done(&t);
    }
    return r;
}

static int add_kafkas(struct collecting *k, struct err *reterr)
{
    const struct config_kafkas *from = &k->config->kafkas;
    int r = 0;
    k->kafkas = mem_zalloc(from->n + 1, sizeof(*k->kafkas));
    if (!k->kafkas)
        return err_set(reterr, -ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < from->n; i++) {
        struct kafka_told *t = &k->kafkas[k->n_kafkas++];
        if (tell_kafka(t, &from->items[i], k->config->scrape_interval_ns / NS_PER_MS) < 0)
            return err_set(reterr, -ENOMEM, "out of memory");
        r = kafka_check(&t->config, reterr);
        add_source(k, &source_kafka, &t->config);
        k->sources[k->n_sources - 1].cluster = t->config.cluster;
    }
    return r;
}

/* --- birth and end --- */

static void write(void *ctx, struct batch *b)
{
    struct collecting *k = ctx;
    uint64_t number;
    uint64_t n = b->n;
    if (store_write(k->store, b, &number) < 0) {
        stat_add(STAT_DROP_STORE_SAMPLES, n);
        batch_free(b);
    }
}

static struct collector_plan plan_of(const struct collecting *k, const struct collecting_files *f)
{
    return (struct collector_plan){
        .files = f->at, .n_files = f->n, .sources = k->sources, .n_sources = k->n_sources};
}

int collecting_new(struct config *c, const struct collecting_files *f, struct store *store,
                   struct collecting **ret, struct err *reterr)
{
    struct collecting *k = mem_zalloc(1, sizeof(*k));
    if (!k)
        return err_set(reterr, -ENOMEM, "out of memory");
    k->store = store;
    k->config = config_ref(c);
    add_gpu(k);
    int r = add_host(k);
    r = r < 0 ? err_set(reterr, r, "out of memory") : add_kafkas(k, reterr);
    if (r == 0) {
        struct collector_plan plan = plan_of(k, f);
        r = collector_new(&plan, write, k, &k->collector, reterr);
    }
    if (r < 0) {
        collecting_free(k);
        return r;
    }
    *ret = k;
    return 0;
}

struct collecting *collecting_free(struct collecting *k)
{
    if (!k)
        return NULL;
    bool is_over = !k->collector || collector_stop(k->collector);
    collector_free(k->collector);
    if (!is_over)
        return NULL; /* a source that hangs reads what it was told for as long as the process is */
    kafkas_free(k);
    mem_free(k->engines);
    config_unref(k->config);
    mem_free(k);
    return NULL;
}

int collecting_configure(struct collecting *k, const struct collecting_files *f)
{
    struct collector_plan plan = plan_of(k, f);
    return collector_configure(k->collector, &plan);
}

struct collector *collecting_collector(struct collecting *k)
{
    return k->collector;
}
