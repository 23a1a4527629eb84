/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_nvml.h - what a test tells the made-up NVML (libfake_nvml.so) to do. The library exports its
 * one struct fake_nvml as "fake_nvml".
 */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAKE_DEVICES = 4, FAKE_EVENTS = 64, FAKE_PROCESSES = 300 };

enum fake_values {
    FAKE_GOOD,
    FAKE_ALL_BITS,  /* every number has all bits set */
    FAKE_LARGEST,   /* the largest signed number of its width */
    FAKE_GARBAGE,   /* pseudo-random bits, texts without an end, counts that are not true */
    FAKE_UNTOUCHED, /* success, and nothing is written */
};

struct fake_event {
    uint32_t device;
    uint64_t xid;
};

struct fake_nvml {
    uint32_t n_devices;
    bool is_mig[FAKE_DEVICES]; /* instances 1 and 2/0, 2/1 */
    int device_code[FAKE_DEVICES];
    enum fake_values values;
    const char *failing; /* the function that returns code; "": all */
    int code;
    int n_calls_good;    /* of device 0, before it is lost; 0: never is */
    const char *hanging; /* the function that does not come back until it is let go */
    atomic_bool is_hanging, is_let_go;
    struct fake_event events[FAKE_EVENTS];
    uint32_t n_events, n_taken;
    bool has_nvlink5;        /* with four links */
    bool has_wide_processes; /* their entries have 32 bytes */
    uint32_t n_processes;    /* pids 100, 101, ... of each device */
    /* What was done. */
    int n_calls, n_begun, n_shut, n_sets;
};

#endif
