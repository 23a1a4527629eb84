/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config_labels.h - private to daemon/config*: the keys of a business label. */
#ifndef DAEMON_CONFIG_LABELS_H
#define DAEMON_CONFIG_LABELS_H

#include "daemon/config_items.h"

extern const struct config_item config_item_label; /* of struct config_label */

/* What policy makes of them: *ret has one reference, NULL where there are none. -ENOMEM. */
int config_labels_build(const struct config_labels *labels, struct business **ret) WARN_UNUSED;

#endif
