/* SPDX-License-Identifier: Apache-2.0 */
/* Screens of any size are full and no line is too long; keys change what they say. */
#include "pages.h"

#include "base/attr.h"
#include "base/mem.h"
#include "memfail.h"
#include "top/cells.h"
#include "top/keys.h"
#include "top/screen.h"

struct world {
    struct top_feed feed;
    struct top_lists lists;
    struct top_keys keys;
    struct top_table table;
    struct buf text;
};

static const char status[] =
    "{\"version\":\"0.1.0\",\"state\":\"serving\",\"uptime_s\":90,\"upstreams\":["
    "{\"name\":\"u\",\"breaker\":\"closed\",\"in_flight\":1,\"waiting\":0,\"waiting_batch\":0},"
    "{\"name\":\"bad-one\",\"breaker\":\"open\",\"in_flight\":0,\"waiting\":2,\"waiting_batch\":1}]"
    "}";
static const char flights[] =
    "{\"requests\":[{\"request_id\":\"1\",\"model\":\"young\",\"upstream\":\"u\",\"age_ms\":10,"
    "\"since_first_token_ms\":null,\"since_last_token_ms\":null,\"stalled_ms\":null,"
    "\"n_output_events\":0},"
    "{\"request_id\":\"2\",\"model\":\"old\\u001b[2J\",\"upstream\":\"u\",\"age_ms\":65000,"
    "\"since_first_token_ms\":64000,\"since_last_token_ms\":5000,\"stalled_ms\":4000,"
    "\"n_output_events\":7}]}";
static const char alerts[] =
    "{\"data\":{\"alerts\":[{\"labels\":{\"alertname\":\"Waits\",\"tier\":\"P2\"},"
    "\"annotations\":{},\"state\":\"pending\",\"activeAt\":\"2026-11-30T12:00:00Z\"},"
    "{\"labels\":{\"alertname\":\"Fires\",\"tier\":\"P0\",\"model\":\"m\"},"
    "\"annotations\":{\"summary\":\"it\\nburns\"},\"state\":\"firing\","
    "\"activeAt\":\"2026-11-30T12:01:00Z\"}]}}";

static void world_init(struct world *w)
{
    static const bool by[TOP_DIMS_MAX] = {true, true};
    *w = (struct world){0};
    feed_begin(&w->feed);
    feed_take(&w->feed, PAGE_REQUESTS("m", "a", "ok", "10"), 10000);
    feed_take(&w->feed, PAGE_REQUESTS("m", "a", "ok", "40") PAGE_REQUESTS("n", "a", "ok", "10"),
              20000);
    top_lists_init(&w->lists);
    assert_int_equal(top_lists_status(&w->lists, span_cstr(status)), 0);
    assert_int_equal(top_lists_flights(&w->lists, span_cstr(flights)), 0);
    assert_int_equal(top_lists_alerts(&w->lists, span_cstr(alerts)), 0);
    top_keys_init(&w->keys, &w->feed, by);
    w->keys.wish.window_ms = 10000;
    w->keys.view = (struct top_view){.width = 80, .height = 24, .where = SPAN("here")};
    buf_init(&w->text, 1 << 20);
}

static void world_done(struct world *w)
{
    top_table_done(&w->table);
    top_lists_done(&w->lists);
    top_feed_done(&w->feed);
    buf_done(&w->text);
}

static int draw(struct world *w)
{
    top_table_done(&w->table);
    buf_clear(&w->text);
    w->keys.wish.n_trend = top_view_trend(&w->keys.view);
    int r = top_table_make(&w->feed, &w->keys.wish, &w->table);
    if (r == 0)
        r = top_view_draw(&w->keys.view, &w->feed, &w->keys.wish, &w->table, &w->lists, &w->text);
    return r;
}

static bool says(struct world *w, const char *text)
{
    assert_int_equal(draw(w), 0);
    return span_find(buf_span(&w->text), span_cstr(text)) < buf_len(&w->text);
}

static bool press(struct world *w, int key)
{
    size_t n = top_view_items(w->keys.view.focus, &w->table, &w->lists);
    return top_keys_press(&w->keys, key, n);
}

/* Without bytes of styles. */
static size_t columns(struct span line)
{
    size_t n = top_cells_width(line);
    for (size_t i = 0; i < line.n; i++)
        n -= (unsigned char)line.p[i] <= TOP_REVERSE;
    return n;
}

static void sizes(void **state)
{
    static const size_t sizes[][2] = {{60, 17},  {80, 24},  {110, 30},
                                      {189, 40}, {200, 50}, {500, 100}};
    struct world w;
    (void)state;
    world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        for (int pane = 0; pane < TOP_PANES; pane++) {
            w.keys.view.width = sizes[i][0];
            w.keys.view.height = sizes[i][1];
            w.keys.view.focus = (enum top_pane)pane;
            assert_int_equal(draw(&w), 0);
            struct span rest = buf_span(&w.text);
            size_t n = 0;
            for (; rest.n > 0; n++)
                assert_true(columns(span_split(&rest, '\n')) <= sizes[i][0]);
            assert_int_equal(n, sizes[i][1]);
        }
    }
    w.keys.view.width = 59;
    assert_true(says(&w, "at least 60 columns"));
    w.keys.view.height = 0;
    w.keys.view.width = 1;
    assert_int_equal(draw(&w), 0);
    assert_true(buf_len(&w.text) < 8);
    world_done(&w);
}

