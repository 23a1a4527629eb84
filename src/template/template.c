/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/template.c - the ways in and out of a parsed template.
 */
#include "template/template.h"

#include <errno.h>

#include "base/mem.h"
#include "template/tparser.h"

struct template *template_free(struct template *t)
{
    if (!t)
        return NULL;
    arena_done(&t->arena);
    mem_free(t);
    return NULL;
}

static int parse(struct template *t, struct span text, struct err *err)
{
    struct tparser p = {.t = t, .err = err};
    t->text = arena_dup(&t->arena, text);
    return t->text.p ? tparser_run(&p) : -ENOMEM;
}

int template_parse(struct span text, struct template **ret, struct err *reterr)
{
    struct err err;
    struct template *t;
    int r;

    if (text.n > TEMPLATE_TEXT_MAX)
        return err_set(reterr, -E2BIG, "the template is longer than %d bytes", TEMPLATE_TEXT_MAX);
    t = mem_zalloc(1, sizeof(*t));
    if (!t)
        return err_set(reterr, -ENOMEM, "%s", err_str(-ENOMEM));
    arena_init(&t->arena, NULL);
    r = parse(t, text, &err);
    if (r == -ENOMEM)
        (void)err_set(&err, r, "%s", err_str(r));
    if (r == 0)
        *ret = t;
    else
        template_free(t);
    if (r != 0 && reterr)
        *reterr = err;
    return r;
}

bool template_is_plain(const struct template *t)
{
    return span_find(t->text, SPAN("{{")) == t->text.n;
}
