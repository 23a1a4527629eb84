/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harness.h - what every unit test includes first: cmocka with the headers it wants before it.
 *
 * A test file is one program. It exits 77 (harness_skip) when what it needs is not there, which
 * the test driver reports as skipped.
 */
#ifndef HARNESS_H
#define HARNESS_H

/* cmocka.h names types of these four without including them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/span.h"

enum { HARNESS_SKIPPED = 77 };

/* Asserts that got holds the same bytes as want; name says which row of a table failed. */
#define assert_span_equal(name, got, want) harness_assert_span(name, got, want, __FILE__, __LINE__)
void harness_assert_span(const char *name, struct span got, struct span want, const char *file,
                         int line);

/* Asserts ok; otherwise says which row of a table and which statement failed. */
#define assert_row(name, ok) harness_assert_row(name, ok, #ok, __FILE__, __LINE__)
void harness_assert_row(const char *name, int ok, const char *what, const char *file, int line);

#endif
