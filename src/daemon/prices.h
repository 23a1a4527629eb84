/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/prices.h - what tokens cost, as the configuration has it, for pages.
 *
 * Units:     of the currency, for PRICES_TOKENS tokens.
 * Threading: pure.
 */
#ifndef DAEMON_PRICES_H
#define DAEMON_PRICES_H

#include "base/jsonw.h"
#include "daemon/config.h"

enum { PRICES_TOKENS = 1000000 };
#define PRICES_AS_PROMPT (-1.0) /* cached tokens cost what the others do */

/* "currency", "tokens", "models": [{model, prompt, cached, completion}], the most particular first,
 * into the object that is open in w. */
void prices_write(const struct config *c, struct jsonw *w); /* jsonw_fail: out of memory */

#endif
