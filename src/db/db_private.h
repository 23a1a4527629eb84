/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db/db_private.h - what the files of this module share.
 */
#ifndef DB_DB_PRIVATE_H
#define DB_DB_PRIVATE_H

#include "db/db.h"

/* Brings a freshly opened connection to the schema's version (DB_WRITE), or checks that it has it.
 * -EPROTO, or what SQLite says. */
int db_migrate(struct db *d, const struct db_schema *schema, enum db_mode mode,
               struct err *reterr) WARN_UNUSED;

#endif
