/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_status.h - what an HTTP status means, given who it is from and what was asked.
 *
 * Threading: pure.
 */
#ifndef DOCTOR_DOCTOR_STATUS_H
#define DOCTOR_DOCTOR_STATUS_H

#include <stdbool.h>

#include "base/span.h"
#include "doctor/doctor_cause.h"
#include "doctor/doctor_net.h"

/* CAUSE_NO_CAUSE: a success that is no web page. */
enum doctor_cause doctor_status_cause(const struct doctor_answer *a);

/* A 404 that is about the model, not about the path. */
bool doctor_is_model_unknown(const struct doctor_answer *a);

/* A web page: by type, or by how the body begins. */
bool doctor_is_page(const struct doctor_answer *a);

/* Who seems to stand in front, by the fields that they add: "nginx", "Cloudflare"; NULL: nobody
 * known. *ret_advice: how they are told not to hold streams back. */
const char *doctor_hop(const struct doctor_answer *a, const char **ret_advice);

/* A certificate that should have been renewed by now: of those that are not made for days only. */
bool doctor_expires_soon(int64_t from_s, int64_t until_s, int64_t now_s);

/* The clock here minus that of the server, by Date; false: it does not tell. */
bool doctor_skew(const struct doctor_answer *a, int64_t *ret_s);

#endif
