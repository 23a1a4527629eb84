/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config_prices.h - private to daemon/config*: what tokens cost. */
#ifndef DAEMON_CONFIG_PRICES_H
#define DAEMON_CONFIG_PRICES_H

#include "daemon/config_items.h"

extern const struct config_item config_item_price;
extern const struct config_type config_type_currency; /* three capital letters */

#endif
