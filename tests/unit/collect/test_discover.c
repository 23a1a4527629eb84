/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/discover.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/buf.h"
#include "harness.h"
#include "memfail.h"
#include "tempdir.h"

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* "address{labels}{meta} ..." */
static void assert_finding(const struct finding *f, const char *want)
{
    struct buf b;
    buf_init(&b, 65536);
    for (size_t i = 0; i < f->n; i++) {
        assert_int_equal(buf_printf(&b, "%s%.*s", i > 0 ? " " : "", SPAN_ARG(f->at[i].address)), 0);
        assert_int_equal(labels_print(f->at[i].group, &b), 0);
        if (f->at[i].meta.n > 0)
            assert_int_equal(labels_print(f->at[i].meta, &b), 0);
    }
    assert_span_equal(want, buf_span(&b), span_cstr(want));
    buf_done(&b);
}

/* Looks; what there is then. changes: -1: whatever. */
static void look(struct discover *d, struct finding **now, int changes)
{
    struct finding *f = NULL;
    int r = discover_look(d, &f);
    if (r != changes)
        fail_msg("%d: %s", r, discover_words(d));
    if (r == 1) {
        finding_unref(*now);
        *now = f;
    }
}

struct files {
    struct tempdir dir;
    char patterns[2][128];
    struct span spans[2];
    struct scrape_files sf;
    char meta[2][200];
};

static void files_init(struct files *f)
{
    tempdir_make(&f->dir);
    (void)snprintf(f->patterns[0], sizeof(f->patterns[0]), "%s/*.yml", f->dir.path);
    (void)snprintf(f->patterns[1], sizeof(f->patterns[1]), "%s/one.json", f->dir.path);
    for (int i = 0; i < 2; i++)
        f->spans[i] = span_cstr(f->patterns[i]);
    f->sf = (struct scrape_files){f->spans, 2, 60000};
}

static void test_files(void **state)
{
    struct finding *now = NULL;
    struct discover *d;
    struct files f;
    char want[600];
    (void)state;
    files_init(&f);
    assert_int_equal(discover_of_files(&f.sf, &d), 0);
    assert_int_equal(discover_refresh_ms(d), 60000);
    look(d, &now, 1);
    assert_int_equal(now->n, 0);
    write_text(tempdir_file(&f.dir, "a.yml"), "- targets: [b:1, a:1]\n  labels: {zone: eu}\n");
    write_text(tempdir_file(&f.dir, "one.json"), "[{\"targets\": [\"c:1\"]}]");
    write_text(tempdir_file(&f.dir, "b.yaml"), "- targets: [other:1]\n");
    look(d, &now, 1);
    (void)snprintf(want, sizeof(want),
                   "a:1{zone=\"eu\"}{__meta_filepath=\"%s/a.yml\"} "
                   "b:1{zone=\"eu\"}{__meta_filepath=\"%s/a.yml\"} "
                   "c:1{}{__meta_filepath=\"%s/one.json\"}",
                   f.dir.path, f.dir.path, f.dir.path);
    assert_finding(now, want);
    look(d, &now, 0);
    /* The same in other words is no change. */
    write_text(tempdir_file(&f.dir, "one.json"), "[ {\"targets\": [\"c:1\"], \"labels\": {}} ]");
    look(d, &now, 0);
    assert_string_equal(discover_words(d), "");
    /* Broken: as it was, and the others go on. */
    write_text(tempdir_file(&f.dir, "a.yml"), "- targets: [b:1\n");
    write_text(tempdir_file(&f.dir, "z.yml"), "- targets: [z:1]\n");
    look(d, &now, 1);
    assert_int_equal(now->n, 4);
    assert_non_null(strstr(discover_words(d), "a.yml:"));
    assert_non_null(strstr(discover_words(d), "as they were"));
    look(d, &now, 0);
    assert_true(discover_words(d)[0] != '\0');
    write_text(tempdir_file(&f.dir, "a.yml"), "- targets: [d:1]\n");
    look(d, &now, 1);
    assert_string_equal(discover_words(d), "");
    assert_int_equal(now->n, 3);
    assert_int_equal(unlink(tempdir_file(&f.dir, "a.yml")), 0);
    assert_int_equal(unlink(tempdir_file(&f.dir, "z.yml")), 0);
    look(d, &now, 1);
    assert_int_equal(now->n, 1);
    discover_free(d);
    assert_span_equal("it lives on", now->at[0].address, SPAN("c:1")); /* whoever holds it has it */
    finding_unref(now);
    tempdir_remove(&f.dir);
}

static int look_without_memory(void *ctx)
{
    struct files *f = ctx;
    struct finding *found = NULL;
    struct discover *d = NULL;
    int r = discover_of_files(&f->sf, &d);
    if (r == 0)
        r = discover_look(d, &found);
    assert_true(r >= 0 || (r == -ENOMEM && !found));
    finding_unref(found);
    discover_free(d);
    return r < 0 ? r : 0;
}

static void test_no_memory(void **state)
{
    struct files f;
    (void)state;
    files_init(&f);
    write_text(tempdir_file(&f.dir, "a.yml"), "- targets: [b:1, a:1]\n  labels: {zone: eu}\n");
    assert_true(memfail_each(look_without_memory, &f) > 10);
    tempdir_remove(&f.dir);
}

/* --- DNS: a name server of the test's own --- */

enum { MODE_ANSWERS, MODE_FAILS };
static struct {
    int fd;
    struct sockaddr_in at;
    pthread_t thread;
    atomic_int mode;
    atomic_int n_records; /* so many of each kind */
} server;

static size_t put16(unsigned char *p, unsigned v)
{
    p[0] = (unsigned char)(v >> 8);
    p[1] = (unsigned char)v;
    return 2;
}

