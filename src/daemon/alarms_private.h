/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms_private.h - private to daemon/alarms*: rules, alerts and incidents in one place.
 *
 * Threading: by member; what is under the lock is also only changed by the evaluator's thread, once
 *            it runs, and by alarms_configure.
 */
#ifndef DAEMON_ALARMS_PRIVATE_H
#define DAEMON_ALARMS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/alarms.h"
#include "daemon/usual.h"

/* What does not work, and when that was said. */
struct alarms_trouble {
    const char *what;
    mono_t said;
    bool is_said;
};

struct alarms {
    pthread_t thread;
    struct store *store;
    char *dir;
    char *admin; /* address of the admin listener, as bound */
    _Atomic bool must_stop;
    _Atomic uint64_t n_notices; /* that rules gave so far */
    bool has_thread;

    pthread_mutex_t lock; /* of the following; alerts and incidents are set once, by the thread */
    pthread_cond_t bell;
    struct config *config;
    struct alarms_files files; /* in force, or new */
    bool is_new;
    struct alerts *alerts;       /* NULL: the data directory is not ours yet */
    struct incidents *incidents; /* likewise */

    struct rules *rules; /* the thread's but for rules_write */
    struct usual usual;  /* the thread's, as is what follows */
    struct alarms_trouble no_alerts, no_incidents, no_rules;
    int incidents_error; /* of the last tick; 0 */
    char *url;           /* that links begin with; NULL: not known yet */
    bool must_load;      /* what was new could not be taken */
};

/*
 * alarms_url.c: alerting.external_url; where that is empty http://NAME:PORT with this host's name
 * and the port of admin, the address of the admin listener as bound ("" for a Unix socket).
 * Without "/" at the end. -ENOMEM; *ret: mem_free.
 */
int alarms_url(const char *configured, const char *admin, char **ret) WARN_UNUSED;

/* alarms_turn.c: the rules, which ask what is said there; the evaluator's thread. */
int alarms_rules_new(struct alarms *a, const struct rules_config *config) WARN_UNUSED;
void *alarms_run(void *alarms);

/* Once there, they stay until the end. */
struct incidents *alarms_incidents(struct alarms *a);

#endif
