/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakeclock.h - both clocks in the hands of the test.
 *
 * Install and remove while no other thread runs; advancing and reading are safe from any thread.
 */
#ifndef FAKECLOCK_H
#define FAKECLOCK_H

#include <stdint.h>

/* From now on the clocks stand at these values. mono_ns is not 0: that means "not set". */
void fakeclock_install(int64_t mono_ns, int64_t real_ns);
void fakeclock_remove(void);

void fakeclock_advance(int64_t ns);   /* both clocks */
void fakeclock_step_real(int64_t ns); /* the wall clock only, as an administrator would */

#endif
