/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor.h - "inferometer doctor": why requests to an engine do not work, or not well.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

int doctor_main(int argc, char **argv);

#endif
