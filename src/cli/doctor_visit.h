/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor_visit.h - "inferometer doctor": why requests to an engine do not work, or not well.
 */
#ifndef CLI_DOCTOR_VISIT_H
#define CLI_DOCTOR_VISIT_H

int doctor_visit_main(int argc, char **argv);

#endif
