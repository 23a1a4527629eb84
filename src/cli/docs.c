/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/docs.c - the pages under docs/ that come from tables (scripts/gen_docs keeps them fresh).
 */
#include "cli/docs.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/limits.h"
#include "collect/source_out.h"
#include "collect/target.h"
#include "daemon/config.h"
#include "engine/signal.h"
#include "metrics/family.h"
#include "record/record.h"

/* Ours, those of what is scraped, and those of the machine. */
static int render_metrics(struct buf *out)
{
    int r = metrics_to_markdown(out);

    if (r == 0)
        r = signal_to_markdown(out);
    if (r == 0)
        r = target_series_to_markdown(out);
    return r < 0 ? r : source_out_to_markdown(out);
}

static const struct {
    const char *name;
    int (*render)(struct buf *out);
} pages[] = {
    {"config", config_to_markdown},
    {"example", config_to_yaml_example}, /* deploy/inferometer.yaml */
    {"metrics", render_metrics},
    {"record", record_to_markdown},
};

int docs_main(int argc, char **argv)
{
    struct buf out;
    int r = 2;

    buf_init(&out, 4 * MIB);
    for (size_t i = 0; argc == 2 && i < ARRAY_LEN(pages); i++) {
        if (strcmp(argv[1], pages[i].name) != 0)
            continue;
        r = pages[i].render(&out) < 0 ||
            fwrite(buf_span(&out).p, 1, buf_len(&out), stdout) != buf_len(&out);
        buf_done(&out);
        return r;
    }
    (void)fputs("usage: inferometer docs config|example|metrics|record\n",
                argc == 2 ? stdout : stderr);
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : r;
}
