/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/attr.h - compiler attributes and small macros that every module uses.
 */
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#include <stddef.h>

#define WARN_UNUSED       __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NORETURN          __attribute__((noreturn))
/* A scratch buffer that is written before it is read: not worth clearing on a hot path. */
#if defined(__clang__) || __GNUC__ >= 12
#define UNINITIALIZED __attribute__((uninitialized))
#else
#define UNINITIALIZED
#endif
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The struct that embeds `member` at ptr. */
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
