/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - the other end of a connection, on a plain non-blocking socket: what it got so far and
 * whether the connection ended. Nothing here waits; PUMP turns the loop under test until a
 * condition holds, looking at the peers in between.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct peer {
    int fd;      /* -1: closed, or never open */
    bool is_eof; /* the other side's FIN was read */
    int error;   /* errno of a broken connection, or 0 */
    size_t n;    /* bytes got, zero-terminated text at p */
    char *p;
    size_t _cap;
};

/* A listening socket on 127.0.0.1 with a port of the kernel's choice. */
int peer_listen(uint16_t *ret_port);
int peer_listen_backlog(uint16_t *ret_port, int backlog);

void peer_adopt(struct peer *p, int fd);          /* fd becomes non-blocking */
void peer_connect(struct peer *p, uint16_t port); /* to 127.0.0.1, connected on return */
void peer_connect_small(struct peer *p,
                        uint16_t port);           /* the same, with a receive window of a few KiB */
bool peer_accept(struct peer *p, int listen_fd);  /* false: nobody there yet */
void peer_read(struct peer *p);                   /* all there is; none when closed */
void peer_read_some(struct peer *p, size_t max);  /* a slow reader */
size_t peer_write(struct peer *p, struct span s); /* what the kernel takes */
void peer_send(struct peer *p, const char *text); /* all of it, or the test fails */
struct span peer_got(const struct peer *p);
bool peer_has(const struct peer *p, const char *text); /* somewhere in what it got */
bool peer_is(const struct peer *p, const char *text);  /* exactly that */
size_t peer_count(const struct peer *p, const char *text);
bool peer_is_gone(const struct peer *p); /* FIN or error seen */
void peer_forget(struct peer *p);        /* what it got so far */
void peer_fin(struct peer *p);           /* half-close */
void peer_close(struct peer *p);
void peer_reset(struct peer *p);                              /* closes with RST */
void peer_done(struct peer *p);                               /* closes and frees; twice is fine */
void peer_buffers(int fd, int send_bytes, int receive_bytes); /* 0: as it is */

int fd_count(void); /* descriptors open in this process */
int64_t peer_now_ms(void);

enum { PUMP_LIMIT_MS = 5000 };

/* Turns loop until cond holds; poll is a statement that looks at the peers after each turn. */
#define PUMP(loop, poll, cond)                                                                     \
    do {                                                                                           \
        int64_t pump_end_ = peer_now_ms() + PUMP_LIMIT_MS;                                         \
        for (;;) {                                                                                 \
            poll;                                                                                  \
            if (cond)                                                                              \
                break;                                                                             \
            if (peer_now_ms() > pump_end_)                                                         \
                fail_msg("%s:%d: waited in vain for: %s", __FILE__, __LINE__, #cond);              \
            loop_turn(loop, INT64_C(1000000));                                                     \
        }                                                                                          \
    } while (0)

/* n turns in which nothing is waited for. */
#define TURNS(loop, poll, n)                                                                       \
    do {                                                                                           \
        for (int turn_ = 0; turn_ < (n); turn_++) {                                                \
            loop_turn(loop, 0);                                                                    \
            poll;                                                                                  \
        }                                                                                          \
    } while (0)

#endif
