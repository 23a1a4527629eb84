/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/stat.c - the table of self-metrics and the per-thread blocks behind it.
 *
 * A thread gets its block at its first stat_add and is the only one to write it, so adding is a
 * load and a store without a locked instruction. Blocks are never freed, since what a thread has
 * counted stays counted; when a thread ends, its block is handed to the next new thread, so their
 * number is that of the threads alive at once.
 */
#include "base/stat.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/attr.h"

#define COUNTER(id_, name_, labels_, help_)                                                        \
    [id_] = {                                                                                      \
        .name = "inferometer_" name_, .labels = (labels_), .help = (help_), .type = STAT_COUNTER}
#define GAUGE(id_, name_, labels_, help_)                                                          \
    [id_] = {.name = "inferometer_" name_, .labels = (labels_), .help = (help_), .type = STAT_GAUGE}

/* One help text per family: the exposition format allows only one. */
#define HELP_CONNS "Open connections, by side."
#define HELP_BYTES "Bytes received and sent on sockets, by side and direction."
#define HELP_REFUSED                                                                               \
    "Client connections closed at once, by cause: over the connection limit, no free descriptor, " \
    "no memory."
#define HELP_BAD                                                                                   \
    "Requests refused for what they are, by cause: no valid HTTP/1.1 (400), a head over its "      \
    "limits (431), a head or body that came too slowly (408)."
#define HELP_UNOBSERVED   "Exchanges passed on but not measured to their end, by reason."
#define HELP_DAYS_REMOVED "Days of request rows removed, by cause."
#define HELP_STORE_ERRORS "Times that the store's database refused, by cause."
#define HELP_DELIVERIES                                                                            \
    "Messages to receivers of alerts, by outcome: delivered; an attempt that failed and is "       \
    "followed by another one; given up, since the receiver will not take it as it is (tried "      \
    "every 5 min all the same)."
#define HELP_ALERTMANAGER                                                                          \
    "Alerts for Alertmanagers, each counted once for each of them, by outcome: taken, or dropped " \
    "since it was refused or too many waited."
#define HELP_DROPS "Data lost or folded into a coarser series, by cause."

