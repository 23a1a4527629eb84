/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/process.h - what the process uses: memory, descriptors, allocations; its threads.
 *
 * Threading: process_sample: any thread (those that serve scrapes and keep history); values go into
 *            base/stat.h.
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

/*
 * For a process that goes on for months: memory that was freed goes back to the system as soon as
 * 128 KiB of it lie together, and blocks from that size on are the system's (glibc would hold on to
 * up to 64 MiB after one large block). Before the first thread.
 */
void process_return_freed_memory(void);
/*
 * Pages of code and constants, of the program and its libraries, that the start read and nothing
 * may need again; what is needed is mapped again out of the page cache. A debugger's breakpoints in
 * them are lost.
 */
void process_forget_code_pages(void);

/* The calling thread's name for top, perf and debuggers: at most 15 bytes. */
void process_name_thread(const char *name);

#endif
