/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/gpu_smi_table.h - what nvidia-smi is asked for, and its rows read.
 *
 * Role:      fields of --query-gpu under the names of all drivers, in base units; rows of its CSV
 *            ("csv,noheader,nounits") into readings.
 * Missing:   what stands in brackets ("[N/A]", "[Not Supported]", "[Unknown Error]") or is no
 *            number.
 * Threading: pure.
 * Source:    nvidia-smi --help-query-gpu of drivers 470 to 590.
 */
#ifndef COLLECT_GPU_SMI_TABLE_H
#define COLLECT_GPU_SMI_TABLE_H

#include "collect/gpu_reading.h"

enum { GPU_SMI_COLUMNS_MAX = 40, GPU_SMI_ARGUMENT_BYTES = 2048 };

/* The fields that are asked for, in their order. */
struct gpu_smi_columns {
    struct {
        uint8_t field; /* of the table */
        uint8_t name;  /* which of its names */
    } at[GPU_SMI_COLUMNS_MAX];
    size_t n;
};

/* Every field under its newest name. */
void gpu_smi_columns_all(struct gpu_smi_columns *c);
/* Those that a --help-query-gpu lists; 0 when it lists none of them. */
size_t gpu_smi_columns_known(struct gpu_smi_columns *c, struct span help);
/* Asks for that field under its next name, or not at all; false: it is not asked for. */
bool gpu_smi_columns_refuse(struct gpu_smi_columns *c, struct span name);
/* The field that a message refuses (`Field "x" is not a valid field to query.`); empty: none. */
struct span gpu_smi_table_refused(struct span said);
/* "--query-gpu=index,uuid,..." */
void gpu_smi_columns_print(const struct gpu_smi_columns *c, char *to, size_t cap);

/* False: the line is no row of this query. row counts from 0, where there is no index. */
bool gpu_smi_table_row(const struct gpu_smi_columns *c, struct span line, size_t row,
                       struct gpu_reading *ret);
/* A row of --query-compute-apps=gpu_uuid,pid,used_memory. */
bool gpu_smi_table_process(struct span line, struct span *ret_uuid, uint32_t *ret_pid,
                           double *ret_bytes);

#endif
