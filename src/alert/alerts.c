/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/alerts.h"
