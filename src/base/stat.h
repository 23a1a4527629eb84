/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/stat.h - the program's counters and gauges about itself: one table, one block per thread.
 *
 * Role:      any module bumps; export reads the sum over all threads, by the table in stat.c
 *            (name, labels, type, help), which also generates part of docs/METRICS.md.
 * Threading: stat_add touches only the calling thread's block (relaxed atomics, single writer);
 *            stat_sum may be called from any thread. Blocks of ended threads keep counting.
 */
#ifndef BASE_STAT_H
#define BASE_STAT_H

#include <stdint.h>

enum stat_type { STAT_COUNTER, STAT_GAUGE };

struct stat_desc {
    const char *name;   /* family name, for example "inferometer_drops_total" */
    const char *labels; /* `cause="log_queue"` or "" */
    const char *help;
    enum stat_type type;
};

/* Rows of one family stand together. Order = order in the exposition. */
enum stat_id {
    STAT_CONNS_CLIENT_OPEN,   /* gauge */
    STAT_CONNS_UPSTREAM_OPEN, /* gauge */
    STAT_CONNS_UPSTREAM_IDLE, /* gauge */
    STAT_CONNS_ACCEPTED,
    STAT_CONNS_REFUSED_LIMIT, /* over the connection limit */
    STAT_CONNS_REFUSED_DESCRIPTORS,
    STAT_CONNS_REFUSED_NO_MEMORY,
    STAT_ACCEPT_ERRORS,
    STAT_EXCHANGES_OPEN,  /* gauge */
    STAT_STREAMS_STALLED, /* gauge */
    STAT_BYTES_CLIENT_IN,
    STAT_BYTES_CLIENT_OUT,
    STAT_BYTES_UPSTREAM_IN,
    STAT_BYTES_UPSTREAM_OUT,
    STAT_READS_PAUSED,
    STAT_KEY_CHECKS,             /* each one hash */
    STAT_TARGET_CHANGES,         /* up or down */
    STAT_ADMIN_REFUSED,          /* no token, or none of ours */
    STAT_HTTP_BAD_MALFORMED,     /* 400 */
    STAT_HTTP_BAD_TOO_LARGE,     /* 431 */
    STAT_HTTP_BAD_TOO_SLOW,      /* 408 */
    STAT_TLS_HANDSHAKE_FAILURES, /* of clients */
    STAT_STALE_RETRIES,
    STAT_RETRIES,
    STAT_RETRIES_OVER_BUDGET,
    STAT_PATHS_REPAIRED,
    STAT_USAGE_INJECTED,
    STAT_USAGE_INJECTION_REFUSED, /* upstream answered 400 to it */
    STAT_USAGE_EVENTS_REMOVED,
    STAT_STAMP_FALLBACKS, /* reads stamped by the clock instead of the kernel */
    STAT_CLOCK_STEPS,
    STAT_STAMP_ORDER_VIOLATIONS,
    STAT_BACKLOG_NEGATIVE,     /* requests that claim to be put into a queue after they came */
    STAT_BACKLOG_UNREADABLE,   /* or at no time that can be right */
    STAT_UNOBSERVED_TOO_LARGE, /* an event or body over the observation limit */
    STAT_UNOBSERVED_CODED,     /* content-coded answer */
    STAT_UNOBSERVED_NO_MEMORY,
    STAT_UNOBSERVED_MALFORMED, /* framing of the stream could not be followed */
    STAT_USAGE_ANOMALIES,      /* negative, cached > prompt, reasoning > completion */
    STAT_MODEL_MISMATCHES,
    STAT_STREAMS_FINISHED,   /* coverage: answered streams of known dialects */
    STAT_STREAMS_WITH_TTFT,  /* coverage: of those, with a first token */
    STAT_STREAMS_WITH_USAGE, /* coverage: of those, with usage from the engine */
    STAT_RECORDS_MADE,
    STAT_RECORDS_LOGGED,
    STAT_RECORDS_QUEUED,     /* gauge: made and not yet written */
    STAT_DROP_LOG_QUEUE,     /* records lost: queue full */
    STAT_DROP_LOG_WRITE,     /* records lost: write failed (disk full) */
    STAT_DROP_LABEL_CAP,     /* label values folded into "other" */
    STAT_DROP_SERIES_CAP,    /* series folded into "other" */
    STAT_DROP_NO_MEMORY,     /* samples lost: no memory for a series */
    STAT_DROP_LOG_LINES,     /* operator log lines */
    STAT_DROP_STORE_QUEUE,   /* records lost: the store's queue full */
    STAT_DROP_STORE_WRITE,   /* records lost: neither database nor spill file takes them */
    STAT_DROP_STORE_SAMPLES, /* samples of time series lost */
    STAT_LOG_REOPENS,
    STAT_STORE_ROWS,         /* committed */
    STAT_STORE_ROWS_SPILLED, /* put into the spill file */
    STAT_STORE_ROWS_QUEUED,  /* gauge */
    STAT_STORE_SPILL_BYTES,  /* gauge */
    STAT_STORE_DISK_BYTES,   /* gauge: days of rows */
    STAT_STORE_DAYS_EXPIRED,
    STAT_STORE_DAYS_OVER_BUDGET,
    STAT_STORE_COMMITS,
    STAT_STORE_COMMIT_US, /* spent in commits */
    STAT_STORE_ERRORS_FULL,
    STAT_STORE_ERRORS_READ_ONLY,
    STAT_STORE_ERRORS_BUSY,
    STAT_STORE_ERRORS_OTHER,
    STAT_STORE_DAMAGED,        /* files or parts of them */
    STAT_STORE_SAMPLES,        /* of time series, stored */
    STAT_RULE_EVALUATIONS,     /* by the evaluator's thread, as are the next ones */
    STAT_RULE_FAILURES,        /* evaluations */
    STAT_RULE_MISSED,          /* slots of groups */
    STAT_RULE_TICK_US,         /* gauge: the last turn in which something was evaluated */
    STAT_RULES_STOPPED,        /* gauge: 1 while there are rules and no store to read */
    STAT_ALERT_PENDING,        /* gauge */
    STAT_ALERT_FIRING,         /* gauge */
    STAT_ALERT_DELIVERED,      /* messages to receivers */
    STAT_ALERT_FAILED,         /* attempts; each is followed by another one */
    STAT_ALERT_GIVEN_UP,       /* the receiver will not take it */
    STAT_ALERT_WAITING,        /* gauge: messages that failed or wait for their turn */
    STAT_ALERT_ACTIVE,         /* gauge */
    STAT_ALERTMANAGER_TAKEN,   /* alerts that an Alertmanager took */
    STAT_ALERTMANAGER_DROPPED, /* alerts */
    STAT_ALERTMANAGER_FAILED,  /* requests */
    STAT_ALERT_DB_ERRORS,
    STAT_CONFIG_RELOADS,
    STAT_CONFIG_RELOAD_FAILURES,
    STAT_SCRAPES,
    STAT_INTERNAL_ERRORS,
    STAT_MEMORY_RESIDENT_BYTES, /* gauge, as are the next ones: of the last scrape */
    STAT_MEMORY_BLOCKS,
    STAT_MEMORY_ALLOCATIONS, /* counter */
    STAT_OPEN_DESCRIPTORS,
    STAT_COUNT_
};

extern const struct stat_desc stat_table[STAT_COUNT_];

void stat_add(enum stat_id id, int64_t n);

/* Makes the sum v. For values that one thread alone reads somewhere and tells here. */
void stat_set(enum stat_id id, int64_t v);

static inline void stat_inc(enum stat_id id)
{
    stat_add(id, 1);
}

/* Sum over all threads, of a moment. */
int64_t stat_sum(enum stat_id id);

#endif
