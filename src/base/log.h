/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/log.h - what the program says to its operator: logfmt lines on standard error.
 *
 *   2026-11-29T15:04:05.123Z warn gateway: could not connect to upstream "a": connection refused
 *
 * Role:      once per event, at the place that decides. Lower case, no full stop, names quoted.
 *            Prompts, completions, and credentials never appear here.
 * Threading: any thread. After log_start lines go through a bounded queue to a writer thread, so
 *            that a blocked terminal never stalls a worker; a full queue drops the line and counts
 *            STAT_DROP_LOG_LINES. Before log_start and after log_stop they are written directly.
 * Limits:    1 KiB a line. Each call site may log 10 lines a second; the rest is summarised as
 *            "(N more suppressed)".
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Per call site state, zero-initialised. */
struct log_site {
    int64_t _window_ns;
    uint32_t _n_in_window;
    uint32_t _n_suppressed;
};

void log_level_set(enum log_level level); /* default LOG_LEVEL_INFO */
int log_level_parse(const char *name, enum log_level *ret_level) WARN_UNUSED; /* -EINVAL */

int log_start(struct err *reterr) WARN_UNUSED; /* starts the writer thread */
void log_stop(void);                           /* drains and joins it; idempotent */

void log_write(struct log_site *site, enum log_level level, const char *module, const char *fmt,
               ...) PRINTF_LIKE(4, 5);

#define LOG_AT(level, ...)                                                                         \
    do {                                                                                           \
        static struct log_site log_site_;                                                          \
        log_write(&log_site_, level, MODULE_NAME, __VA_ARGS__);                                    \
    } while (0)
#define LOG_ERROR(...) LOG_AT(LOG_LEVEL_ERROR, __VA_ARGS__)
#define LOG_WARN(...)  LOG_AT(LOG_LEVEL_WARN, __VA_ARGS__)
#define LOG_INFO(...)  LOG_AT(LOG_LEVEL_INFO, __VA_ARGS__)
#define LOG_DEBUG(...) LOG_AT(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
