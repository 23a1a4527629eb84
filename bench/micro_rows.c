/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_rows.c - request rows: what storing one costs, what it takes on disk, and how long
 * the questions of lists and look-ups take among many.
 *
 *   build/release/bench_micro_rows DIR [MILLIONS [plain]]
 *
 * DIR is made and filled; MILLIONS of rows (5) of five hours of today. With "plain" also the
 * alternative that docs/adr/0013 speaks of: one SQL row with a column per field, and two indexes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "made_rows.h"
#include "store/day.h"
#include "store/fields.h"
#include "store/rows.h"

enum { ROWS_PER_COMMIT = 2000, HOURS = 5, N_REPEATS = 11 };

static int64_t day_us; /* begin of today (UTC) */

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double since(mono_t start)
{
    return (double)mono_diff(clock_mono(), start) / 1e9;
}

static void check(int error, const char *what)
{
    if (error < 0) {
        fprintf(stderr, "%s: %s\n", what, err_str(error));
        exit(1);
    }
}

static char wanted_id[33];

static int64_t end_of(size_t i, size_t n)
{
    return day_us + (int64_t)((double)i / (double)n * HOURS * 3600e6);
}

static void append(const char *dir, size_t n)
{
    struct rows *rows = NULL;
    struct err err;
    wall_t noon = {day_us + INT64_C(43200) * US_PER_S};
    double slowest = 0;
    double row_s = 0;
    made_rows_begin();
    check(rows_open(dir, NULL, &rows, &err), "rows_open");
    mono_t start = clock_mono();
    double cpu = cpu_s();
    for (size_t i = 0; i < n; i++) {
        const struct record *r = made_rows_get(i, end_of(i, n));
        if (i == n / 3)
            memcpy(wanted_id, r->request_id, sizeof(wanted_id));
        check(rows_append(rows, r), "rows_append");
        if ((i + 1) % ROWS_PER_COMMIT == 0 || i + 1 == n) {
            mono_t t = clock_mono();
            check(rows_commit(rows), "rows_commit");
            int more;
            while ((more = rows_maintain(rows, noon)) > 0)
                ;
            check(more, "rows_maintain");
            slowest = since(t) > slowest ? since(t) : slowest;
        }
        if ((i + 1) % (n / 5) == 0) {
            printf("  %9zu rows: %8.0f rows/s, %.2f us CPU a row (last fifth)\n", i + 1,
                   (double)n / 5 / (since(start) - row_s), (cpu_s() - cpu) * 1e6 / ((double)n / 5));
            row_s = since(start);
            cpu = cpu_s();
        }
    }
    printf("append, commit of %d, segments     %9.0f rows/s, slowest commit with its segment %.1f "
           "ms\n",
           ROWS_PER_COMMIT, (double)n / since(start), slowest * 1e3);
    rows_close(rows);
    char path[4096];
    check(day_path(dir, day_of(day_us), ".db", path, sizeof(path)), "day_path");
    printf("bytes a row on disk                %9.1f\n", (double)db_size(path) / (double)n);
}

