/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/rows_fill.c - fills a data directory with request rows, as bench/pages needs it.
 *
 *   rows_fill DIR MILLIONS HOURS      made-up rows (made_rows.h), evenly over the hours up to now
 *
 * Segments are made, and days closed, as they would have been while the rows came.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "fill.h"
#include "made_rows.h"
#include "store/rows.h"

enum { ROWS_PER_COMMIT = 2000, MILLION = 1000000 };

static void commit(struct rows *rows, int64_t now_us)
{
    int more;
    must(rows_commit(rows), "commit");
    while ((more = rows_maintain(rows, (wall_t){now_us})) > 0)
        ;
    must(more, "upkeep");
}

int main(int argc, char **argv)
{
    struct rows *rows = NULL;
    struct err err = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: %s DIR MILLIONS HOURS\n", argv[0]);
        return 2;
    }
    size_t n = (size_t)fill_number(argv[2]) * MILLION;
    int64_t length_us = (int64_t)fill_number(argv[3]) * 3600 * US_PER_S;
    int64_t start_us = clock_wall().us - length_us;
    must(rows_open(argv[1], NULL, &rows, &err), argv[1]);
    made_rows_begin();
    for (size_t i = 0; i < n; i++) {
        int64_t at_us = start_us + (int64_t)((double)i / (double)n * (double)length_us);
        must(rows_append(rows, made_rows_get(i, at_us)), "append");
        if ((i + 1) % ROWS_PER_COMMIT == 0 || i + 1 == n)
            commit(rows, at_us);
    }
    rows_close(rows);
    printf("%zu\n", n);
    return 0;
}
