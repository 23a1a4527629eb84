/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_run.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "load/flight.h"

/* Closed loop: no starts for that long after a connection could not be made. */
#define HOLD_NS (100 * NS_PER_MS)

struct load_run {
    struct load_config config;
    struct flight_plan plan;
    struct resolver *resolver;
    struct schedule schedule;
    struct schedule_item next; /* the next one to start */
    bool has_next;
    struct tally tally;
    struct load_summary summary;
    struct buf fields; /* header lines of every request */
    atomic_bool must_end;
    mono_t t0;
    int64_t last_start_ns; /* since t0 */
    int64_t cpu_before_ns;
    uint64_t n_in_flight;
    mono_t t_hold; /* closed loop: no starts before it */
    /* --live */
    mono_t t_live;
    uint64_t n_live_done;
    int64_t live_tokens;
    struct readings live_ttft;
};

/* --- configuration --- */

static int url_bad(struct err *reterr, struct span url, const char *what)
{
    (void)err_set(reterr, -EINVAL, "--url %.*s: %s", (int)(url.n < 200 ? url.n : 200), url.p, what);
    err_hint(reterr, "it looks like http://127.0.0.1:8000/v1/chat/completions");
    return -EINVAL;
}

/* "host", "host:port", "[v6]", "[v6]:port" */
static int url_authority(struct load_config *c, struct span authority)
{
    struct span host = authority, port = {0};
    uint64_t n = c->is_tls ? 443 : 80;

    if (span_starts_with(authority, SPAN("["))) {
        size_t end = span_find_char(authority, ']');
        if (end == authority.n)
            return -EINVAL;
        host = span_of(authority.p + 1, end - 1);
        port = span_from(authority, end + 1);
        if (port.n > 0 && port.p[0] != ':')
            return -EINVAL;
    } else if (span_find_char(authority, ':') < authority.n) {
        size_t colon = span_find_char(authority, ':');
        host = span_of(authority.p, colon);
        port = span_from(authority, colon);
    }
    if (port.n > 0 && (num_parse_u64(span_from(port, 1), &n) < 0 || n == 0 || n > UINT16_MAX))
        return -EINVAL;
    if (host.n == 0 || host.n >= sizeof(c->host))
        return -EINVAL;
    (void)span_copy(host, c->host, sizeof(c->host));
    c->port = (uint16_t)n;
    return 0;
}

/* "HOST:PORT/PATH" or "/SOCKET:/PATH", by the scheme before it; the path is left in *rest. */
static const char *url_server(struct load_config *c, struct span *rest)
{
    struct span server;
    struct addr a;

    c->port = 0;
    c->is_tls = span_starts_with(*rest, SPAN("https://"));
    if (span_starts_with(*rest, SPAN("unix:/"))) {
        size_t n = strlen("unix:");
        n += span_find(span_from(*rest, n), SPAN(":/"));
        server = span_of(rest->p, n < rest->n ? n : rest->n);
        *rest = span_from(*rest, n + 1);
        if (!addr_from_unix(server, &a))
            return "the path of the socket is too long";
        (void)span_copy(server, c->host, sizeof(c->host));
        return NULL;
    }
    if (!c->is_tls && !span_starts_with(*rest, SPAN("http://")))
        return "it must begin with http://, https:// or unix:/";
    *rest = span_from(*rest, c->is_tls ? strlen("https://") : strlen("http://"));
    server = span_of(rest->p, span_find_char(*rest, '/'));
    *rest = span_from(*rest, server.n);
    return url_authority(c, server) < 0 ? "host or port are not usable" : NULL;
}

int load_config_url(struct load_config *c, struct span url, struct err *reterr)
{
    struct span rest = url;
    const struct dialect *d;
    const char *wrong;

    if (url.n >= sizeof(c->url))
        return url_bad(reterr, url, "it is too long");
    for (size_t i = 0; i < url.n; i++)
        if (url.p[i] <= ' ' || url.p[i] > '~')
            return url_bad(reterr, url, "a character in it is not allowed in a URL");
    wrong = url_server(c, &rest);
    if (wrong)
        return url_bad(reterr, url, wrong);
    d = dialect_endpoint(SPAN("POST"), rest)->dialect;
    if (!d || !d->is_generating || d->framing != FRAMING_SSE)
        return url_bad(reterr, url, "its path must end in /chat/completions or /completions");
    c->dialect = d;
    (void)span_copy(url, c->url, sizeof(c->url));
    (void)span_copy(rest, c->target, sizeof(c->target));
    return 0;
}

