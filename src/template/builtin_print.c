/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_print.c - print, printf, println.
 */
#include "template/builtin.h"
#include "template/verb.h"

static int call_print(struct builtin_call *c, const struct tvalue *args, size_t n,
                      struct tvalue *ret)
{
    return builtin_text(c, verb_print_all(args, n, false, &c->scratch), ret);
}

static int call_println(struct builtin_call *c, const struct tvalue *args, size_t n,
                        struct tvalue *ret)
{
    return builtin_text(c, verb_print_all(args, n, true, &c->scratch), ret);
}

static int call_printf(struct builtin_call *c, const struct tvalue *args, size_t n,
                       struct tvalue *ret)
{
    return builtin_text(c, verb_printf(args[0].s, args + 1, n - 1, &c->scratch), ret);
}

const struct builtin builtin_print_rows[] = {
    {.name = "print", .takes = "a*", .call = call_print},
    {.name = "println", .takes = "a*", .call = call_println},
    {.name = "printf", .takes = "sa*", .call = call_printf},
    {.name = NULL},
};