static size_t put_name(unsigned char *p, const char *name)
{
    size_t n = 0;
    for (struct span left = span_cstr(name); left.n > 0;) {
        struct span part = span_split(&left, '.');
        p[n++] = (unsigned char)part.n;
        memcpy(p + n, part.p, part.n);
        n += part.n;
    }
    p[n++] = 0;
    return n;
}

static size_t put_data(unsigned char *p, unsigned type, int i)
{
    char host[32];
    size_t n = 0;
    (void)snprintf(host, sizeof(host), "h%d.example", i);
    switch (type) {
    case ns_t_srv:
        n += put16(p, 1);
        n += put16(p + n, 1);
        n += put16(p + n, (unsigned)(8000 + i));
        return n + put_name(p + n, host);
    case ns_t_mx:
        n += put16(p, 10);
        return n + put_name(p + n, host);
    case ns_t_a:
        memcpy(p, (unsigned char[]){10, 0, 0, (unsigned char)i}, 4);
        return 4;
    default:
        memset(p, 0, 16);
        p[15] = (unsigned char)i;
        return 16;
    }
}

/* q: n bytes of a question; becomes the answer. */
static size_t answer(unsigned char *q, size_t n)
{
    unsigned type = (unsigned)(q[n - 4] << 8 | q[n - 3]);
    bool is_known = memcmp(q + 13, "some", 4) == 0;
    int n_records = is_known ? atomic_load(&server.n_records) : 0;
    size_t at = n;
    q[2] = 0x84;
    q[3] = (unsigned char)(0x80 | (atomic_load(&server.mode) == MODE_FAILS ? 2 : is_known ? 0 : 3));
    (void)put16(q + 10, 0); /* nothing additional */
    if (atomic_load(&server.mode) == MODE_FAILS)
        n_records = 0;
    (void)put16(q + 6, (unsigned)n_records);
    for (int i = n_records; i > 0; i--) { /* in whatever order */
        at += put16(q + at, 0xc00c);
        at += put16(q + at, type);
        at += put16(q + at, ns_c_in);
        at += put16(q + at, 0);
        at += put16(q + at, 60);
        size_t length = put_data(q + at + 2, type, i);
        (void)put16(q + at, (unsigned)length);
        at += 2 + length;
    }
    return at;
}

static void *serve(void *arg)
{
    unsigned char p[2048];
    (void)arg;
    for (;;) {
        struct sockaddr_in from;
        socklen_t n_from = sizeof(from);
        ssize_t n = recvfrom(server.fd, p, 512, 0, (struct sockaddr *)&from, &n_from);
        if (n < 17) /* the test's own word that it is over */
            return NULL;
        if (p[11] > 0) /* without the options behind the question */
            n -= 11;
        size_t n_answer = answer(p, (size_t)n);
        (void)sendto(server.fd, p, n_answer, 0, (struct sockaddr *)&from, n_from);
    }
}

static int start_server(void **state)
{
    socklen_t n = sizeof(server.at);
    (void)state;
    server.fd = socket(AF_INET, SOCK_DGRAM, 0);
    server.at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(server.fd, (struct sockaddr *)&server.at, n), 0);
    assert_int_equal(getsockname(server.fd, (struct sockaddr *)&server.at, &n), 0);
    return pthread_create(&server.thread, NULL, serve, NULL);
}

static int stop_server(void **state)
{
    (void)state;
    (void)sendto(server.fd, "", 1, 0, (struct sockaddr *)&server.at, sizeof(server.at));
    (void)pthread_join(server.thread, NULL);
    return close(server.fd);
}

static void test_dns(void **state)
{
    static const struct {
        enum scrape_dns_type type;
        const char *one;
    } rows[] = {
        {SCRAPE_DNS_SRV, "h1.example:8001{}{__meta_dns_name=\"some.test\", "
                         "__meta_dns_srv_record_port=\"8001\", "
                         "__meta_dns_srv_record_target=\"h1.example.\"}"},
        {SCRAPE_DNS_A, "10.0.0.1:99{}{__meta_dns_name=\"some.test\"}"},
        {SCRAPE_DNS_AAAA, "[::1]:99{}{__meta_dns_name=\"some.test\"}"},
        {SCRAPE_DNS_MX, "h1.example:99{}{__meta_dns_mx_record_target=\"h1.example.\", "
                        "__meta_dns_name=\"some.test\"}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct span names[] = {SPAN_INIT("some.test"), SPAN_INIT("none.test")};
        const struct scrape_dns dns = {names, 2, rows[i].type, 99, 1000};
        struct finding *now = NULL;
        struct discover *d;
        atomic_store(&server.mode, MODE_ANSWERS);
        atomic_store(&server.n_records, 1);
        assert_int_equal(discover_of_dns(&dns, &d), 0);
        discover_ask(d, &server.at);
        look(d, &now, 1);
        assert_string_equal(discover_words(d), "");
        assert_finding(now, rows[i].one);
        atomic_store(&server.n_records, 5);
        look(d, &now, 1);
        assert_int_equal(now->n, 5);
        /* A server that fails: as it was. */
        atomic_store(&server.mode, MODE_FAILS);
        look(d, &now, 0);
        assert_non_null(strstr(discover_words(d), "\"some.test\" could not be looked up"));
        atomic_store(&server.mode, MODE_ANSWERS);
        look(d, &now, 0);
        assert_string_equal(discover_words(d), "");
        /* No records any more: no targets. */
        atomic_store(&server.n_records, 0);
        look(d, &now, 1);
        assert_int_equal(now->n, 0);
        discover_free(d);
        finding_unref(now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test_setup_teardown(test_dns, start_server, stop_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
