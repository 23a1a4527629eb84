/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review.h"
