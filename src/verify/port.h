/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/port.h - ports for programs that cannot tell which one they took.
 *
 * Threading: any.
 */
#ifndef VERIFY_PORT_H
#define VERIFY_PORT_H

#include "base/attr.h"
#include "base/err.h"

/* A port of loopback that was free a moment ago, below those that the kernel gives to whoever asks
 * for any: between now and then it would give it to somebody else. Negative errno with *reterr. */
int port_free(struct err *reterr) WARN_UNUSED;

#endif
