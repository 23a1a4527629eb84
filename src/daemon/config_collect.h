/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config_collect.h - private to daemon/config*: keys of what is collected. */
#ifndef DAEMON_CONFIG_COLLECT_H
#define DAEMON_CONFIG_COLLECT_H

#include "daemon/config_items.h"

extern const struct config_item config_item_engine, config_item_kafka;
extern const struct config_type config_type_gpu;   /* enum config_gpu */
extern const struct config_type config_type_pages; /* a list of http(s) URLs */
extern const struct config_type config_type_page;  /* a URL, a path, auto, none */

#endif
