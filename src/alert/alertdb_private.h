/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alertdb_private.h - between writing (alertdb.c) and reading (alertdb_read.c).
 */
#ifndef ALERT_ALERTDB_PRIVATE_H
#define ALERT_ALERTDB_PRIVATE_H

#include "alert/alertdb.h"

enum alertdb_statement {
    PUT_ALERT,
    PUT_EVIDENCE,
    LIST_ALERTS,
    DROP_ALERT,
    PUT_TOLD,
    DROP_TOLD,
    PUT_SILENCE,
    DROP_SILENCE,
    DROP_HELD,
    PUT_HELD,
    ALERTDB_STATEMENTS,
};

struct alertdb {
    struct db *db;
    sqlite3_stmt *statements[ALERTDB_STATEMENTS];
};

#endif
