/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector against a small HTTP server of the test's own.
 */
#include "collect/collector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/schedule.h"
#include "pagetest.h"
#include "tempdir.h"

enum { WAIT_MS = 10000, PATHS = 4 };

/* --- pages: /0 to /3, each as the test wants it --- */

static struct {
    int fd;
    uint16_t port;
    pthread_t thread;
    atomic_int hangs[PATHS]; /* no answer */
    atomic_int value[PATHS]; /* of the series "page"; -1: status 500 */
    atomic_int n_asked[PATHS];
} server;

static void answer(int fd, const char *request)
{
    char text[256], body[64];
    int path = request[5] - '0';
    if (path < 0 || path >= PATHS)
        return;
    atomic_fetch_add(&server.n_asked[path], 1);
    while (atomic_load(&server.hangs[path]))
        (void)poll(NULL, 0, 1);
    int v = atomic_load(&server.value[path]);
    (void)snprintf(body, sizeof(body), "page{path=\"%d\"} %d\n", path, v);
    int n = snprintf(text, sizeof(text),
                     "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     v < 0 ? "500 no" : "200 OK", strlen(body), body);
    (void)send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

static void *serve_one(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char text[2048];
    ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
    if (n > 8) {
        text[n] = '\0';
        answer(fd, text);
    }
    (void)close(fd);
    return NULL;
}

static void *serve(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_t one;
        int fd = accept(server.fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        if (pthread_create(&one, NULL, serve_one, (void *)(intptr_t)fd) == 0)
            (void)pthread_detach(one);
    }
}

static int start_server(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    server.fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(server.fd, 64), 0);
    assert_int_equal(getsockname(server.fd, (struct sockaddr *)&at, &n), 0);
    server.port = ntohs(at.sin_port);
    return pthread_create(&server.thread, NULL, serve, NULL);
}

static int stop_server(void **state)
{
    (void)state;
    (void)shutdown(server.fd, SHUT_RDWR);
    (void)pthread_join(server.thread, NULL);
    return close(server.fd);
}

/* --- what was written: the last sample of each series --- */

static struct {
    pthread_mutex_t lock;
    struct batch *batches;
} written = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void write_batch(void *ctx, struct batch *b)
{
    (void)ctx;
    pthread_mutex_lock(&written.lock);
    b->next = written.batches;
    written.batches = b;
    pthread_mutex_unlock(&written.lock);
}

static void forget_written(void)
{
    pthread_mutex_lock(&written.lock);
    while (written.batches) {
        struct batch *b = written.batches;
        written.batches = b->next;
        batch_free(b);
    }
    pthread_mutex_unlock(&written.lock);
}

static bool is_wanted(struct labels l, const char *name, const char *label, const char *value)
{
    return span_eq(labels_name(l), span_cstr(name)) &&
           (!label || span_eq(labels_get(l, span_cstr(label)), span_cstr(value)));
}

/* Of the series with that name and label; NaN: none. */
static double last(const char *name, const char *label, const char *value, size_t *ret_n)
{
    double v = (double)NAN;
    size_t n = 0;
    pthread_mutex_lock(&written.lock);
    for (const struct batch *b = written.batches; b; b = b->next)
        for (size_t i = 0; i < b->n; i++)
            if (is_wanted(b->at[i].labels, name, label, value)) {
                v = n == 0 ? b->at[i].v : v;
                n++;
            }
    pthread_mutex_unlock(&written.lock);
    if (ret_n)
        *ret_n = n;
    return v;
}

static void assert_comes(const char *name, const char *label, const char *value, double v)
{
    for (int i = 0; i < WAIT_MS; i++) {
        double is = last(name, label, value, NULL);
        if (is == v || (series_is_stale(v) && series_is_stale(is)))
            return;
        (void)poll(NULL, 0, 1);
    }
    fail_msg("%s{%s=%s} is %g, not %g", name, label, value, last(name, label, value, NULL), v);
}

#define assert_becomes(cond)                                                                       \
    do {                                                                                           \
        int i_ = 0;                                                                                \
        while (!(cond) && i_++ < WAIT_MS)                                                          \
            (void)poll(NULL, 0, 1);                                                                \
        assert_true(cond);                                                                         \
    } while (0)

/* --- plans --- */

/* '@': the server's port. */
static size_t put_text(char *dst, size_t cap, const char *text)
{
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        assert_true(n + 8 < cap);
        if (*p == '@')
            n += (size_t)snprintf(dst + n, 8, "%u", server.port);
        else
            dst[n++] = *p;
    }
    return n;
}

