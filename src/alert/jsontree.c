/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/jsontree.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"

/* jansson does not notice everywhere that it got nothing, and goes on with half of a text. */
static _Thread_local bool has_failed;

static void *take(size_t n)
{
    void *p = mem_alloc(n);
    has_failed = has_failed || !p;
    return p;
}

static void set_allocators(void)
{
    json_set_alloc_funcs(take, mem_free);
}

int jsontree_read(struct span text, json_t **ret, struct err *reterr)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_error_t e;
    pthread_once(&once, set_allocators);
    has_failed = false;
    json_t *root =
        json_loadb(text.p ? text.p : "", text.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    if (has_failed) {
        json_decref(root);
        return err_set(reterr, -ENOMEM, "out of memory");
    }
    if (root) {
        *ret = root;
        return 0;
    }
    return err_set(reterr, -EINVAL, "line %d, column %d: %s", e.line, e.column, e.text);
}

struct span jsontree_text(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_string(v))
        return SPAN("");
    return span_of(json_string_value(v), json_string_length(v));
}