static int count(void *ctx, uint64_t key, const struct record *record)
{
    uint64_t *last = ctx;
    (void)record;
    last[0]++;
    last[1] = key;
    return 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static const struct record_field *field(const char *name)
{
    for (size_t i = 0; i < record_n_fields; i++) {
        if (strcmp(record_fields[i].name, name) == 0)
            return &record_fields[i];
    }
    abort();
}

static uint64_t ask(struct rows_reader *reader, const char *name, const struct rows_question *q)
{
    double ms[N_REPEATS];
    double cpu = cpu_s();
    uint64_t got[2];
    for (int i = 0; i < N_REPEATS; i++) {
        mono_t start = clock_mono();
        memset(got, 0, sizeof(got));
        check(rows_ask(reader, q, count, got), name);
        ms[i] = since(start) * 1e3;
    }
    qsort(ms, N_REPEATS, sizeof(ms[0]), compare);
    printf("%-46s %8.2f ms (max %.2f; CPU %.2f), %llu rows\n", name, ms[N_REPEATS / 2],
           ms[N_REPEATS - 1], (cpu_s() - cpu) * 1e3 / N_REPEATS, (unsigned long long)got[0]);
    return got[1];
}

static int sum(void *ctx, size_t n_rows, const double *const *columns)
{
    double *total = ctx;
    for (size_t i = 0; i < n_rows; i++)
        total[0] += columns[0][i] > 0 ? columns[0][i] : 0;
    total[1] += (double)n_rows;
    return 0;
}

static void questions(const char *dir)
{
    struct rows_reader *reader = NULL;
    struct err err;
    uint64_t got[2] = {0};
    wall_t end = {day_us + (INT64_C(3600) * HOURS) * US_PER_S};
    wall_t hour = {end.us - INT64_C(3600) * US_PER_S};
    const struct rows_condition model = {field("model"), ROWS_EQ,
                                         SPAN("meta-llama/Llama-3.3-70B-Instruct"), 0};
    const struct rows_condition outcome = {field("outcome"), ROWS_EQ, SPAN("http_error"), 0};
    const struct rows_condition tenant = {field("tenant"), ROWS_EQ, SPAN("tenant-7"), 0};
    const struct rows_condition nobody = {field("tenant"), ROWS_EQ, SPAN("nobody"), 0};
    const struct rows_condition label = {field("labels"), ROWS_EQ, SPAN("team=search"), 0};
    mono_t start = clock_mono();
    check(rows_reader_open(dir, &reader, &err), "rows_reader_open");
    struct rows_question q = {
        .from = hour, .to = end, .order = field("e2e_ms"), .is_descending = true, .limit = 100};
    check(rows_ask(reader, &q, count, got), "rows_ask");
    printf("%-46s %8.2f ms\n", "open, and the first question", since(start) * 1e3);
    ask(reader, "slowest 100 by e2e, last hour", &q);
    q.order = field("ttft_ms");
    ask(reader, "slowest 100 by ttft, last hour", &q);
    q.from.us = day_us;
    ask(reader, "slowest 100 by ttft, all", &q);
    q.order = NULL;
    uint64_t after = ask(reader, "newest 100", &q);
    q.after = after;
    ask(reader, "the 100 before them", &q);
    q.after = 0;
    q.n_conditions = 1;
    q.conditions = &model;
    ask(reader, "newest 100 of one of 8 models", &q);
    q.conditions = &outcome;
    ask(reader, "newest 100 of an outcome of 1 %", &q);
    q.conditions = &tenant;
    ask(reader, "newest 100 of one of 50 tenants", &q);
    q.conditions = &label;
    ask(reader, "newest 100 of a label", &q);
    q.conditions = &nobody;
    ask(reader, "of a tenant that is nowhere, all", &q);
    start = clock_mono();
    check(rows_find(reader, span_cstr(wanted_id), count, got), "rows_find");
    printf("%-46s %8.2f ms\n", "by id", since(start) * 1e3);
    start = clock_mono();
    if (rows_find(reader, SPAN("00000000000000000000000000000000"), count, got) != -ENOENT)
        exit(1);
    printf("%-46s %8.2f ms\n", "an id that is not there", since(start) * 1e3);
    const struct record_field *fields[] = {field("e2e_ms")};
    double total[2] = {0};
    start = clock_mono();
    check(rows_scan(reader, hour, end, fields, 1, sum, total), "rows_scan");
    printf("%-46s %8.2f ms, %.0f rows\n", "sum of a column, last hour", since(start) * 1e3,
           total[1]);
    rows_reader_close(reader);
    struct rows *rows = NULL;
    start = clock_mono();
    check(rows_open(dir, NULL, &rows, &err), "rows_open");
    check(rows_append(rows, made_rows_get(0, end.us)), "rows_append");
    check(rows_commit(rows), "rows_commit");
    printf("%-46s %8.2f ms\n", "open for writing, and the first commit", since(start) * 1e3);
    rows_close(rows);
}

/* --- the plain alternative --- */

static int plain_exec(sqlite3 *d, const char *sql)
{
    char *text = NULL;
    int rc = sqlite3_exec(d, sql, NULL, NULL, &text);
    if (rc != SQLITE_OK)
        fprintf(stderr, "%s: %s\n", sql, text);
    sqlite3_free(text);
    return rc == SQLITE_OK ? 0 : -EIO;
}

static void plain_bind(sqlite3_stmt *s, int i, const struct record_field *f, const struct record *r)
{
    if (fields_is_text(f->type)) {
        struct span text = fields_text(f, r);
        if (text.n > 0)
            sqlite3_bind_text(s, i, text.p, (int)text.n, SQLITE_STATIC);
    } else {
        int64_t v = fields_number(f, r);
        if (v != fields_nothing(f->type))
            sqlite3_bind_int64(s, i, v);
    }
}

static sqlite3_stmt *plain_open(sqlite3 *d)
{
    static char create[8192];
    static char insert[4096];
    sqlite3_stmt *s = NULL;
    size_t at = (size_t)snprintf(create, sizeof(create), "CREATE TABLE requests(end_us");
    size_t n = (size_t)snprintf(insert, sizeof(insert), "INSERT INTO requests VALUES(?");
    for (size_t i = 0; i < record_n_fields; i++) {
        at += (size_t)snprintf(create + at, sizeof(create) - at, ", %s", record_fields[i].name);
        n += (size_t)snprintf(insert + n, sizeof(insert) - n, ", ?");
    }
    snprintf(create + at, sizeof(create) - at, ")");
    snprintf(insert + n, sizeof(insert) - n, ")");
    check(plain_exec(d, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"), "settings");
    check(plain_exec(d, create), "table");
    check(plain_exec(d, "CREATE INDEX by_end ON requests(end_us);"
                        "CREATE INDEX by_id ON requests(request_id)"),
          "indexes");
    if (sqlite3_prepare_v2(d, insert, -1, &s, NULL) != SQLITE_OK)
        exit(1);
    return s;
}

static void plain_ask(sqlite3 *d, const char *name, const char *sql)
{
    sqlite3_stmt *s = NULL;
    size_t n = 0;
    mono_t start = clock_mono();
    if (sqlite3_prepare_v2(d, sql, -1, &s, NULL) != SQLITE_OK)
        exit(1);
    while (sqlite3_step(s) == SQLITE_ROW)
        n++;
    sqlite3_finalize(s);
    printf("%-46s %8.2f ms, %zu rows\n", name, since(start) * 1e3, n);
}

static void plain(const char *dir, size_t n)
{
    char path[4096];
    char sql[256];
    sqlite3 *d = NULL;
    snprintf(path, sizeof(path), "%s/plain.db", dir);
    made_rows_begin();
    if (sqlite3_open(path, &d) != SQLITE_OK)
        exit(1);
    sqlite3_stmt *s = plain_open(d);
    mono_t start = clock_mono();
    double cpu = cpu_s();
    double row_s = 0;
    for (size_t i = 0; i < n; i++) {
        const struct record *r = made_rows_get(i, end_of(i, n));
        if (i % ROWS_PER_COMMIT == 0)
            check(plain_exec(d, "BEGIN"), "begin");
        sqlite3_bind_int64(s, 1, r->started_at.us + r->total_ns / NS_PER_US);
        for (size_t k = 0; k < record_n_fields; k++)
            plain_bind(s, (int)k + 2, &record_fields[k], r);
        if (sqlite3_step(s) != SQLITE_DONE)
            exit(1);
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        if ((i + 1) % ROWS_PER_COMMIT == 0 || i + 1 == n)
            check(plain_exec(d, "COMMIT"), "commit");
        if ((i + 1) % (n / 5) == 0) {
            printf("  %9zu rows: %8.0f rows/s, %.2f us CPU a row (last fifth)\n", i + 1,
                   (double)n / 5 / (since(start) - row_s), (cpu_s() - cpu) * 1e6 / ((double)n / 5));
            row_s = since(start);
            cpu = cpu_s();
        }
    }
    printf("a SQL row per request, two indexes %9.0f rows/s\n", (double)n / since(start));
    printf("bytes a row on disk                %9.1f\n", (double)db_size(path) / (double)n);
    long long hour = day_us + INT64_C(3600) * (HOURS - 1) * US_PER_S;
    snprintf(sql, sizeof(sql),
             "SELECT * FROM requests WHERE end_us >= %lld ORDER BY e2e_ms DESC LIMIT 100", hour);
    plain_ask(d, "slowest 100 by e2e, last hour", sql);
    plain_ask(d, "newest 100 of an outcome of 1 %",
              "SELECT * FROM requests WHERE outcome = 1 ORDER BY end_us DESC LIMIT 100");
    plain_ask(d, "of a tenant that is nowhere, all",
              "SELECT * FROM requests WHERE tenant = 'nobody' ORDER BY end_us DESC LIMIT 100");
    snprintf(sql, sizeof(sql), "SELECT * FROM requests WHERE request_id = '%s'", wanted_id);
    plain_ask(d, "by id", sql);
    sqlite3_finalize(s);
    sqlite3_close(d);
}

int main(int argc, char **argv)
{
    uint64_t millions = 5;
    if (argc < 2 || (argc > 2 && num_parse_u64(span_cstr(argv[2]), &millions) < 0)) {
        fprintf(stderr, "usage: %s DIR [MILLIONS [plain]]\n", argv[0]);
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    day_us = clock_wall().us / (86400 * US_PER_S) * (86400 * US_PER_S);
    append(argv[1], millions * 1000000);
    questions(argv[1]);
    if (argc > 3 && strcmp(argv[3], "plain") == 0)
        plain(argv[1], millions * 1000000);
    return 0;
}