static struct scrape_file *file_of(const char *jobs)
{
    static struct err_list errs;
    struct scrape_file *f = NULL;
    char text[4096];
    size_t n = put_text(text, sizeof(text), jobs);
    err_list_init(&errs);
    if (scrape_file_read(span_of(text, n), "f", &f, &errs) != 0)
        fail_msg("%.*s\n%s", (int)n, text, errs.items[0].err.text);
    return f;
}

static struct collector *start(const char *jobs, const struct collector_source *sources,
                               size_t n_sources)
{
    struct scrape_file *f = file_of(jobs);
    struct collector_plan plan = {&f, 1, sources, n_sources};
    struct collector *c = NULL;
    struct err err;
    assert_int_equal(collector_new(&plan, write_batch, NULL, &c, &err), 0);
    scrape_file_unref(f);
    return c;
}

static void configure(struct collector *c, const char *jobs)
{
    struct scrape_file *f = file_of(jobs);
    struct collector_plan plan = {&f, 1, NULL, 0};
    assert_int_equal(collector_configure(c, &plan), 0);
    scrape_file_unref(f);
}

static bool says(struct collector *c, bool is_state, const char *what)
{
    struct jsonw w;
    struct buf b;
    buf_init(&b, 1 << 20);
    jsonw_init(&w, &b);
    jsonw_begin_object(&w);
    if (is_state)
        collector_write_state(c, &w);
    else
        jsonw_key(&w, "activeTargets");
    jsonw_begin_array(&w);
    collector_write_active(c, &w);
    jsonw_end_array(&w);
    jsonw_key(&w, "droppedTargets");
    jsonw_begin_array(&w);
    collector_write_dropped(c, &w);
    jsonw_end_array(&w);
    jsonw_key(&w, "droppedTargetCounts");
    jsonw_begin_object(&w);
    collector_write_dropped_counts(c, &w);
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    assert_int_equal(jsonw_error(&w), 0);
    bool is_there = span_find(buf_span(&b), span_cstr(what)) < buf_len(&b);
    buf_done(&b);
    return is_there;
}

#define ONE(path, more)                                                                            \
    "- job_name: j" path "\n  scrape_interval: 100ms\n  metrics_path: /" path "\n" more            \
    "  static_configs: [{targets: ['127.0.0.1:@']}]\n"

static void reset(void)
{
    for (int i = 0; i < PATHS; i++) {
        atomic_store(&server.hangs[i], 0);
        atomic_store(&server.value[i], i);
        atomic_store(&server.n_asked[i], 0);
    }
    forget_written();
}

static void test_scrapes(void **state)
{
    (void)state;
    reset();
    struct collector *c = start("scrape_configs:\n" ONE("1", "") ONE("2", ""), NULL, 0);
    assert_comes("page", "path", "1", 1);
    assert_comes("page", "path", "2", 2);
    assert_comes("up", "job", "j1", 1);
    atomic_store(&server.value[1], 7);
    assert_comes("page", "path", "1", 7);
    atomic_store(&server.value[1], -1);
    assert_comes("page", "path", "1", series_stale());
    assert_comes("up", "job", "j1", 0);
    assert_comes("scrape_fault", "reason", "status", 1);
    assert_true(says(c, true, "\"health\":\"down\",\"fault\":\"status\""));
    assert_true(says(c, false, "\"scrapePool\":\"j2\""));
    assert_true(says(c, false, "\"health\":\"up\""));
    collector_free(c);
    forget_written();
}

/* A scrape that hangs ends when the next is due, and keeps no other waiting. */
static void test_hanging_target(void **state)
{
    size_t n, n_other;
    (void)state;
    reset();
    atomic_store(&server.hangs[1], 1);
    struct collector *c = start("scrape_configs:\n" ONE("1", "") ONE("2", ""), NULL, 0);
    assert_comes("scrape_fault", "reason", "timeout", 1);
    assert_becomes((last("up", "job", "j1", &n), n >= 4));
    (void)last("up", "job", "j2", &n_other);
    assert_true(n_other >= 3);
    /* Each was asked at most once a moment. */
    assert_true((size_t)atomic_load(&server.n_asked[1]) <= n + 1);
    atomic_store(&server.hangs[1], 0);
    assert_comes("page", "path", "1", 1);
    collector_free(c);
    forget_written();
}

