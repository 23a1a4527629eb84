/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/rng.h"

/* The port, where 0 is any; negative errno: it is not to be had. */
static int try_port(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_ok = fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 &&
                 getsockname(fd, (struct sockaddr *)&at, &len) == 0;
    int r = is_ok ? ntohs(at.sin_port) : -errno;

    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* The first of the ports that the kernel gives to whoever asks for any. */
static int first_given_port(void)
{
    struct buf text;
    struct span rest;
    uint64_t first = 0;

    buf_init(&text, 4 * KIB);
    if (file_read("/proc/sys/net/ipv4/ip_local_port_range", 4 * KIB, &text) == 0) {
        rest = buf_span(&text);
        if (num_parse_u64(span_split(&rest, '\t'), &first) < 0)
            first = 0;
    }
    buf_done(&text);
    return first < 65536 ? (int)first : 0;
}

int port_free(struct err *reterr)
{
    enum { TRIES = 100, BELOW = 12000, LOWEST = 1024 };
    int end = first_given_port(), begin = end - BELOW > LOWEST ? end - BELOW : LOWEST;
    struct rng rng;
    int r = -EADDRINUSE;

    rng_seed_random(&rng);
    for (int i = 0; i < TRIES && r < 0 && end > begin; i++)
        r = try_port(begin + (int)rng_below(&rng, (uint64_t)(end - begin)));
    if (r < 0)
        r = try_port(0);
    return r >= 0 ? r : err_set(reterr, r, "no port could be had: %s", err_str(r));
}
