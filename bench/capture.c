/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - stamps of the events that an engine sends over the loopback, as the network sees them.
 *
 * usage: capture PORT
 *
 * Listens on "lo" for TCP segments with content from PORT and prints "MONOTONIC_NS TO_PORT ID EVENTS"
 * for each: ID is the X-Request-Id of an answer that begins in it, or "-", EVENTS how often "data: "
 * stands in it. The kernel's receive stamp is mapped to CLOCK_MONOTONIC. Prints "ready" first; ends on
 * SIGTERM, with the number of packets that the kernel dropped on standard error. Needs CAP_NET_RAW
 * (exit status 77 without it).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SKIPPED = 77, RECEIVE_BUFFER = 64 << 20, ETHER_BYTES = 14, ID_MAX = 96 };

static volatile sig_atomic_t is_over;

static void on_term(int signal)
{
    (void)signal;
    is_over = 1;
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* realtime - monotonic, from the tightest of some samples. */
static int64_t offset_ns(void)
{
    int64_t best_width = INT64_MAX;
    int64_t best = 0;
    for (int i = 0; i < 20; i++) {
        int64_t before = now_ns(CLOCK_MONOTONIC);
        int64_t real = now_ns(CLOCK_REALTIME);
        int64_t width = now_ns(CLOCK_MONOTONIC) - before;
        if (width < best_width) {
            best_width = width;
            best = real - before - width / 2;
        }
    }
    return best;
}

/* Segments from that port that carry something: IPv4, no options looked at in the filter. */
static int filter(int fd, uint16_t port)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 3),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, ETHER_BYTES),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, ETHER_BYTES),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 65535),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int open_capture(uint16_t port)
{
    int on = 1;
    int size = RECEIVE_BUFFER;
    int fd = socket(AF_PACKET, SOCK_RAW, 0); /* nothing comes before bind names a protocol */
    if (fd < 0)
        return -1;
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex("lo")};
    if (filter(fd, port) < 0 || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The stamp that came with a message, or 0. */
static int64_t stamp_of(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        struct timespec t;
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS)
            continue;
        memcpy(&t, CMSG_DATA(c), sizeof(t));
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    return 0;
}

/* The X-Request-Id of an answer's head in this segment; n 0: there is none. */
static const char *request_id(const char *payload, size_t n, int *ret_n)
{
    static const char status[] = "HTTP/1.1 ";
    static const char field[] = "X-Request-Id: ";
    *ret_n = 0;
    if (n < sizeof(status) - 1 || memcmp(payload, status, sizeof(status) - 1) != 0)
        return payload;
    const char *id = memmem(payload, n, field, sizeof(field) - 1);
    if (!id)
        return payload;
    id += sizeof(field) - 1;
    const char *end = memchr(id, '\r', (size_t)(payload + n - id));
    *ret_n = end && end - id <= ID_MAX ? (int)(end - id) : 0;
    return id;
}

static int count(const char *payload, size_t n, const char *what)
{
    int found = 0;
    const char *end = payload + n;
    const char *p = memmem(payload, n, what, strlen(what));
    for (; p; p = memmem(p + 1, (size_t)(end - p - 1), what, strlen(what)))
        found++;
    return found;
}

/* Ethernet, IPv4 and TCP headers, whose lengths the filter has not looked at. */
static size_t payload_at(const char *packet, size_t n)
{
    size_t ip = ETHER_BYTES;
    size_t tcp = n > ip ? ip + (size_t)(packet[ip] & 0x0f) * 4 : n;
    size_t at = n > tcp + 12 ? tcp + (size_t)((unsigned char)packet[tcp + 12] >> 4) * 4 : n;
    return at < n ? at : n;
}

static void print_segment(const char *packet, size_t n, int64_t mono_ns)
{
    int n_id;
    size_t at = payload_at(packet, n);
    if (at == n)
        return;
    uint16_t to;
    memcpy(&to, packet + ETHER_BYTES + (size_t)(packet[ETHER_BYTES] & 0x0f) * 4 + 2, sizeof(to));
    const char *id = request_id(packet + at, n - at, &n_id);
    printf("%lld %u %.*s %d\n", (long long)mono_ns, ntohs(to), n_id > 0 ? n_id : 1,
           n_id > 0 ? id : "-", count(packet + at, n - at, "data: "));
}

int main(int argc, char **argv)
{
    static char packet[65536];
    struct sigaction action = {.sa_handler = on_term}; /* no SA_RESTART: recvmsg is to return */
    int fd = argc == 2 ? open_capture((uint16_t)atoi(argv[1])) : -1;
    if (argc != 2) {
        fputs("usage: capture PORT\n", stderr);
        return 2;
    }
    if (fd < 0) {
        fprintf(stderr, "could not capture: %s\n", strerror(errno));
        return errno == EPERM || errno == EACCES ? SKIPPED : 1;
    }
    sigaction(SIGTERM, &action, NULL);
    puts("ready");
    fflush(stdout);
    while (!is_over) {
        union {
            char bytes[CMSG_SPACE(sizeof(struct timespec))];
            struct cmsghdr align;
        } control;
        struct sockaddr_ll from;
        struct iovec iov = {packet, sizeof(packet)};
        struct msghdr m = {.msg_name = &from,
                           .msg_namelen = sizeof(from),
                           .msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes)};
        ssize_t n = recvmsg(fd, &m, 0);
        if (n > 0 && from.sll_pkttype == PACKET_HOST && stamp_of(&m) != 0)
            print_segment(packet, (size_t)n, stamp_of(&m) - offset_ns());
    }
    fflush(stdout);
    struct tpacket_stats stats = {0};
    socklen_t len = sizeof(stats);
    getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len);
    fprintf(stderr, "dropped %u\n", stats.tp_drops);
    return 0;
}
