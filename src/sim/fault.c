/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/fault.h"

#include "wire/chunked.h"

static int raw_send(struct http_server_conn *c, const struct span *parts, int n)
{
    struct iovec iov[2];

    for (int i = 0; i < n; i++) {
        union {
            const char *in;
            void *out;
        } u = {.in = parts[i].p};
        iov[i] = (struct iovec){.iov_base = u.out, .iov_len = parts[i].n};
    }
    return sock_send(&c->_sock, iov, n, NULL);
}

int fault_raw(struct http_server_conn *c, struct span bytes)
{
    return raw_send(c, &bytes, 1);
}

int fault_head_is_out(struct http_server_conn *c, struct http_framing framing)
{
    c->_is_answered = true;
    return http_writer_start(&c->_out, &c->_sock, (struct span){0}, framing, NULL, 0, false, NULL);
}

void fault_half_chunk(struct http_server_conn *c, struct span bytes)
{
    char head[32];
    struct span parts[2] = {span_of(head, chunked_head(bytes.n, head)),
                            span_of(bytes.p, bytes.n / 2)};
    int r = raw_send(c, parts, 2);

    (void)r; /* sent or not, it ends here */
}

void fault_close_after(struct http_server_conn *c)
{
    c->_keep_alive = false;
}

void fault_reset(struct http_server_conn *c)
{
    sock_close(&c->_sock, true);
    http_server_end(c);
}