/* Those that stay go on, those that go end, and what is under way does not matter. */
static void test_reload(void **state)
{
    size_t n_before, n_after;
    (void)state;
    reset();
    struct collector *c =
        start("scrape_configs:\n" ONE("1", "") ONE("2", "") ONE("3", ""), NULL, 0);
    assert_comes("page", "path", "1", 1);
    assert_comes("page", "path", "2", 2);
    assert_comes("page", "path", "3", 3);
    atomic_store(&server.hangs[3], 1);
    int n_asked = atomic_load(&server.n_asked[3]);
    assert_becomes(atomic_load(&server.n_asked[3]) > n_asked);
    configure(c, "scrape_configs:\n" ONE("1", "  metric_relabel_configs:\n"
                                              "  - {target_label: new, replacement: n}\n")
                     ONE("0", ""));
    assert_comes("page", "path", "2", series_stale());
    assert_comes("up", "job", "j2", series_stale());
    assert_comes("page", "path", "3", series_stale());
    atomic_store(&server.hangs[3], 0);
    assert_comes("page", "path", "0", 0);
    assert_comes("page", "new", "n", 1);
    (void)last("up", "job", "j1", &n_before);
    assert_true(n_before > 0);
    pthread_mutex_lock(&written.lock); /* j1 never ended */
    for (const struct batch *b = written.batches; b; b = b->next)
        for (size_t i = 0; i < b->n; i++)
            assert_false(is_wanted(b->at[i].labels, "up", "job", "j1") &&
                         series_is_stale(b->at[i].v));
    pthread_mutex_unlock(&written.lock);
    assert_false(says(c, true, "\"job\":\"j2\""));
    (void)last("up", "job", "j2", &n_before);
    assert_becomes((last("page", "path", "0", &n_after), n_after >= 3));
    (void)last("up", "job", "j2", &n_after);
    assert_int_equal(n_before, n_after);
    collector_free(c);
    forget_written();
}

