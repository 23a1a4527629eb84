/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/process.h - what the process uses: memory, descriptors, allocations; its threads.
 *
 * Threading: process_sample: one thread (the one that serves scrapes); values go into base/stat.h.
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <pthread.h>

#include "base/attr.h"

/* Reads /proc/self and the allocation counters. What cannot be read keeps its last value. */
void process_sample(void);

/* A thread that gets no signals: those are for the threads that wait for them. attr may be NULL. */
int process_start_thread(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *arg),
                         void *arg) WARN_UNUSED;

/* The calling thread's name for top, perf and debuggers: at most 15 bytes. */
void process_name_thread(const char *name);

#endif
