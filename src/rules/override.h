/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/override.h - labels and annotations that a rule gives to what its expression returns.
 *
 * Texts:     a template that fails gives "<error expanding template: why>", as Prometheus does, so
 *            that an alert is never lost for the sake of its annotation.
 * Ownership: results are in the arena that is given.
 * Errors:    -ENOMEM, also when the arena's budget is used up.
 * Threading: pure.
 */
#ifndef RULES_OVERRIDE_H
#define RULES_OVERRIDE_H

#include "template/template.h"

/* A label that is set, or with an empty value removed. */
struct override {
    struct span name, value;
    const struct template *template; /* NULL: value as it is; else value is its text */
};

/* base with all of set (sorted by name, unique), whose templates are not looked at. */
int override_apply(struct arena *a, struct labels base, const struct override *set, size_t n,
                   struct labels *ret) WARN_UNUSED;

/* set with its values expanded; set itself where there is no template. out: scratch. */
int override_expand(struct arena *a, const struct override *set, size_t n,
                    const struct template_env *env, struct buf *out,
                    const struct override **ret) WARN_UNUSED;

/* Names and values as pairs, empty ones among them. */
int override_pairs(struct arena *a, const struct override *set, size_t n,
                   struct labels *ret) WARN_UNUSED;

/* The text that stands for a template that does not work. */
int override_error(struct arena *a, const char *why, struct span *ret) WARN_UNUSED;

#endif
