/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/environment.h - the few variables that a program gets which this one starts.
 *
 * Role:      our own environment may have keys of upstreams, passwords of Kafka: none of a child's
 *            business. It gets what finds programs, libraries and its files, and nothing else.
 * Ownership: pointers into environ, valid until it is changed.
 * Threading: any, while nobody changes the environment.
 */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H

#include <stddef.h>

/* Those of names (up to a NULL) that are set, as "NAME=VALUE", and a NULL; as many as cap has room
 * for. Returns their number. */
size_t environment_pick(const char *const *names, char **dst, size_t cap);

#endif
