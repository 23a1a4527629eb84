/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/slos_table.h - objectives as people read them: how soon they page, and how often for nothing.
 */
#ifndef CLI_SLOS_TABLE_H
#define CLI_SLOS_TABLE_H

#include <stdio.h>

#include "slo/slo.h"

/* Simulates n_months for each kind of objective. */
void slos_table_print(const struct slo *slos, size_t n, int n_months, FILE *out);

#endif