static bool is_own_field(struct span name)
{
    static const struct span own[] = {SPAN_INIT("Host"), SPAN_INIT("Content-Length"),
                                      SPAN_INIT("Content-Type"), SPAN_INIT("X-Request-Id"),
                                      SPAN_INIT("Expect")};

    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (span_eq_nocase(name, own[i]))
            return true;
    }
    return http1_is_hop_by_hop(name);
}

int load_config_field(struct load_config *c, struct span line, struct err *reterr)
{
    struct span value = line;
    struct span name = span_split(&value, ':');
    size_t used = strlen(c->fields);
    bool is_bad = name.n == 0 || name.n == line.n;

    value = span_trim(value);
    for (size_t i = 0; i < name.n; i++)
        is_bad |= name.p[i] <= ' ' || name.p[i] > '~';
    for (size_t i = 0; i < value.n; i++)
        is_bad |= (unsigned char)value.p[i] < ' ' || value.p[i] == 127;
    if (is_bad) {
        (void)err_set(reterr, -EINVAL, "--header \"%.*s\" is no header line",
                      (int)(line.n < 200 ? line.n : 200), line.p);
        err_hint(reterr, "it looks like --header 'Authorization: Bearer KEY'");
        return -EINVAL;
    }
    if (is_own_field(name))
        return err_set(reterr, -EINVAL, "--header: load sets %.*s itself", (int)name.n, name.p);
    if (used + name.n + value.n + 5 > sizeof(c->fields))
        return err_set(reterr, -EINVAL, "--header: more than %d bytes in all", LOAD_FIELDS_MAX);
    used += span_copy(name, c->fields + used, sizeof(c->fields) - used);
    used += span_copy(SPAN(": "), c->fields + used, sizeof(c->fields) - used);
    used += span_copy(value, c->fields + used, sizeof(c->fields) - used);
    (void)span_copy(SPAN("\r\n"), c->fields + used, sizeof(c->fields) - used);
    return 0;
}

/* --- what flights tell --- */

static void on_gap(void *ctx, int64_t gap_ns)
{
    struct load_run *r = ctx;

    tally_gap(&r->tally, gap_ns);
}

static void on_first_token(void *ctx, int64_t ttft_ns)
{
    struct load_run *r = ctx;

    if (r->config.is_live)
        readings_add(&r->live_ttft, ttft_ns);
}

static void on_done(void *ctx, const struct load_result *result)
{
    struct load_run *r = ctx;

    r->n_in_flight--;
    if (result->outcome == OUTCOME_CONNECT_FAILED)
        r->t_hold = mono_add(result->t_end, HOLD_NS);
    tally_add(&r->tally, result);
}

/* --- life --- */

static int64_t largest_prompt(const struct load_config *c)
{
    int64_t most = c->schedule.prompt_tokens;

    if (c->schedule.kind != SCHEDULE_TRACE)
        return most;
    for (size_t i = 0; i < c->schedule.trace->n; i++) {
        if (c->schedule.trace->rows[i].input_tokens > most)
            most = c->schedule.trace->rows[i].input_tokens;
    }
    return most;
}

static int fields_render(struct load_run *r)
{
    const struct load_config *c = &r->config;
    bool is_unix = strchr(c->host, '/') != NULL;
    bool is_v6 = !is_unix && strchr(c->host, ':') != NULL;
    int result = is_unix ? buf_append(&r->fields, SPAN("Host: localhost"))
                         : buf_printf(&r->fields, "Host: %s%s%s:%u", is_v6 ? "[" : "", c->host,
                                      is_v6 ? "]" : "", (unsigned)c->port);

    if (result == 0)
        result = buf_append(&r->fields, SPAN("\r\nUser-Agent: inferometer-load\r\n"
                                             "Content-Type: application/json\r\n"));

    if (result == 0)
        result = buf_append(&r->fields, span_cstr(c->fields));
    r->plan.fields = buf_span(&r->fields);
    return result;
}

static int pool_make(struct load_run *r)
{
    struct http_pool_config config = {
        .port = r->config.port,
        .idle_timeout_ns = 4 * NS_PER_S, /* below every common server's 5 s */
        .dns_ttl_ns = 30 * NS_PER_S,
        .max_idle = 100000,
        .max_queue_bytes = LIMIT_REQUEST_BODY_BYTES,
        .tls = r->config.tls,
    };
    struct addr literal;
    int result;

    (void)span_copy(span_cstr(r->config.host), config.host, sizeof(config.host));
    if (!addr_from_literal(span_cstr(config.host), config.port, &literal)) {
        result = resolver_new(&r->resolver);
        if (result < 0)
            return result;
    }
    return http_pool_new(r->plan.loop, r->resolver, &config, &r->plan.pool);
}

