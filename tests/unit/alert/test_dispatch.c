/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch: who is told what, and when. Scripts are those of alert_play.h; times are in ms.
 */
#include "alert_play.h"

#define RECEIVERS                                                                                  \
    "receivers:\n"                                                                                 \
    "  - {name: a, webhook_configs: [{url: x}]}\n"                                                 \
    "  - {name: b, webhook_configs: [{url: x}]}\n"                                                 \
    "  - {name: quiet, email_configs: [{url: x}]}\n" /* not told of ends */                        \
    "  - {name: two, webhook_configs: [{url: x}, {url: y}]}\n"                                     \
    "  - {name: none}\n"
/* Waits 10 s, looks again each 60 s, repeats after 1 h. */
#define TIMES "group_wait: 10s, group_interval: 1m, repeat_interval: 1h"

static const char simple[] = "route: {receiver: a, group_by: [g], " TIMES "}\n" RECEIVERS;
static const char quiet[] = "route: {receiver: quiet, group_by: [g], " TIMES "}\n" RECEIVERS;
static const char two[] = "route: {receiver: two, group_by: [g], " TIMES "}\n" RECEIVERS;
static const char none[] = "route: {receiver: none, group_by: [g], " TIMES "}\n" RECEIVERS;
static const char routes[] =
    "route:\n"
    "  {receiver: a, group_by: [g], " TIMES ", routes: [\n"
    "    {matchers: [s=0], receiver: b, group_by: ['...'], group_wait: 0s, continue: true},\n"
    "    {matchers: [s=0], receiver: two},\n"
    "    {matchers: [s=1], receiver: b}]}\n" RECEIVERS;
static const char inhibits[] =
    "route: {receiver: a, group_by: [alertname], " TIMES "}\n" RECEIVERS
    "inhibit_rules: [{source_matchers: [s=0], target_matchers: [s=1], equal: [g]}]\n";
static const char nights[] =
    "route: {receiver: a, group_by: [g], " TIMES ", routes: [\n"
    "  {matchers: [n=1], mute_time_intervals: [early]}]}\n" RECEIVERS
    "time_intervals: [{name: early, time_intervals: [{times: [{start_time: '00:00', end_time: "
    "'00:10'}]}]}]\n";

#define SILENCE(name, value, end)                                                                  \
    "silence {\"matchers\": [{\"name\": \"" name "\", \"value\": \"" value                         \
    "\"}], \"endsAt\": \"1970-01-02T" end "Z\"}\n"

