/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/admission.h"

#include <errno.h>
#include <pthread.h>

#include "base/check.h"
#include "base/mem.h"

struct admission {
    pthread_mutex_t lock;
    uint64_t n_inflight;
    uint64_t tokens_inflight;
};

int admission_new(struct admission **ret)
{
    struct admission *a = mem_zalloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    *ret = a;
    return 0;
}

struct admission *admission_free(struct admission *a)
{
    if (!a)
        return NULL;
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
    return NULL;
}

enum admission_verdict admission_enter(struct admission *a, const struct admission_request *r)
{
    pthread_mutex_lock(&a->lock);
    a->n_inflight++;
    a->tokens_inflight += r->estimated_tokens;
    pthread_mutex_unlock(&a->lock);
    return ADMISSION_GRANTED;
}

void admission_leave(struct admission *a, const struct admission_request *r)
{
    pthread_mutex_lock(&a->lock);
    ASSERT(a->n_inflight > 0);
    a->n_inflight--;
    a->tokens_inflight -= r->estimated_tokens;
    pthread_mutex_unlock(&a->lock);
}

uint64_t admission_n_inflight(const struct admission *a)
{
    /* The lock is no part of the object's value. */
    union {
        const struct admission *in;
        struct admission *out;
    } u = {.in = a};
    uint64_t n;

    pthread_mutex_lock(&u.out->lock);
    n = a->n_inflight;
    pthread_mutex_unlock(&u.out->lock);
    return n;
}
