/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what a fuzz target defines. Built with libFuzzer (scripts/fuzz), and with replay.c as an
 * ordinary test that runs the seeds.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0. Must not keep anything between two calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