/* The first day of the epoch is left out: 86400000 is 0 in what follows. */
static const struct {
    const char *name, *file, *script, *want;
} rows[] = {
    {"waits for others, tells once, tells the end", simple,
     "at 0\nfire alertname=x\nat 9000\nfire alertname=y\nat 100000\nend alertname=x\n"
     "at 150000\nend alertname=y\nat 100000000\n",
     "10000 a/0 +x +y first notification\n"
     "130000 a/0 +y -x some alerts resolved\n"
     "190000 a/0 -y all alerts resolved\n"},
    {"a new one in a group waits for its interval", simple,
     "at 0\nfire alertname=x\nat 20000\nfire alertname=y\nat 200000\n",
     "10000 a/0 +x first notification\n70000 a/0 +x +y new alerts added\n"},
    {"groups are apart", simple,
     "at 0\nfire alertname=x g=1\nat 1000\nfire alertname=y g=2\nat 60000\n",
     "10000 a/0 +x first notification\n11000 a/0 +y first notification\n"},
    {"repeats after its interval, at the next look behind it", simple,
     "at 0\nfire alertname=x\nat 7400000\n",
     "10000 a/0 +x first notification\n3670000 a/0 +x repeat interval elapsed\n"
     "7330000 a/0 +x repeat interval elapsed\n"},
    {"fires and ends before it is told", simple,
     "at 0\nfire alertname=x\nat 5000\nend alertname=x\nat 1000000\n", ""},
    {"fires, ends and fires again before it is told", simple,
     "at 0\nfire alertname=x\nat 3000\nend alertname=x\nat 6000\nfire alertname=x\nat 60000\n",
     "10000 a/0 +x first notification\n"},
    {"fires again between two looks", simple,
     "at 0\nfire alertname=x\nat 20000\nend alertname=x\nat 30000\nfire alertname=x\nat 600000\n",
     "10000 a/0 +x first notification\n"},
    {"fires again after its end was told: it waits as a new one", simple,
     "at 0\nfire alertname=x\nat 20000\nend alertname=x\nat 75000\nfire alertname=x\nat 600000\n",
     "10000 a/0 +x first notification\n70000 a/0 -x all alerts resolved\n"
     "85000 a/0 +x first notification\n"},
    {"an end is told once, however often it comes", simple,
     "at 0\nfire alertname=x\nat 20000\nend alertname=x\nat 80000\nend alertname=x\nat 90000\n"
     "fire alertname=y\nat 140000\nend alertname=x\nat 1000000\n",
     "10000 a/0 +x first notification\n70000 a/0 -x all alerts resolved\n"
     "100000 a/0 +y first notification\n160000 a/0 +y -x some alerts resolved\n"},
    {"not told again until it stops holding: resolved", simple,
     "at 0\nhold 240000\nfire alertname=x\nat 60000\nfire alertname=x\nat 1000000\n",
     "10000 a/0 +x first notification\n310000 a/0 -x all alerts resolved\n"},
    {"an end that nobody knows of, as after a restart", simple,
     "at 0\nend alertname=x\nat 1000000\n", ""},
    {"began long ago: does not wait", simple, "at 0\nage 60000\nfire alertname=x\nat 5000\n",
     "0 a/0 +x first notification\n"},
    {"receivers that are not told of ends", quiet,
     "at 0\nfire alertname=x\nfire alertname=y\nat 20000\nend alertname=x\nat 80000\n"
     "end alertname=y\nat 200000\nfire alertname=x\nat 300000\n",
     "10000 quiet/0 +x +y first notification\n210000 quiet/0 +x first notification\n"},
    {"each integration on its own", two,
     "fail two 1 25000\nat 0\nfire alertname=x\nat 20000\nfire alertname=y\nat 60000\n",
     "10000 two/0 +x first notification failed\n10000 two/1 +x first notification\n"
     "35000 two/0 +x +y first notification\n"},
    {"a receiver without integrations tells nobody", none,
     "at 0\nfire alertname=x\nat 100000\nend alertname=x\nat 200000\n", ""},
    {"a failed one is tried again with what is there then", simple,
     "fail a 3 20000\nat 0\nfire alertname=x\nat 35000\nfire alertname=y\nat 200000\n",
     "10000 a/0 +x first notification failed\n30000 a/0 +x first notification failed\n"
     "50000 a/0 +x +y first notification failed\n70000 a/0 +x +y first notification\n"},
    {"what ended before it could be told is not told", simple,
     "fail a 1 20000\nat 0\nfire alertname=x\nat 25000\nend alertname=x\nat 1000000\n",
     "10000 a/0 +x first notification failed\n"},
    {"an end is kept until it is told", simple,
     "at 0\nfire alertname=x\nat 20000\nend alertname=x\nfail a 3 500000\nat 10000000\n",
     "10000 a/0 +x first notification\n70000 a/0 -x all alerts resolved failed\n"
     "570000 a/0 -x all alerts resolved failed\n1070000 a/0 -x all alerts resolved failed\n"
     "1570000 a/0 -x all alerts resolved\n"},
    {"a slow one does not hold up others, and is looked at when it is back", routes,
     "slow a 150000\nat 0\nfire alertname=x\nfire alertname=y s=1\nat 30000\nfire alertname=z\n"
     "fire alertname=w s=1\nat 1000000\n",
     "10000 a/0 +x first notification\n10000 b/0 +y first notification\n"
     "70000 b/0 +w +y new alerts added\n160000 a/0 +x +z new alerts added\n"},
    {"continue: several receivers, grouped each its own way", routes,
     "at 0\nfire alertname=x s=0 g=1\nfire alertname=y s=0 g=1\nat 60000\n",
     "0 b/0 +x first notification\n0 b/0 +y first notification\n"
     "10000 two/0 +x +y first notification\n10000 two/1 +x +y first notification\n"},
    {"silenced before it is told; told when that is over", simple,
     "at 0\n" SILENCE("alertname", "x", "00:02:00") "fire alertname=x\nat 600000\n",
     "130000 a/0 +x first notification\n"},
    {"only some of a group are silenced", simple,
     "at 0\n" SILENCE("alertname", "x",
                      "00:02:00") "fire alertname=x\nfire alertname=y\nat 600000\n",
     "10000 a/0 +y first notification\n130000 a/0 +x +y new alerts added\n"},
    {"silenced after it was told: quiet, and no repetition", simple,
     "at 0\nfire alertname=x\nat 60000\n" SILENCE("alertname", "x", "02:00:00") "at 7100000\n",
     "10000 a/0 +x first notification\n"},
    {"ended while silenced, then fires anew", simple,
     "at 0\nfire alertname=x\nat 60000\n" SILENCE(
         "alertname", "x",
         "00:10:00") "at 100000\nend alertname=x\nat 700000\nfire alertname=x\nat 900000\n",
     "10000 a/0 +x first notification\n710000 a/0 +x first notification\n"},
    {"inhibited by another group's alert, until that ends", inhibits,
     "at 0\nfire alertname=x s=0 g=1\nfire alertname=y s=1 g=1\nfire alertname=z s=1 g=2\nat "
     "100000\n"
     "end alertname=x s=0 g=1\nat 200000\n",
     "10000 a/0 +x first notification\n10000 a/0 +z first notification\n"
     "130000 a/0 -x all alerts resolved\n130000 a/0 +y first notification\n"},
    {"a source that is not told again inhibits no longer", inhibits,
     "at 0\nhold 30000\nfire alertname=x s=0\nhold 900000\nfire alertname=y s=1\nat 75000\n",
     "10000 a/0 +x first notification\n70000 a/0 -x all alerts resolved\n"
     "70000 a/0 +y first notification\n"},
    {"outside of its times a route is quiet", nights,
     "at 0\nfire alertname=x n=1\nfire alertname=y g=1\nat 700000\n",
     "10000 a/0 +y first notification\n610000 a/0 +x first notification\n"},
};

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum { DAY = 86400000 };
        struct alert_file *f = kind_file(rows[i].file);
        struct play p;
        struct buf moved;
        play_init(&p, f, DAY);
        p.names_only = true;
        buf_init(&moved, 100000);
        struct span script = span_cstr(rows[i].script);
        while (script.n > 0) { /* "at" counts from the second day */
            struct span line = span_split(&script, '\n'), rest = line;
            struct span word = span_split(&rest, ' ');
            int r = span_eq(word, SPAN("at"))
                        ? buf_printf(&moved, "at %lld\n", (long long)(DAY + play_number(rest)))
                        : buf_printf(&moved, "%.*s\n", SPAN_ARG(line));
            assert_int_equal(r, 0);
        }
        play_script(&p, buf_span(&moved));
        buf_clear(&moved);
        struct span out = buf_span(&p.out);
        while (out.n > 0) {
            struct span line = span_split(&out, '\n'), ms = span_split(&line, ' ');
            assert_int_equal(buf_printf(&moved, "%lld %.*s\n", (long long)(play_number(ms) - DAY),
                                        SPAN_ARG(line)),
                             0);
        }
        assert_span_equal(rows[i].name, buf_span(&moved), span_cstr(rows[i].want));
        buf_done(&moved);
        play_done(&p);
        alert_file_unref(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