const struct stat_desc stat_table[STAT_COUNT_] = {
    GAUGE(STAT_CONNS_CLIENT_OPEN, "connections_open", "side=\"client\"", HELP_CONNS),
    GAUGE(STAT_CONNS_UPSTREAM_OPEN, "connections_open", "side=\"upstream\"", HELP_CONNS),
    GAUGE(STAT_CONNS_UPSTREAM_IDLE, "upstream_connections_idle", "",
          "Open upstream connections that wait in a pool for the next request."),
    COUNTER(STAT_CONNS_ACCEPTED, "connections_accepted_total", "", "Client connections accepted."),
    COUNTER(STAT_CONNS_REFUSED_LIMIT, "connections_refused_total", "cause=\"limit\"", HELP_REFUSED),
    COUNTER(STAT_CONNS_REFUSED_DESCRIPTORS, "connections_refused_total", "cause=\"descriptors\"",
            HELP_REFUSED),
    COUNTER(STAT_CONNS_REFUSED_NO_MEMORY, "connections_refused_total", "cause=\"no_memory\"",
            HELP_REFUSED),
    COUNTER(STAT_ACCEPT_ERRORS, "accept_errors_total", "",
            "Failed attempts to accept a connection, for example without a free descriptor."),
    GAUGE(STAT_EXCHANGES_OPEN, "exchanges_open", "",
          "Requests that have arrived and are not finished."),
    GAUGE(STAT_STREAMS_STALLED, "streams_stalled", "",
          "Open streams that are silent for longer than 1 s and ten times their median gap."),
    COUNTER(STAT_BYTES_CLIENT_IN, "bytes_total", "side=\"client\",direction=\"in\"", HELP_BYTES),
    COUNTER(STAT_BYTES_CLIENT_OUT, "bytes_total", "side=\"client\",direction=\"out\"", HELP_BYTES),
    COUNTER(STAT_BYTES_UPSTREAM_IN, "bytes_total", "side=\"upstream\",direction=\"in\"",
            HELP_BYTES),
    COUNTER(STAT_BYTES_UPSTREAM_OUT, "bytes_total", "side=\"upstream\",direction=\"out\"",
            HELP_BYTES),
    COUNTER(STAT_READS_PAUSED, "reads_paused_total", "",
            "Times that reading from one side paused because the other side was slower."),
    COUNTER(STAT_KEY_CHECKS, "key_checks_total", "",
            "Gateway keys that clients showed and that were looked up, known or not."),
    COUNTER(STAT_TARGET_CHANGES, "target_changes_total", "",
            "Times that a scraped target came up or went down, its first scrape included."),
    COUNTER(STAT_ADMIN_REFUSED, "admin_refused_total", "",
            "Requests to the admin listener that showed no token, or none of ours, where one is "
            "needed."),
    COUNTER(STAT_HTTP_BAD_MALFORMED, "bad_requests_total", "cause=\"malformed\"", HELP_BAD),
    COUNTER(STAT_HTTP_BAD_TOO_LARGE, "bad_requests_total", "cause=\"head_too_large\"", HELP_BAD),
    COUNTER(STAT_HTTP_BAD_TOO_SLOW, "bad_requests_total", "cause=\"too_slow\"", HELP_BAD),
    COUNTER(STAT_TLS_HANDSHAKE_FAILURES, "tls_handshake_failures_total", "",
            "Client connections that ended before their TLS handshake was done."),
    COUNTER(STAT_STALE_RETRIES, "stale_retries_total", "",
            "Requests sent again because a reused upstream connection had been closed."),
    COUNTER(STAT_RETRIES, "retries_total", "",
            "Requests sent once more, to another upstream or the same, because an attempt failed."),
    COUNTER(STAT_RETRIES_OVER_BUDGET, "retries_over_budget_total", "",
            "Retries that were not made because too many others were."),
    COUNTER(STAT_PATHS_REPAIRED, "paths_repaired_total", "",
            "Requests whose path had /v1 twice or not at all."),
    COUNTER(STAT_USAGE_INJECTED, "usage_injections_total", "",
            "Requests to which the option that asks for token usage was added."),
    COUNTER(STAT_USAGE_INJECTION_REFUSED, "usage_injections_refused_total", "",
            "Requests with the added option that the upstream answered with status 400 or 422."),
    COUNTER(STAT_USAGE_EVENTS_REMOVED, "usage_events_removed_total", "",
            "Usage events taken out of answers because the client had not asked for them."),
    COUNTER(STAT_STAMP_FALLBACKS, "stamp_fallbacks_total", "",
            "Reads stamped by the program's clock because the kernel gave no receive stamp."),
    COUNTER(STAT_CLOCK_STEPS, "clock_steps_total", "",
            "Steps of the wall clock noticed while mapping receive stamps."),
    COUNTER(STAT_STAMP_ORDER_VIOLATIONS, "stamp_order_violations_total", "",
            "Exchanges whose stamps were not in order and were clamped."),
    COUNTER(STAT_BACKLOG_NEGATIVE, "backlog_negative_total", "",
            "Requests whose X-Enqueue-Time is later than their arrival: clocks differ."),
    COUNTER(STAT_BACKLOG_UNREADABLE, "backlog_unreadable_total", "",
            "Requests whose X-Enqueue-Time is neither Unix milliseconds nor RFC 3339, or lies more "
            "than 30 days back (Unix seconds do)."),
    COUNTER(STAT_UNOBSERVED_TOO_LARGE, "unobserved_total", "reason=\"too_large\"", HELP_UNOBSERVED),
    COUNTER(STAT_UNOBSERVED_CODED, "unobserved_total", "reason=\"content_coded\"", HELP_UNOBSERVED),
    COUNTER(STAT_UNOBSERVED_NO_MEMORY, "unobserved_total", "reason=\"no_memory\"", HELP_UNOBSERVED),
    COUNTER(STAT_UNOBSERVED_MALFORMED, "unobserved_total", "reason=\"malformed\"", HELP_UNOBSERVED),
    COUNTER(STAT_USAGE_ANOMALIES, "usage_anomalies_total", "",
            "Usage reports that contradict themselves, such as more cached than prompt tokens."),
    COUNTER(STAT_MODEL_MISMATCHES, "model_mismatches_total", "",
            "Answers that name another model than the request."),
    COUNTER(STAT_STREAMS_FINISHED, "streams_total", "",
            "Answered streams of known dialects; the base of the two coverage counters."),
    COUNTER(STAT_STREAMS_WITH_TTFT, "streams_with_ttft_total", "",
            "Of these streams, those in which a first token was seen."),
    COUNTER(STAT_STREAMS_WITH_USAGE, "streams_with_usage_total", "",
            "Of these streams, those for which the engine reported token usage."),
    COUNTER(STAT_RECORDS_MADE, "records_total", "", "Request records made."),
    COUNTER(STAT_RECORDS_LOGGED, "records_logged_total", "",
            "Request records written to the request log."),
    GAUGE(STAT_RECORDS_QUEUED, "records_queued", "",
          "Records that are made and wait for the request log's writer."),
    COUNTER(STAT_DROP_LOG_QUEUE, "drops_total", "cause=\"log_queue\"", HELP_DROPS),
    COUNTER(STAT_DROP_LOG_WRITE, "drops_total", "cause=\"log_write\"", HELP_DROPS),
    COUNTER(STAT_DROP_LABEL_CAP, "drops_total", "cause=\"label_cap\"", HELP_DROPS),
    COUNTER(STAT_DROP_SERIES_CAP, "drops_total", "cause=\"series_cap\"", HELP_DROPS),
    COUNTER(STAT_DROP_NO_MEMORY, "drops_total", "cause=\"no_memory\"", HELP_DROPS),
    COUNTER(STAT_DROP_LOG_LINES, "drops_total", "cause=\"log_lines\"", HELP_DROPS),
    COUNTER(STAT_DROP_STORE_QUEUE, "drops_total", "cause=\"store_queue\"", HELP_DROPS),
    COUNTER(STAT_DROP_STORE_WRITE, "drops_total", "cause=\"store_write\"", HELP_DROPS),
    COUNTER(STAT_DROP_STORE_SAMPLES, "drops_total", "cause=\"store_samples\"", HELP_DROPS),
    COUNTER(STAT_LOG_REOPENS, "log_reopens_total", "", "Times the request log was reopened."),
    COUNTER(STAT_STORE_ROWS, "store_rows_total", "", "Request rows committed to the store."),
    COUNTER(STAT_STORE_ROWS_SPILLED, "store_rows_spilled_total", "",
            "Request rows that went into the spill file because the database refused them."),
    GAUGE(STAT_STORE_ROWS_QUEUED, "store_rows_queued", "",
          "Request rows that are made and wait for the store's writer."),
    GAUGE(STAT_STORE_SPILL_BYTES, "store_spill_bytes", "",
          "Bytes of request rows that wait in the spill file."),
    GAUGE(STAT_STORE_DISK_BYTES, "store_rows_disk_bytes", "",
          "Bytes on disk of request rows, looked at once a minute."),
    COUNTER(STAT_STORE_DAYS_EXPIRED, "store_days_removed_total", "cause=\"age\"",
            HELP_DAYS_REMOVED),
    COUNTER(STAT_STORE_DAYS_OVER_BUDGET, "store_days_removed_total", "cause=\"disk_budget\"",
            HELP_DAYS_REMOVED),
    COUNTER(STAT_STORE_COMMITS, "store_commits_total", "", "Commits of request rows."),
    COUNTER(STAT_STORE_COMMIT_US, "store_commit_microseconds_total", "",
            "Time spent in commits of request rows."),
    COUNTER(STAT_STORE_ERRORS_FULL, "store_errors_total", "cause=\"disk_full\"", HELP_STORE_ERRORS),
    COUNTER(STAT_STORE_ERRORS_READ_ONLY, "store_errors_total", "cause=\"read_only\"",
            HELP_STORE_ERRORS),
    COUNTER(STAT_STORE_ERRORS_BUSY, "store_errors_total", "cause=\"locked\"", HELP_STORE_ERRORS),
    COUNTER(STAT_STORE_ERRORS_OTHER, "store_errors_total", "cause=\"other\"", HELP_STORE_ERRORS),
    COUNTER(STAT_STORE_DAMAGED, "store_damaged_total", "",
            "Damaged files of the store, or parts of them, that were set aside or passed over."),
    COUNTER(STAT_STORE_SAMPLES, "store_samples_total", "",
            "Samples of time series taken into the store."),
    COUNTER(STAT_RULE_EVALUATIONS, "rule_evaluations_total", "", "Evaluations of rules."),
    COUNTER(STAT_RULE_FAILURES, "rule_evaluation_failures_total", "",
            "Evaluations of rules that failed; the state of alerts stayed as it was."),
    COUNTER(STAT_RULE_MISSED, "rule_slots_missed_total", "",
            "Moments at which a group of rules should have been evaluated and was not."),
    GAUGE(STAT_RULE_TICK_US, "rule_tick_microseconds", "",
          "How long the last turn took in which rules were evaluated."),
    GAUGE(STAT_RULES_STOPPED, "rules_stopped", "",
          "1 while no rule is evaluated, since the data directory cannot be opened or read, or "
          "another process has it; else 0, also without a data directory."),
    GAUGE(STAT_ALERT_PENDING, "alerts_pending", "", "Alerts whose rules wait for their time."),
    GAUGE(STAT_ALERT_FIRING, "alerts_firing", "", "Alerts that fire, by the rules."),
    COUNTER(STAT_ALERT_DELIVERED, "alert_deliveries_total", "outcome=\"delivered\"",
            HELP_DELIVERIES),
    COUNTER(STAT_ALERT_FAILED, "alert_deliveries_total", "outcome=\"failed\"", HELP_DELIVERIES),
    COUNTER(STAT_ALERT_GIVEN_UP, "alert_deliveries_total", "outcome=\"given_up\"", HELP_DELIVERIES),
    GAUGE(STAT_ALERT_WAITING, "alert_deliveries_waiting", "",
          "Messages to receivers that failed and are to be tried again, or wait for their turn."),
    GAUGE(STAT_ALERT_ACTIVE, "alerts_active", "",
          "Alerts that fire, or whose end was not told everywhere yet."),
    COUNTER(STAT_ALERTMANAGER_TAKEN, "alertmanager_alerts_total", "outcome=\"taken\"",
            HELP_ALERTMANAGER),
    COUNTER(STAT_ALERTMANAGER_DROPPED, "alertmanager_alerts_total", "outcome=\"dropped\"",
            HELP_ALERTMANAGER),
    COUNTER(STAT_ALERTMANAGER_FAILED, "alertmanager_failures_total", "",
            "Requests to Alertmanagers that failed."),
    COUNTER(STAT_ALERT_DB_ERRORS, "alert_store_errors_total", "",
            "Times that the database of alerts, silences and deliveries refused."),
    COUNTER(STAT_CONFIG_RELOADS, "config_reloads_total", "",
            "Configuration reloads that took effect."),
    COUNTER(STAT_CONFIG_RELOAD_FAILURES, "config_reload_failures_total", "",
            "Configuration reloads refused; the former configuration stayed in use."),
    COUNTER(STAT_SCRAPES, "scrapes_total", "", "Answered requests for the metrics page."),
    COUNTER(STAT_INTERNAL_ERRORS, "internal_errors_total", "",
            "Broken assumptions in the program itself; each cost one exchange, please report."),
    GAUGE(STAT_MEMORY_RESIDENT_BYTES, "memory_resident_bytes", "",
          "Memory of the process that is in RAM, at the last scrape or sample."),
    GAUGE(STAT_MEMORY_BLOCKS, "memory_blocks", "",
          "Blocks allocated and not freed, at the last scrape or sample."),
    COUNTER(STAT_MEMORY_ALLOCATIONS, "memory_allocations_total", "",
            "Blocks allocated since start, as of the last scrape or sample."),
    GAUGE(STAT_OPEN_DESCRIPTORS, "open_descriptors", "",
          "File descriptors in use, at the last scrape or sample."),
};