int load_run_new(const struct load_config *c, struct load_run **ret, struct err *reterr)
{
    struct load_run *r = mem_zalloc(1, sizeof(*r));
    struct rng ids;
    int result;

    if (!r)
        return err_set(reterr, -ENOMEM, "out of memory");
    r->config = *c;
    buf_init(&r->fields, LIMIT_HEAD_BYTES);
    r->plan = (struct flight_plan){
        .dialect = c->dialect,
        .target = span_cstr(r->config.target),
        .timeout_ns = c->timeout_ns,
        .on_gap = on_gap,
        .on_first_token = on_first_token,
        .on_done = on_done,
        .ctx = r,
    };
    list_init(&r->plan.flights);
    buf_init(&r->plan.head, 2 * LIMIT_HEAD_BYTES);
    rng_seed_random(&ids);
    (void)memcpy(r->plan.id_prefix, "load-", 5);
    rng_hex(&ids, r->plan.id_prefix + 5, 8);
    readings_init(&r->live_ttft);
    schedule_init(&r->schedule, &c->schedule);
    result = tally_init(&r->tally, &c->slo);
    if (result == 0)
        result = fields_render(r);
    if (result == 0)
        result = loop_new(&r->plan.loop);
    if (result == 0)
        result = pool_make(r);
    if (result == 0)
        result = prompt_init(&r->plan.prompt, strcmp(c->dialect->name, "openai-chat") == 0,
                             c->model, largest_prompt(c), c->schedule.seed);
    if (result < 0) {
        (void)load_run_free(r); /* always NULL */
        return err_set(reterr, result, "could not prepare the run: %s", err_str(result));
    }
    *ret = r;
    return 0;
}

struct load_run *load_run_free(struct load_run *r)
{
    if (!r)
        return NULL;
    (void)flight_abort_all(&r->plan); /* none is left after load_run_go */
    if (r->plan.loop)
        loop_turn(r->plan.loop, 0); /* frees what was closed */
    r->plan.pool = http_pool_free(r->plan.pool);
    r->resolver = resolver_free(r->resolver);
    if (r->plan.loop)
        loop_turn(r->plan.loop, 0); /* takes the resolver's last answers */
    r->plan.loop = loop_free(r->plan.loop);
    prompt_done(&r->plan.prompt);
    buf_done(&r->plan.head);
    buf_done(&r->fields);
    readings_done(&r->live_ttft);
    tally_done(&r->tally);
    mem_free(r);
    return NULL;
}

struct tally *load_run_tally(struct load_run *r)
{
    return &r->tally;
}

const struct load_summary *load_run_summary(const struct load_run *r)
{
    return &r->summary;
}

void load_run_interrupt(struct load_run *r)
{
    atomic_store(&r->must_end, true);
    loop_stop(r->plan.loop); /* wakes the turn */
}

/* --- going --- */

static int64_t cpu_ns(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) < 0)
        return 0;
    return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
           (int64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
}

static bool is_within_limits(const struct load_run *r, int64_t at_ns)
{
    const struct load_config *c = &r->config;

    return (c->n_requests == 0 || r->summary.n_sent < (uint64_t)c->n_requests) &&
           (c->duration_ns == 0 || at_ns < c->duration_ns);
}

static void start_one(struct load_run *r, const struct schedule_item *item, mono_t intended)
{
    const struct load_config *c = &r->config;
    struct prompt_ask ask = {
        .number = r->summary.n_sent,
        .prompt_tokens = item->prompt_tokens,
        .max_tokens = item->max_tokens,
        .is_stream =
            item->is_stream < 0 || c->is_stream_forced ? c->is_stream : item->is_stream == 1,
        .include_usage = c->include_usage,
    };

    r->summary.n_sent++;
    r->last_start_ns = mono_diff(intended, r->t0);
    if (flight_start(&r->plan, &ask, intended) < 0) {
        struct load_result failed = {.outcome = OUTCOME_INTERNAL,
                                     .ttft_ns = -1,
                                     .e2e_ns = -1,
                                     .completion_tokens = -1,
                                     .summary = {.tpot_status = TPOT_NOT_STREAM},
                                     .t_end = clock_mono()};
        tally_add(&r->tally, &failed);
        return;
    }
    r->n_in_flight++;
    if (r->n_in_flight > r->summary.n_in_flight_max)
        r->summary.n_in_flight_max = r->n_in_flight;
}

/* Open loop: starts everything due. Returns ns until the next start; -1: there is none. */
static int64_t start_due(struct load_run *r)
{
    while (r->has_next && is_within_limits(r, r->next.at_ns)) {
        mono_t intended = mono_add(r->t0, r->next.at_ns);
        int64_t left = mono_diff(intended, clock_mono());

        if (left > 0)
            return left;
        start_one(r, &r->next, intended);
        r->has_next = schedule_next(&r->schedule, &r->next);
    }
    r->has_next = false;
    return -1;
}

