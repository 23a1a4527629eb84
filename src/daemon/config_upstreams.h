/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config_upstreams.h - private to daemon/config*: the keys of an upstream. */
#ifndef DAEMON_CONFIG_UPSTREAMS_H
#define DAEMON_CONFIG_UPSTREAMS_H

#include "daemon/config_items.h"

extern const struct config_item config_item_upstream; /* of struct config_upstream */

#endif
