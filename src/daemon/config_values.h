/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_values.h - private to daemon/config*: values to text, and what all setters share.
 *
 * Threading: plain values.
 */
#ifndef DAEMON_CONFIG_VALUES_H
#define DAEMON_CONFIG_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"
#include "daemon/config_keys.h"

/* The shortest text that reads back as the same value: "10m", "75s", "1MiB". cap: 32 and up. */
void config_values_duration(int64_t ns, char *dst, size_t cap);
void config_values_bytes(uint64_t bytes, char *dst, size_t cap);

/* A YAML scalar that reads back as this text; in quotes only where needed. */
int config_values_text(struct span text, struct buf *out) WARN_UNUSED;

/* 0 when node is a scalar that is not null; else -EINVAL, and the mistake is listed. */
int config_values_need_scalar(const struct config_source *source, const struct config_key *key,
                              const struct yaml_node *node) WARN_UNUSED;

/* The same for a mapping. */
int config_values_need_map(const struct config_source *source, const struct config_key *key,
                           const struct yaml_node *node) WARN_UNUSED;

/* A scalar without control characters and of at most max bytes, owned by the caller. */
int config_values_take_text(const struct config_source *source, const struct config_key *key,
                            const struct yaml_node *node, size_t max, char **ret) WARN_UNUSED;

/* Parse with the message; no bounds. */
int config_values_parse_duration(const struct config_source *source, const struct config_key *key,
                                 const struct yaml_node *node, int64_t *ret_ns) WARN_UNUSED;

/* "a list", "a mapping", "a text". */
const char *config_values_kind(const struct yaml_node *node);

#endif
