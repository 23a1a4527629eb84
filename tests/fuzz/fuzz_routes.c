/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file: every text is accepted or has a mistake with a place inside it; what is accepted
 * prints as a file that reads and prints as the same, and takes every alert. The matchers of a line
 * by itself print as what reads back. Kinds of receivers are made up here. fuzz-links: alert
 */
#include "pieces.h"

#include <errno.h>

#include "alert/matchers.h"
#include "alert/receiver.h"

static int read_kind(const struct yaml_node *map, const struct yaml_node *global, const char *where,
                     struct arena *a, const void **ret, struct err_list *errs)
{
    (void)map;
    (void)global;
    (void)where;
    (void)a;
    (void)errs;
    *ret = "";
    return 0;
}

static void print_kind(const void *config, struct yamlw *w)
{
    (void)config;
    yamlw_key(w, "url");
    yamlw_secret(w);
}

static const struct receiver_kind webhook = {
    .key = "webhook_configs", .name = "webhook", .read = read_kind, .print = print_kind};
const struct receiver_kind *const receiver_table[] = {&webhook};
const size_t receiver_table_n = 1;

static void check_mistakes(const struct err_list *errs, struct span text)
{
    int n_lines = 1;
    for (size_t i = 0; i < text.n; i++)
        n_lines += text.p[i] == '\n' || text.p[i] == '\r' || (unsigned char)text.p[i] >= 0x80;
    FUZZ_CHECK(errs->n > 0);
    for (size_t i = 0; i < errs->n; i++) {
        const struct err_item *e = &errs->items[i];
        FUZZ_CHECK(e->err.code < 0 && e->err.text[0] != '\0');
        FUZZ_CHECK(e->line >= 0 && e->line <= n_lines + 1);
    }
}

static void check_file(const struct alert_file *f)
{
    static struct err_list errs;
    struct alert_file *again = NULL;
    struct buf first, second, routes;
    struct label pair = {SPAN("severity"), SPAN("P0")};
    buf_init(&first, (size_t)16 << 20);
    buf_init(&second, (size_t)16 << 20);
    buf_init(&routes, (size_t)16 << 20);
    FUZZ_CHECK(alert_file_print(f, &first) == 0);
    err_list_init(&errs);
    FUZZ_CHECK(alert_file_read(buf_span(&first), "again", &again, &errs) == 0);
    FUZZ_CHECK(alert_file_print(again, &second) == 0);
    FUZZ_CHECK(span_eq(buf_span(&first), buf_span(&second)));
    FUZZ_CHECK(alert_route_explain(f, (struct labels){&pair, 1}, &routes) == 0);
    FUZZ_CHECK(buf_len(&routes) > 0);
    alert_file_unref(again);
    buf_done(&first);
    buf_done(&second);
    buf_done(&routes);
}

static void check_matchers(struct span text)
{
    struct alert_matchers m = {NULL, 0, 0}, back = {NULL, 0, 0};
    struct err err = {.text = ""};
    struct arena a;
    struct buf b;
    arena_init(&a, NULL);
    buf_init(&b, (size_t)1 << 20);
    int r = alert_matchers_parse(&a, text, &m, &err);
    FUZZ_CHECK(r == 0 || (r == -EINVAL && err.text[0]));
    if (r == 0) {
        FUZZ_CHECK(alert_matchers_print(m.at, m.n, &b) == 0);
        FUZZ_CHECK(alert_matchers_parse(&a, buf_span(&b), &back, &err) == 0);
        FUZZ_CHECK(back.n == m.n);
        for (size_t i = 0; i < m.n; i++)
            FUZZ_CHECK(m.at[i].op == back.at[i].op && span_eq(m.at[i].name, back.at[i].name) &&
                       span_eq(m.at[i].value, back.at[i].value));
    }
    alert_matchers_done(&m);
    alert_matchers_done(&back);
    buf_done(&b);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct err_list errs;
    struct span text = span_of(data, size), rest = text;
    struct alert_file *f = NULL;
    if (size > 10000)
        return 0;
    check_matchers(span_split(&rest, '\n'));
    err_list_init(&errs);
    int r = alert_file_read(text, "f", &f, &errs);
    FUZZ_CHECK(r == 0 || r == -EINVAL);
    if (r == 0)
        check_file(f);
    else
        check_mistakes(&errs, text);
    alert_file_unref(f);
    return 0;
}
