/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/target_series.c - the table of series that are about targets and not of their pages.
 */
#include "collect/source_out.h"
#include "collect/target.h"

static const struct source_series series[] = {
    {"up", METRIC_GAUGE, "", "", "1 while the last scrape of a target was good, else 0."},
    {"scrape_duration_seconds", METRIC_GAUGE, "seconds", "", "How long the last scrape took."},
    {"scrape_samples_scraped", METRIC_GAUGE, "", "", "Samples on the page."},
    {"scrape_samples_post_metric_relabeling", METRIC_GAUGE, "", "",
     "Those that metric_relabel_configs left."},
    {"scrape_series_added", METRIC_GAUGE, "", "", "Series that were not on the page before."},
    {"scrape_fault", METRIC_GAUGE, "", "reason",
     "1 while a target is down, and why: name, refused, reset, timeout, tls, redirect, network, "
     "status, body, limit, relabel, credentials, request. Not there while it is up."},
    {"engine_signal_missing", METRIC_GAUGE, "", "signal, cause",
     "1 for a signal that an engine's page does not tell. Cause: drifted (it was told within a "
     "day, "
     "and its name went), absent (it should be there), no_data (its name is there, without "
     "values), "
     "version (other versions have it), never (none has). Not there for what is told."},
    {"source_up", METRIC_GAUGE, "", "source, cluster",
     "1 while a source on this machine works, 0 while it is broken or hangs; not there where there "
     "is no such thing."},
};

const struct source_series *target_series_at(size_t i)
{
    return i < ARRAY_LEN(series) ? &series[i] : NULL;
}

int target_series_to_markdown(struct buf *out)
{
    int r = buf_printf(out, "\n## About what is scraped\n\n"
                            "With the labels of the target (job, instance and those of its "
                            "group). Names of a page stay as\nthey are; its signals above have the "
                            "target's labels, too.\n\n"
                            "| metric | type | unit | labels | what it is |\n"
                            "|---|---|---|---|---|\n");

    for (size_t i = 0; i < ARRAY_LEN(series) && r == 0; i++)
        r = buf_printf(out, "| `%s` | %s | %s | %s | %s |\n", series[i].series,
                       metric_type_name(series[i].type), series[i].unit, series[i].labels,
                       series[i].help);
    return r;
}
