/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor_show.h - a report of the doctor, for people and for programs.
 *
 * Errors: -ENOMEM, -EMSGSIZE.
 */
#ifndef CLI_DOCTOR_SHOW_H
#define CLI_DOCTOR_SHOW_H

#include "base/buf.h"
#include "doctor/doctor.h"

/* The main cause, then a line per result and its remedy. */
int doctor_show_table(const struct doctor_report *r, struct buf *out) WARN_UNUSED;
/* {"verdict", "summary", "cause", "url", "api", "results": [...]} */
int doctor_show_json(const struct doctor_report *r, struct buf *out) WARN_UNUSED;

#endif
