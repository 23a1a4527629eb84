/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faultvfs.h - SQLite's file system, failing when the test wants it.
 *
 * Wraps the ordinary one. What fails is counted per kind, over all files and connections:
 *   FULL     writes and growing: SQLITE_FULL
 *   IOERR    reads, writes, syncs, truncations, sizes: SQLITE_IOERR_*
 *   BUSY     locks: SQLITE_BUSY
 *   CORRUPT  reads of the database file (not its WAL) succeed and give other bytes
 * Nothing is really synced: tests end processes, not power, and syncing takes most of their time.
 * Threading: settings from one thread while no statement runs; files from any.
 */
#ifndef FAULTVFS_H
#define FAULTVFS_H

#include <stdbool.h>
#include <stdint.h>

enum faultvfs_kind {
    FAULTVFS_FULL,
    FAULTVFS_IOERR,
    FAULTVFS_BUSY,
    FAULTVFS_CORRUPT,
    FAULTVFS_COUNT_
};

void faultvfs_install(void); /* SQLite's default from now on */
void faultvfs_remove(void);

/* The n-th call of that kind from now on fails (1 = the next), and all later ones if is_lasting. */
void faultvfs_fail(enum faultvfs_kind kind, uint64_t n, bool is_lasting);
void faultvfs_heal(void);

/* Calls of that kind, and failed calls, since faultvfs_fail or faultvfs_heal. */
uint64_t faultvfs_n_calls(enum faultvfs_kind kind);
uint64_t faultvfs_n_failed(void);

#endif