static void write_text(const char *path, const char *text)
{
    char whole[400];
    size_t n = put_text(whole, sizeof(whole), text);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(whole, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void test_files(void **state)
{
    struct tempdir dir;
    char jobs[600];
    (void)state;
    reset();
    tempdir_make(&dir);
    write_text(tempdir_file(&dir, "t.yml"),
               "- targets: ['127.0.0.1:@']\n  labels: {__metrics_path__: /1}\n"
               "- targets: ['a/b']\n");
    (void)snprintf(jobs, sizeof(jobs),
                   "scrape_configs:\n- job_name: f\n  scrape_interval: 100ms\n"
                   "  relabel_configs: [{action: drop, source_labels: [drop], regex: me}]\n"
                   "  file_sd_configs: [{files: ['%s/*.yml'], refresh_interval: 50ms}]\n",
                   dir.path);
    struct collector *c = start(jobs, NULL, 0);
    assert_becomes(says(c, true, "is no address"));
    write_text(tempdir_file(&dir, "t.yml"),
               "- targets: ['127.0.0.1:@']\n  labels: {__metrics_path__: /1}\n"
               "- targets: ['127.0.0.1:@']\n  labels: {drop: me}\n");
    assert_comes("page", "path", "1", 1);
    assert_true(says(c, false, "\"drop\":\"me\""));
    assert_true(says(c, false, "\"droppedTargetCounts\":{\"f\":1}"));
    assert_true(says(c, false, "t.yml"));
    write_text(tempdir_file(&dir, "t.yml"),
               "- targets: ['127.0.0.1:@']\n  labels: {__metrics_path__: /2}\n");
    assert_comes("page", "path", "1", series_stale());
    assert_comes("page", "path", "2", 2);
    write_text(tempdir_file(&dir, "t.yml"), "- targets: [");
    assert_becomes(says(c, true, "as they were"));
    assert_true(says(c, true, "\"health\":\"up\""));
    /* A reload does not lose what the file said. */
    configure(c, jobs);
    atomic_store(&server.value[2], 9);
    assert_comes("page", "path", "2", 9);
    pthread_mutex_lock(&written.lock);
    for (const struct batch *b = written.batches; b; b = b->next)
        for (size_t i = 0; i < b->n; i++)
            assert_false(is_wanted(b->at[i].labels, "page", "path", "2") &&
                         series_is_stale(b->at[i].v));
    pthread_mutex_unlock(&written.lock);
    collector_free(c);
    forget_written();
    tempdir_remove(&dir);
}

/* A target that goes and comes back while it is asked is one again. */
static void test_files_come_back(void **state)
{
    struct tempdir dir;
    char jobs[600];
    (void)state;
    reset();
    tempdir_make(&dir);
    static const char one[] = "- targets: ['127.0.0.1:@']\n  labels: {__metrics_path__: /1}\n";
    const char *path = tempdir_file(&dir, "t.yml");
    write_text(path, one);
    (void)snprintf(jobs, sizeof(jobs),
                   "scrape_configs:\n- job_name: f\n  scrape_interval: 5s\n"
                   "  file_sd_configs: [{files: ['%s'], refresh_interval: 50ms}]\n",
                   path);
    atomic_store(&server.hangs[1], 1);
    struct collector *c = start(jobs, NULL, 0);
    assert_becomes(atomic_load(&server.n_asked[1]) == 1);
    write_text(path, "[]");
    assert_becomes(says(c, true, "\"n_targets\":0"));
    write_text(path, one);
    assert_becomes(says(c, true, "\"n_targets\":1"));
    assert_true(says(c, true, "\"health\":\"unknown\""));
    atomic_store(&server.hangs[1], 0);
    assert_comes("page", "path", "1", 1);
    collector_free(c);
    forget_written();
    tempdir_remove(&dir);
}

/* The same discovery written twice: behind a reload both still look. */
static void test_files_twice(void **state)
{
    struct tempdir dir;
    char jobs[600];
    (void)state;
    reset();
    tempdir_make(&dir);
    write_text(tempdir_file(&dir, "t.yml"),
               "- targets: ['127.0.0.1:@']\n  labels: {__metrics_path__: /1}\n");
    (void)snprintf(jobs, sizeof(jobs),
                   "scrape_configs:\n- job_name: f\n  scrape_interval: 100ms\n"
                   "  file_sd_configs:\n"
                   "  - {files: ['%s/*.yml'], refresh_interval: 50ms}\n"
                   "  - {files: ['%s/*.yml'], refresh_interval: 50ms}\n",
                   dir.path, dir.path);
    struct collector *c = start(jobs, NULL, 0);
    assert_comes("page", "path", "1", 1);
    assert_becomes(!says(c, true, "\"n_targets\":0"));
    configure(c, jobs);
    atomic_store(&server.value[1], 7);
    assert_comes("page", "path", "1", 7);
    write_text(tempdir_file(&dir, "t.yml"),
               "- targets: ['127.0.0.1:@']\n  labels: {__metrics_path__: /2}\n");
    assert_comes("page", "path", "2", 2);
    assert_comes("page", "path", "1", series_stale());
    collector_free(c);
    forget_written();
    tempdir_remove(&dir);
}

static void test_target_limit(void **state)
{
    (void)state;
    reset();
    struct collector *c =
        start("scrape_configs:\n- job_name: l\n  scrape_interval: 100ms\n  target_limit: 1\n"
              "  static_configs: [{targets: ['127.0.0.1:@', 'localhost:@', '127.0.0.1:@']}]\n",
              NULL, 0);
    assert_comes("scrape_fault", "reason", "limit", 1);
    assert_true(says(c, true, "\"is_over_limit\":true"));
    assert_true(says(c, true, "\"n_targets\":2"));
    assert_int_equal(atomic_load(&server.n_asked[0]), 0);
    collector_free(c);
    forget_written();
}

/* A file of credentials that does not come keeps nobody waiting who asks for targets. */
static void test_slow_credentials(void **state)
{
    struct tempdir dir;
    char jobs[600];
    int fd = -1;
    (void)state;
    reset();
    tempdir_make(&dir);
    const char *path = tempdir_file(&dir, "token");
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(jobs, sizeof(jobs), "scrape_configs:\n" ONE("1", "  bearer_token_file: %s\n"),
                   path);
    struct collector *c = start(jobs, NULL, 0);
    assert_becomes(fd >= 0 || (fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0);
    (void)alarm(20); /* instead of waiting forever */
    assert_true(says(c, true, "\"health\":\"unknown\""));
    (void)alarm(0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, "secret", 6), 6);
    assert_int_equal(close(fd), 0);
    assert_comes("page", "path", "1", 1);
    assert_comes("scrape_fault", "reason", "credentials", 1); /* it is not there any more */
    collector_free(c);
    forget_written();
    tempdir_remove(&dir);
}

static void test_turn(void **state)
{
    (void)state;
    reset();
    struct collector *c = start("scrape_configs:\n"
                                "- job_name: j\n  scrape_interval: 1h\n  metrics_path: /1\n"
                                "  static_configs: [{targets: ['127.0.0.1:@', 'localhost:@']}]\n",
                                NULL, 0);
    assert_int_equal(collector_turn(c, WAIT_MS), 0);
    size_t n;
    assert_true(last("page", "path", "1", &n) == 1);
    assert_int_equal(n, 2);
    atomic_store(&server.value[1], 5);
    assert_int_equal(collector_turn(c, WAIT_MS), 0);
    assert_true(last("page", "path", "1", &n) == 5);
    assert_int_equal(n, 4);
    atomic_store(&server.hangs[1], 1);
    assert_int_equal(collector_turn(c, 50), -ETIMEDOUT);
    atomic_store(&server.hangs[1], 0);
    collector_free(c);
    forget_written();
}

/* --- sources --- */

static struct {
    atomic_int state; /* enum source_state */
    atomic_int hangs;
    atomic_int has_b; /* a series more */
    atomic_int n_begun, n_ended, n_read, fails_to_begin;
} made_up;

static int made_up_begin(const void *config, void **ret, struct err *reterr)
{
    if (atomic_load(&made_up.fails_to_begin))
        return err_set(reterr, -EIO, "no driver");
    atomic_fetch_add(&made_up.n_begun, 1);
    *ret = mem_strdup(config);
    return *ret ? 0 : -ENOMEM;
}

static enum source_state made_up_read(void *s, int64_t t_ms, struct batch *out, struct err *reterr)
{
    struct label a[] = {{SPAN_INIT("__name__"), SPAN_INIT("temperature")}};
    struct label b[] = {{SPAN_INIT("__name__"), SPAN_INIT("power")},
                        {SPAN_INIT("instance"), SPAN_INIT("other")}};
    (void)s;
    atomic_fetch_add(&made_up.n_read, 1);
    while (atomic_load(&made_up.hangs))
        (void)poll(NULL, 0, 1);
    if (batch_add(out, (struct labels){a, 1}, t_ms, 30, NULL) < 0)
        return SOURCE_BROKEN;
    if (atomic_load(&made_up.has_b) && batch_add(out, (struct labels){b, 2}, t_ms, 9, NULL) < 0)
        return SOURCE_BROKEN;
    enum source_state state = (enum source_state)atomic_load(&made_up.state);
    if (state != SOURCE_WORKING)
        (void)err_set(reterr, -EIO, "it smells");
    return state;
}

static void made_up_end(void *s)
{
    mem_free(s);
    atomic_fetch_add(&made_up.n_ended, 1);
}

static const struct source_kind made_up_kind = {"made", made_up_begin, made_up_read, made_up_end};

static void test_sources(void **state)
{
    const struct collector_source source = {&made_up_kind, "config", 50, NULL};
    char host[256] = "";
    (void)state;
    reset();
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    atomic_store(&made_up.has_b, 1);
    atomic_store(&made_up.fails_to_begin, 1);
    struct collector *c = start("scrape_configs: []\n", &source, 1);
    assert_comes("source_up", "source", "made", 0);
    assert_true(says(c, true, "\"state\":\"broken\",\"words\":\"no driver\""));
    atomic_store(&made_up.fails_to_begin, 0);
    assert_comes("temperature", "instance", host, 30);
    assert_comes("temperature", "job", "made", 30);
    assert_comes("power", "instance", "other", 9);
    assert_comes("source_up", "source", "made", 1);
    atomic_store(&made_up.has_b, 0);
    assert_comes("power", "instance", "other", series_stale());
    /* What one that is broken can tell (gpu_up of the GPU that is lost) is kept, and no more. */
    atomic_store(&made_up.has_b, 1);
    assert_comes("power", "instance", "other", 9);
    atomic_store(&made_up.has_b, 0);
    atomic_store(&made_up.state, SOURCE_BROKEN);
    assert_comes("source_up", "source", "made", 0);
    assert_comes("power", "instance", "other", series_stale());
    assert_comes("temperature", "job", "made", 30);
    assert_true(says(c, true, "it smells"));
    atomic_store(&made_up.state, SOURCE_ABSENT);
    assert_comes("source_up", "source", "made", series_stale());
    assert_comes("temperature", "job", "made", series_stale());
    atomic_store(&made_up.state, SOURCE_WORKING);
    assert_comes("temperature", "job", "made", 30);
    /* It hangs: told, and not asked again. */
    atomic_store(&made_up.hangs, 1);
    assert_comes("source_up", "source", "made", 0);
    assert_comes("temperature", "job", "made", series_stale());
    assert_true(says(c, true, "\"state\":\"hanging\""));
    int n_read = atomic_load(&made_up.n_read);
    size_t n, n_more;
    (void)last("source_up", "source", "made", &n);
    assert_becomes((last("source_up", "source", "made", &n_more), n_more >= n + 3));
    assert_int_equal(atomic_load(&made_up.n_read), n_read);
    atomic_store(&made_up.hangs, 0);
    assert_comes("temperature", "job", "made", 30);
    assert_comes("source_up", "source", "made", 1);
    assert_int_equal(atomic_load(&made_up.n_begun), 1);
    collector_free(c);
    assert_int_equal(atomic_load(&made_up.n_ended), 1);
    forget_written();
}

static void test_sources_of_one_kind(void **state)
{
    const struct collector_source sources[] = {{&made_up_kind, "config", 50, "east"},
                                               {&made_up_kind, "config", 50, "west"}};
    (void)state;
    reset();
    struct collector *c = start("scrape_configs: []\n", sources, 2);
    assert_comes("source_up", "cluster", "east", 1);
    assert_comes("source_up", "cluster", "west", 1);
    collector_free(c);
    forget_written();
}

/* The end does not wait for a driver. */
static void test_source_left_behind(void **state)
{
    const struct collector_source sources[] = {{&made_up_kind, "config", 50, "east"},
                                               {&made_up_kind, "config", 50, "west"}};
    (void)state;
    reset();
    atomic_store(&made_up.n_ended, 0);
    struct collector *c = start("scrape_configs: []\n", sources, 2);
    assert_comes("source_up", "cluster", "west", 1);
    assert_true(collector_stop(c));
    collector_free(c);
    assert_int_equal(atomic_load(&made_up.n_ended), 2);
    atomic_store(&made_up.n_ended, 0);
    atomic_store(&made_up.n_read, 0);
    atomic_store(&made_up.hangs, 1);
    c = start("scrape_configs: []\n", sources, 2);
    assert_becomes(atomic_load(&made_up.n_read) == 2);
    mono_t began = clock_mono();
    assert_false(collector_stop(c));
    assert_true(mono_diff(clock_mono(), began) < 3 * NS_PER_S); /* 2 s for all of them */
    collector_free(c);
    assert_int_equal(atomic_load(&made_up.n_ended), 0);
    atomic_store(&made_up.hangs, 0);
    assert_becomes(atomic_load(&made_up.n_ended) == 2);
    forget_written();
}

/* --- moments --- */

static void test_schedule(void **state)
{
    const mono_t now = {1000 * NS_PER_MS};
    (void)state;
    for (int64_t offset_ms = 0; offset_ms < 100; offset_ms += 7)
        for (int64_t wall_ms = 1700000000000; wall_ms < 1700000000300; wall_ms += 13) {
            mono_t first = schedule_first(now, wall_ms, 100, offset_ms);
            int64_t at_ms = wall_ms + mono_diff(first, now) / NS_PER_MS;
            assert_true(first.ns >= now.ns && mono_diff(first, now) < 100 * NS_PER_MS);
            assert_int_equal(at_ms % 100, offset_ms);
        }
    assert_int_equal(schedule_next(now, now, 100).ns, now.ns + 100 * NS_PER_MS);
    assert_int_equal(schedule_next(now, mono_add(now, -5), 100).ns, now.ns + 100 * NS_PER_MS);
    assert_int_equal(schedule_next(now, mono_add(now, 99 * NS_PER_MS), 100).ns,
                     now.ns + 100 * NS_PER_MS);
    /* Those that are missed are left out. */
    assert_int_equal(schedule_next(now, mono_add(now, 350 * NS_PER_MS), 100).ns,
                     now.ns + 400 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scrapes),
        cmocka_unit_test(test_hanging_target),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_come_back),
        cmocka_unit_test(test_files_twice),
        cmocka_unit_test(test_target_limit),
        cmocka_unit_test(test_slow_credentials),
        cmocka_unit_test(test_turn),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_sources_of_one_kind),
        cmocka_unit_test(test_source_left_behind),
        cmocka_unit_test(test_schedule),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