/* Closed loop: fills up. Returns ns until the end of the starts; -1: it is over. */
static int64_t start_free(struct load_run *r)
{
    const struct load_config *c = &r->config;
    struct schedule_item item = {.prompt_tokens = c->schedule.prompt_tokens,
                                 .max_tokens = c->schedule.max_tokens,
                                 .is_stream = -1};

    for (;;) {
        mono_t now = clock_mono();

        if (!is_within_limits(r, mono_diff(now, r->t0)))
            return -1;
        if (now.ns < r->t_hold.ns)
            return mono_diff(r->t_hold, now);
        if (r->n_in_flight >= (uint64_t)c->concurrency)
            return c->duration_ns > 0 ? c->duration_ns - mono_diff(now, r->t0) : NS_PER_S;
        start_one(r, &item, now);
    }
}

static void live_print(struct load_run *r, mono_t now)
{
    char ttft[24];
    double s = (double)mono_diff(now, r->t_live) / 1e9;

    load_report_duration(readings_quantile(&r->live_ttft, 0.5), ttft);
    (void)fprintf(
        stderr,
        "%6.1f s  %llu sent, %llu done (%.1f/s), %llu in flight, %llu failed, TTFT p50 %s, "
        "%.0f tokens/s out\n",
        (double)mono_diff(now, r->t0) / 1e9, (unsigned long long)r->summary.n_sent,
        (unsigned long long)r->tally.n_done, (double)(r->tally.n_done - r->n_live_done) / s,
        (unsigned long long)r->n_in_flight, (unsigned long long)tally_n_failed(&r->tally), ttft,
        (double)(r->tally.completion_tokens - r->live_tokens) / s);
    r->t_live = now;
    r->n_live_done = r->tally.n_done;
    r->live_tokens = r->tally.completion_tokens;
    readings_clear(&r->live_ttft);
}

/* The shorter of the wait and what is left until the next live line; prints that when due. */
static int64_t live_tick(struct load_run *r, int64_t wait_ns)
{
    mono_t now = clock_mono();
    int64_t left;

    if (!r->config.is_live)
        return wait_ns;
    if (mono_diff(now, r->t_live) >= NS_PER_S)
        live_print(r, now);
    left = NS_PER_S - mono_diff(now, r->t_live);
    left = left > 0 ? left : NS_PER_S;
    return wait_ns < 0 || left < wait_ns ? left : wait_ns;
}

static void summarise(struct load_run *r, mono_t t_end)
{
    const struct load_config *c = &r->config;
    struct load_summary *s = &r->summary;
    const struct flight_plan *p = &r->plan;
    static const char *const modes[] = {[SCHEDULE_POISSON] = "poisson",
                                        [SCHEDULE_CONSTANT] = "constant",
                                        [SCHEDULE_TRACE] = "trace"};

    s->url = c->url;
    s->mode = c->concurrency > 0 ? "concurrency" : modes[c->schedule.kind];
    s->issue_ns = r->last_start_ns;
    s->elapsed_ns = mono_is_set(r->tally.t_last_end) && !s->is_interrupted
                        ? mono_diff(r->tally.t_last_end, r->t0)
                        : mono_diff(t_end, r->t0);
    if (c->concurrency == 0 && s->n_sent > 1 && r->last_start_ns > 0)
        s->offered_per_s = (double)(s->n_sent - 1) * 1e9 / (double)r->last_start_ns;
    s->cpu_ratio = (double)(cpu_ns() - r->cpu_before_ns) / (double)mono_diff(t_end, r->t0);
    s->kernel_stamp_ratio = p->n_stamps > 0 ? (double)p->n_kernel_stamps / (double)p->n_stamps : -1;
}

void load_run_go(struct load_run *r)
{
    bool is_closed = r->config.concurrency > 0;

    (void)prctl(PR_SET_TIMERSLACK, 1000UL); /* ns; without it starts are only less exact */
    r->t0 = clock_mono();
    r->t_live = r->t0;
    r->cpu_before_ns = cpu_ns();
    if (!is_closed)
        r->has_next = schedule_next(&r->schedule, &r->next);
    while (!atomic_load(&r->must_end)) {
        int64_t wait_ns = is_closed ? start_free(r) : start_due(r);

        if (wait_ns < 0 && r->n_in_flight == 0)
            break;
        loop_turn(r->plan.loop, live_tick(r, wait_ns));
    }
    r->summary.is_interrupted = atomic_load(&r->must_end);
    r->summary.n_unfinished = flight_abort_all(&r->plan);
    r->n_in_flight = 0;
    summarise(r, clock_mono());
}
