/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_page.h - a /metrics page as far as the doctor needs it: read, recognised, its
 * histograms.
 */
#ifndef DOCTOR_DOCTOR_PAGE_H
#define DOCTOR_DOCTOR_PAGE_H

#include <stdbool.h>

#include "engine/signals.h"
#include "scrape/families.h"

struct doctor_page {
    bool is_read;
    struct families families; /* where is_read */
    struct engine_page engine;
};
/* -ENOMEM, -E2BIG. body of that type. */
int doctor_page_read(struct doctor_page *p, struct span body, struct span type,
                     struct arena *a) WARN_UNUSED;
void doctor_page_done(struct doctor_page *p);

/* A histogram of durations, all its label sets together, whose last finite bucket leaves out more
 * than 1 % of at least DOCTOR_SAMPLES_MIN samples. Both in the family's unit. */
enum { DOCTOR_SAMPLES_MIN = 20 };
struct doctor_overflow {
    const struct page_family *family;
    double last_bound; /* the largest finite one */
    double share;      /* of samples above it */
    double n;
};
/* The next one from *at (0 at first) on; false: there is none. */
bool doctor_page_overflow(const struct doctor_page *p, size_t *at, struct doctor_overflow *ret);

#endif
