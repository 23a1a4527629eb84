/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert_play.c - what dispatch does, for tests that compare it with Alertmanager.
 *
 *   alert_play play FILE MS    a script (tests/unit/alert/alert_play.h) from standard input, begun
 * at MS; one JSON object for each message alert_play routes FILE     label sets from standard
 * input, one a line (a=1 b=2); the receivers of each, with commas between them alert_play bench how
 * long alerts take
 */
#include "alert_play.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static struct alert_file *file_at(const char *path)
{
    struct buf text;
    buf_init(&text, YAML_BYTES_MAX + 1);
    if (file_read(path, YAML_BYTES_MAX, &text) != 0 || buf_append(&text, span_of("", 1)) != 0) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    struct alert_file *f = kind_file(buf_span(&text).p);
    buf_done(&text);
    return f;
}

static void standard_input(struct buf *to)
{
    buf_init(to, (size_t)64 << 20);
    if (file_read_fd(STDIN_FILENO, (size_t)64 << 20, to) != 0)
        exit(1);
}

static void play(const char *path, int64_t begin_ms)
{
    struct alert_file *f = file_at(path);
    struct buf script;
    struct play p;
    standard_input(&script);
    play_init(&p, f, begin_ms);
    play_script(&p, buf_span(&script));
    (void)fwrite(buf_span(&p.out).p, 1, buf_len(&p.out), stdout);
    play_done(&p);
    buf_done(&script);
    alert_file_unref(f);
}

static void print_receivers(const struct alert_file *f, const char *labels)
{
    struct arena a;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, (size_t)1 << 20);
    assert_int_equal(alert_route_explain(f, kind_labels(&a, labels), &out), 0);
    struct span rest = buf_span(&out);
    for (bool is_first = true; rest.n > 0; is_first = false) {
        struct span line = span_split(&rest, '\n');
        struct span name = span_split(&line, '\t');
        (void)printf("%s%.*s", is_first ? "" : ",", SPAN_ARG(name));
    }
    (void)printf("\n");
    buf_done(&out);
    arena_done(&a);
}

static void routes(const char *path)
{
    struct alert_file *f = file_at(path);
    struct buf input;
    standard_input(&input);
    struct span rest = buf_span(&input);
    while (rest.n > 0) {
        char labels[1000];
        span_copy(span_split(&rest, '\n'), labels, sizeof(labels));
        print_receivers(f, labels);
    }
    buf_done(&input);
    alert_file_unref(f);
}

/* --- how long it takes --- */

enum { BENCH_ALERTS = 10000, BENCH_SILENCES = 1000 };

static int64_t put_all(struct play *p, bool is_resolved)
{
    mono_t begin = clock_mono();
    for (int i = 0; i < BENCH_ALERTS; i++) {
        char texts[4][40];
        (void)snprintf(texts[0], sizeof(texts[0]), "Alert%d", i % 50);
        (void)snprintf(texts[1], sizeof(texts[1]), "gpu-%d", i / 50);
        (void)snprintf(texts[2], sizeof(texts[2]), "P%d", i % 3);
        (void)snprintf(texts[3], sizeof(texts[3]), "host-%d", i / 8);
        struct label pairs[] = {{SPAN("alertname"), span_cstr(texts[0])},
                                {SPAN("gpu"), span_cstr(texts[1])},
                                {SPAN("instance"), span_cstr(texts[3])},
                                {SPAN("severity"), span_cstr(texts[2])}};
        assert_int_equal(play_put(p, (struct labels){pairs, ARRAY_LEN(pairs)}, is_resolved), 0);
    }
    return mono_diff(clock_mono(), begin);
}

static int64_t tell_all(struct play *p, size_t *ret_n)
{
    mono_t begin = clock_mono();
    struct dispatch_due due;
    struct arena a;
    size_t n = 0;
    arena_init(&a, NULL);
    while (dispatch_next(p->d, p->s, p->now_ms, &a, &due) == 1) {
        dispatch_told(p->d, due.token, p->now_ms);
        arena_reset(&a);
        n++;
    }
    arena_done(&a);
    *ret_n = n;
    return mono_diff(clock_mono(), begin);
}

static void say(const char *what, int64_t ns)
{
    (void)printf("%-44s %8.2f ms  %7.0f ns each\n", what, (double)ns / 1e6,
                 (double)ns / BENCH_ALERTS);
}

