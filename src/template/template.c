/* SPDX-License-Identifier: Apache-2.0 */
#include "template/template.h"
