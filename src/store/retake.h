/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/retake.h - blocks of a spill file into the database.
 *
 * Role:      the way back, of our own spill file and of those that others left (store/aside.h).
 * Threading: as the spill file and the rows.
 */
#ifndef STORE_RETAKE_H
#define STORE_RETAKE_H

#include "store/rows.h"
#include "store/spill.h"

/*
 * Some blocks. 1: there may be more; 0: none waits; an error is the database's, and the block waits
 * on. Where the rest of the file cannot be read it is given up, and *n_given_up grows by its rows.
 */
int retake_blocks(struct spill *spill, struct rows *rows, bool is_of_other,
                  uint64_t *n_given_up) WARN_UNUSED;

#endif