static void bench_with(const char *name, const char *group_by)
{
    char text[2000];
    size_t n;
    struct play p;
    (void)snprintf(text, sizeof(text),
                   "route:\n"
                   "  receiver: a\n"
                   "  group_by: %s\n"
                   "  routes:\n"
                   "    - {matchers: [severity=P0], receiver: b}\n"
                   "    - {matchers: ['alertname=~\"Alert1.*\"'], receiver: b, continue: true}\n"
                   "    - {matchers: [severity=P1], group_by: [instance]}\n"
                   "inhibit_rules:\n"
                   "  - source_matchers: [severity=P0]\n"
                   "    target_matchers: ['severity=~\"P1|P2\"']\n"
                   "    equal: [alertname, gpu]\n"
                   "  - source_matchers: [alertname=HostDown]\n"
                   "    target_matchers: ['alertname!=HostDown']\n"
                   "    equal: [instance]\n"
                   "receivers:\n"
                   "  - {name: a, webhook_configs: [{url: x}]}\n"
                   "  - {name: b, webhook_configs: [{url: x}]}\n",
                   group_by);
    struct alert_file *f = kind_file(text);
    play_init(&p, f, INT64_C(1800000000000));
    for (int i = 0; i < BENCH_SILENCES; i++) {
        char json[300];
        (void)snprintf(json, sizeof(json),
                       "{\"matchers\": [{\"name\": \"gpu\", \"value\": \"none-%d\"}, {\"name\": "
                       "\"alertname\", \"value\": \"A.*\", \"isRegex\": true}], \"endsAt\": "
                       "\"2030-01-01T00:00:00Z\"}",
                       i);
        play_silence(&p, span_cstr(json));
    }
    (void)printf("%s\n", name);
    say("  first told", put_all(&p, false));
    say("  told again", put_all(&p, false));
    p.now_ms += 30000;
    int64_t ns = tell_all(&p, &n);
    say("  messages of all", ns);
    (void)printf("  %zu messages\n", n);
    p.now_ms += 300000;
    ns = tell_all(&p, &n);
    say("  looked at again, nothing new", ns);
    say("  ended", put_all(&p, true));
    p.now_ms += 300000;
    ns = tell_all(&p, &n);
    say("  messages of all ends", ns);
    play_done(&p);
    alert_file_unref(f);
}

/* What a list of all alerts takes where silences are by pattern: at first, then again, then with
 * one silence more. */
static int count_silenced(void *ctx, const struct dispatch_seen *one)
{
    *(size_t *)ctx += one->silenced_by != NULL;
    return 0;
}

static void pattern_silence(struct play *p, int i)
{
    char json[300];
    (void)snprintf(
        json, sizeof(json),
        "{\"matchers\": [{\"name\": \"alertname\", \"value\": \"(Other|More)[%d-9]+x?\", "
        "\"isRegex\": true}], \"endsAt\": \"2030-01-01T00:00:00Z\"}",
        i % 9);
    play_silence(p, span_cstr(json));
}

static void bench_list(void)
{
    enum { PATTERNS = 2000 };
    static const char *const names[] = {"  listed", "  listed again", "  with one silence more"};
    struct alert_file *f = kind_file("route: {receiver: a}\n"
                                     "receivers: [{name: a, webhook_configs: [{url: x}]}]\n");
    struct play p;
    size_t n_silenced = 0;
    play_init(&p, f, INT64_C(1800000000000));
    for (int i = 0; i < PATTERNS; i++)
        pattern_silence(&p, i);
    (void)put_all(&p, false);
    (void)printf("list of 10,000 alerts, %d silences by pattern\n", PATTERNS);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        mono_t begin = clock_mono();
        assert_int_equal(dispatch_each_alert(p.d, p.s, p.now_ms, count_silenced, &n_silenced), 0);
        say(names[i], mono_diff(clock_mono(), begin));
        pattern_silence(&p, 0);
    }
    assert_int_equal(n_silenced, 0);
    play_done(&p);
    alert_file_unref(f);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "play") == 0) {
        play(argv[2], play_number(span_cstr(argv[3])));
    } else if (argc == 3 && strcmp(argv[1], "routes") == 0) {
        routes(argv[2]);
    } else if (argc == 2 && strcmp(argv[1], "bench") == 0) {
        bench_with("10,000 alerts, each a group of its own", "['...']");
        bench_with("10,000 alerts in 50 groups", "[alertname]");
        bench_with("10,000 alerts in one group", "[]");
        bench_list();
    } else {
        (void)fprintf(stderr, "usage: alert_play play FILE MS | routes FILE | bench\n");
        return 2;
    }
    return 0;
}
