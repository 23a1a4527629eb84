/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: every text is either accepted or has at least one mistake with a place inside
 * it; what is accepted reads back from its own print as the same configuration, and makes a
 * gateway configuration. fuzz-links: daemon
 */
#include <stdlib.h>

#include "daemon/config_build.h"
#include "fuzz.h"

static void require(int ok)
{
    if (!ok)
        abort();
}

static int load(struct span text, struct config **ret, struct err_list *errs)
{
    struct config_build b;

    err_list_init(errs);
    require(config_build_begin(&b, errs) == 0);
    config_build_text(&b, text, "f");
    return config_build_finish(&b, true, ret);
}

static void check_mistakes(const struct err_list *errs, struct span text)
{
    int n_lines = 1;

    for (size_t i = 0; i < text.n; i++)
        n_lines += text.p[i] == '\n' || text.p[i] == '\r' || (unsigned char)text.p[i] >= 0x80;
    require(errs->n > 0);
    for (size_t i = 0; i < errs->n; i++) {
        const struct err_item *item = &errs->items[i];

        require(item->err.code < 0 && item->err.text[0] != '\0');
        require(item->line >= 0 && item->line <= n_lines + 1);
        require((item->line == 0) == (item->column == 0));
        for (const char *p = item->err.text; *p; p++)
            require((unsigned char)*p >= 0x20);
    }
}

static void check_reads_back(const struct config *c)
{
    static struct err_list errs;
    const char *paths[CONFIG_KEYS_MAX];
    struct gateway_config *g = NULL;
    struct config *back = NULL;
    struct buf out;

    buf_init(&out, (size_t)8 << 20);
    require(config_to_yaml(c, &out) == 0);
    require(load(buf_span(&out), &back, &errs) == 0);
    require(config_diff(c, back, CONFIG_RESTART, paths) == 0);
    require(config_diff(c, back, CONFIG_RELOAD, paths) == 0);
    require(config_to_gateway(c, &g, NULL) == 0);
    gateway_config_unref(g);
    config_unref(back);
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct err_list errs;
    struct config *c = NULL;

    if (size > 20000) /* slow for nothing */
        return 0;
    if (load(span_of(data, size), &c, &errs) == 0) {
        check_reads_back(c);
        config_unref(c);
    } else {
        check_mistakes(&errs, span_of(data, size));
    }
    return 0;
}