static void what_is_there(void **state)
{
    static const char *const texts[] = {
        "inferometer 0.1.0 at here, serving, up 90.0s",
        "4 req/s, errors 0%",
        "upstreams 1 of 2 good: bad-one",
        "2 rows by model, upstream, last 10.0s, p99",
        "m / u",
        "open requests: 2",
        "stalled    65.0s   1.00s   5.00s      7 old?[2J",
        "waits     10.0ms       -       -      0 young",
        "alerts: 1 firing, 1 pending",
        "P0",
        "Fires",
        "model=m  it?burns",
    };
    struct world w;
    (void)state;
    world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_row(texts[i], says(&w, texts[i]));
    w.keys.view.trouble = SPAN("no answer from x");
    w.keys.view.stale_s = 12;
    assert_true(says(&w, "no answer for 12.0s: no answer from x"));
    world_done(&w);
}

static void keys(void **state)
{
    static const struct {
        int key;
        const char *says;
    } rows[] = {
        {'g', "by model,"},
        {'g', "by upstream,"},
        {'g', "by tenant,"},
        {'g', "1 rows,"},
        {'g', "by model, upst"},
        {'p', "p50"},
        {'t', "TPOT 5m"},
        {'w', "last 10.0s"},
        {'/', "show rows with: _"},
        {'n', "with: n_"},
        {'q', "with: nq_"},
        {TOP_KEY_RUBOUT, "with: n_"},
        {TOP_KEY_ENTER, "1 rows by model, upstream with \"n\""},
        {TOP_KEY_ESCAPE, "2 rows"},
        {' ', "PAUSED"},
        {'?', "any key: back"},
        {'q', "2 rows"},
    };
    struct world w;
    (void)state;
    world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_row(rows[i].says, press(&w, rows[i].key));
        assert_row(rows[i].says, says(&w, rows[i].says));
    }
    assert_true(press(&w, '\t'));
    assert_int_equal(w.keys.view.focus, TOP_PANE_FLIGHTS);
    for (int i = 0; i < 5; i++)
        assert_true(press(&w, TOP_KEY_DOWN));
    assert_int_equal(w.keys.view.scroll, 1); /* the last of two */
    assert_true(press(&w, TOP_KEY_PAGE_UP));
    assert_int_equal(w.keys.view.scroll, 0);
    assert_false(press(&w, 'q'));
    assert_false(press(&w, TOP_KEY_GONE));
    assert_false(press(&w, TOP_KEY_INTERRUPT));
    world_done(&w);
}

static size_t lines_of(struct world *w)
{
    size_t n = 0;
    assert_int_equal(draw(w), 0);
    for (struct span rest = buf_span(&w->text); rest.n > 0; n++)
        (void)span_split(&rest, '\n');
    return n;
}

/* More of everything than the smallest screen has room for. */
static void the_smallest_screen(void **state)
{
    struct world w;
    struct buf b;
    (void)state;
    world_init(&w);
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 50; i++)
        assert_int_equal(buf_printf(&b, PAGE_REQUESTS("m%d", "a", "ok", "%d"), i, i + 1), 0);
    assert_int_equal(top_feed_page(&w.feed, buf_span(&b), 30000), 0);
    buf_done(&b);
    w.keys.view.width = TOP_WIDTH_MIN;
    w.keys.view.height = TOP_HEIGHT_MIN;
    for (int pane = 0; pane < TOP_PANES; pane++) {
        w.keys.view.focus = (enum top_pane)pane;
        assert_int_equal(lines_of(&w), TOP_HEIGHT_MIN);
    }
    w.keys.view.is_help = true;
    assert_int_equal(lines_of(&w), TOP_HEIGHT_MIN);
    world_done(&w);
}

/* A text that is longer than all limits is cut, and the rest is still there. */
static void long_texts(void **state)
{
    enum { LONG = 70000 };
    struct world w;
    struct buf b;
    char *text = mem_zalloc(LONG + 1, 1);
    (void)state;
    memset(text, 'x', LONG);
    world_init(&w);
    buf_init(&b, 4 << 20);
    assert_int_equal(buf_printf(&b, PAGE_REQUESTS("%s", "%s", "ok", "7"), text, text), 0);
    assert_int_equal(top_feed_page(&w.feed, buf_span(&b), 30000), 0);
    buf_clear(&b);
    assert_int_equal(buf_append(&b, SPAN("{\"upstreams\":[{\"name\":\"first\"}")), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(buf_printf(&b, ",{\"name\":\"%s\"}", text), 0);
    assert_int_equal(buf_append(&b, SPAN("]}")), 0);
    assert_int_equal(top_lists_status(&w.lists, buf_span(&b)), 0);
    buf_clear(&b);
    assert_int_equal(
        buf_printf(&b,
                   "{\"data\":{\"alerts\":[{\"labels\":{\"alertname\":\"Long\",\"%s\":\"%s\","
                   "\"b\":\"%s\"},\"annotations\":{\"summary\":\"%s\"}}]}}",
                   text, text, text, text),
        0);
    assert_int_equal(top_lists_alerts(&w.lists, buf_span(&b)), 0);
    w.keys.view.width = 200;
    w.keys.view.height = 50;
    assert_true(says(&w, "upstreams 0 of 11 good: first, xxx"));
    assert_true(says(&w, " Long "));
    assert_true(says(&w, "q quit"));
    buf_done(&b);
    mem_free(text);
    world_done(&w);
}

static int attempt(void *ctx)
{
    struct world *w = ctx;
    buf_done(&w->text);
    buf_init(&w->text, 1 << 20);
    int r = draw(w);
    top_table_done(&w->table);
    buf_done(&w->text);
    return r;
}

static void without_memory(void **state)
{
    struct world w;
    (void)state;
    world_init(&w);
    assert_true(memfail_each(attempt, &w) > 4);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),      cmocka_unit_test(what_is_there),
        cmocka_unit_test(keys),       cmocka_unit_test(the_smallest_screen),
        cmocka_unit_test(long_texts), cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests_name("top/view", tests, NULL, NULL);
}