struct block {
    struct block *next; /* all blocks; set before the block is published, then constant */
    bool is_owned;      /* by a living thread; under registry_lock */
    _Atomic int64_t n[STAT_COUNT_];
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct block *) blocks;
static _Thread_local struct block *own_block;

/* For threads that found no memory for a block: shared, hence with locked additions. */
static struct block shared_block;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void release_block(void *block)
{
    struct block *b = block;
    own_block = NULL; /* a later destructor of this thread may count: it gets a block again */
    pthread_mutex_lock(&registry_lock);
    b->is_owned = false;
    pthread_mutex_unlock(&registry_lock);
}

static void make_key(void)
{
    if (pthread_key_create(&key, release_block) != 0)
        abort(); /* 1,024 keys exist, and we are the first to ask */
}

/* A block nobody owns any more, or a new one; NULL without memory. */
static struct block *acquire_block(void)
{
    pthread_mutex_lock(&registry_lock);
    struct block *b = atomic_load_explicit(&blocks, memory_order_relaxed);
    while (b && b->is_owned)
        b = b->next;
    if (!b) {
        /* Not mem.h: the block is no part of any module's budget and must survive fault tests. */
        b = calloc(1, sizeof(*b));
        if (b) {
            b->next = atomic_load_explicit(&blocks, memory_order_relaxed);
            atomic_store_explicit(&blocks, b, memory_order_release);
        }
    }
    if (b)
        b->is_owned = true;
    pthread_mutex_unlock(&registry_lock);
    return b;
}

static void add_first(enum stat_id id, int64_t n)
{
    pthread_once(&key_once, make_key);
    struct block *b = acquire_block();
    if (b && pthread_setspecific(key, b) == 0) {
        own_block = b;
        stat_add(id, n);
        return;
    }
    if (b)
        release_block(b);
    atomic_fetch_add_explicit(&shared_block.n[id], n, memory_order_relaxed);
}

void stat_add(enum stat_id id, int64_t n)
{
    struct block *b = own_block;
    if (UNLIKELY(b == NULL)) {
        add_first(id, n);
        return;
    }
    int64_t before = atomic_load_explicit(&b->n[id], memory_order_relaxed);
    atomic_store_explicit(&b->n[id], before + n, memory_order_relaxed);
}

void stat_set(enum stat_id id, int64_t v)
{
    stat_add(id, v - stat_sum(id));
}

int64_t stat_sum(enum stat_id id)
{
    int64_t sum = atomic_load_explicit(&shared_block.n[id], memory_order_relaxed);
    struct block *b = atomic_load_explicit(&blocks, memory_order_acquire);
    for (; b; b = b->next)
        sum += atomic_load_explicit(&b->n[id], memory_order_relaxed);
    return sum;
}
