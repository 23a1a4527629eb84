/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/admission_object.h - private to admission: the object that its files share.
 */
#ifndef GATEWAY_ADMISSION_OBJECT_H
#define GATEWAY_ADMISSION_OBJECT_H

#include <pthread.h>

#include "gateway/admission_queue.h"

struct share { /* what is in flight, of a class or in all */
    uint32_t n;
    uint64_t tokens;
};

struct admission {
    pthread_mutex_t lock;
    struct admission_limits limits;
    struct share total;
    struct lane {
        struct share share;
        struct admission_queue queue;
        uint64_t n_grants, n_queued, n_full, n_timeouts;
    } lanes[ADMISSION_CLASSES];
    int n_in_row; /* interactive grants while batch waited, since batch's last one */
    int64_t held_ns;
    uint64_t seed;
};

/* A ticket was put on p: wakes its worker. Under the lock, so that p cannot close meanwhile; a ring
 * per wake-up, not per ticket. */
void admission_port_ring(struct admission_port *p);

#endif
