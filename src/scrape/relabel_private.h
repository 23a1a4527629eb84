/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/relabel_private.h - a rule that was made. Private to relabel*.c.
 */
#ifndef SCRAPE_RELABEL_PRIVATE_H
#define SCRAPE_RELABEL_PRIVATE_H

#include "scrape/relabel.h"
#include "series/pattern.h"

struct relabel_rule {
    enum relabel_action action;
    const struct span *sources;
    size_t n_sources;
    struct span separator, target, replacement;
    uint64_t modulus;
    struct pattern *pattern; /* NULL: the action needs none */
};

#endif
