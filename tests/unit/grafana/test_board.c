/* SPDX-License-Identifier: Apache-2.0 */
/* Boards fit their grid and say what they show; nothing is half written without memory. */
#include "harness.h"

#include "grafana/board.h"
#include "memfail.h"

static void panels_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < board_all_n; i++) {
        const struct board *b = board_all[i];
        assert_row(b->name, b->title && b->help && b->rows[0].title);
        assert_row(b->name, !b->rows[BOARD_ROWS_MAX - 1].title); /* none was cut off */
        for (size_t r = 0; r < BOARD_ROWS_MAX && b->rows[r].title; r++)
            for (size_t k = 0; k < BOARD_PANELS_MAX && b->rows[r].panels[k].title; k++) {
                const struct board_panel *p = &b->rows[r].panels[k];
                assert_row(p->title, p->help && p->width > 0 && p->width <= BOARD_COLUMNS);
                assert_row(p->title, p->height > 0 && p->queries[0].expr);
                assert_row(p->title, p->kind != BOARD_HEATMAP || !p->queries[1].expr);
                for (size_t q = 0; q < BOARD_QUERIES_MAX && p->queries[q].expr; q++)
                    assert_row(p->queries[q].expr, p->queries[q].legend != NULL);
            }
    }
}

static bool has(const struct buf *b, const char *text)
{
    return span_find(buf_span(b), span_cstr(text)) < buf_len(b);
}

static void labels_of_a_set_up(void **state)
{
    static const struct span labels[] = {SPAN_INIT("tenant"), SPAN_INIT("team")};
    const struct board_setup with = {labels, 2}, without = {NULL, 0};
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    assert_int_equal(board_write(&board_latency, &with, &b), 0);
    assert_true(has(&b, "\"query\":\"model,upstream,version,endpoint,tenant,team\""));
    buf_clear(&b);
    assert_int_equal(board_write(&board_latency, &without, &b), 0);
    assert_true(has(&b, "\"query\":\"model,upstream,version,endpoint\""));
    assert_true(has(&b, "\"uid\":\"inferometer-latency\""));
    buf_clear(&b);
    assert_int_equal(board_write_source(SPAN("http://a/\"b"), &b), 0);
    assert_true(has(&b, "url: \"http://a/\\\"b\"\n"));
    /* Grafana puts variables in for $NAME. */
    buf_clear(&b);
    assert_int_equal(board_write_source(SPAN("$http://a$$HOME/${x}"), &b), 0);
    assert_true(has(&b, "url: \"$$http://a$$$$HOME/$${x}\"\n"));
    buf_clear(&b);
    assert_int_equal(board_write_provider(SPAN("/a\n'$b"), &b), 0);
    assert_true(has(&b, "{path: \"/a\\n'$$b\"}\n"));
    buf_done(&b);
}

static int attempt(void *ctx)
{
    const struct board_setup setup = {NULL, 0};
    struct buf b;
    buf_init(&b, 1 << 20);
    int r = board_write(ctx, &setup, &b);
    if (r == 0)
        r = board_write_provider(SPAN("/$x"), &b);
    buf_done(&b);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < board_all_n; i++)
        assert_true(memfail_each(attempt, (void *)(size_t)board_all[i]) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_fit),
        cmocka_unit_test(labels_of_a_set_up),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests_name("grafana/board", tests, NULL, NULL);
}
