/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/process.h - what the process uses: memory, descriptors, allocations.
 *
 * Threading: one thread (the one that serves scrapes); values go into base/stat.h.
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

/* Reads /proc/self and the allocation counters. What cannot be read keeps its last value. */
void process_sample(void);

#endif
