/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include "export/export.h"

#define PROTO "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily"

static void test_format(void **state)
{
    (void)state;
    static const struct {
        const char *accept, *want;
    } rows[] = {
        {"", "text"},
        {"*/*", "text"},
        {"text/*;q=0.3", "text"},
        {"text/html", "text"},
        {"text/plain", "text"},
        {"text/plain;version=0.0.4", "text"},
        {"application/openmetrics-text", "openmetrics"},
        {"application/openmetrics-text; version=1.0.0", "openmetrics"},
        {"application/openmetrics-text; version=\"1.0.0\"; charset=utf-8", "openmetrics"},
        {"APPLICATION/OpenMetrics-Text;Version=1.0.0", "openmetrics"},
        {"application/openmetrics-text;version=0.0.1", "text"},
        {"application/openmetrics-text;version=2.0.0", "text"},
        {PROTO ";encoding=delimited", "protobuf"},
        {PROTO ";encoding=text", "text"},
        {PROTO, "text"},
        {"application/vnd.google.protobuf", "text"},
        {"application/openmetrics-text;q=0.5,text/plain;q=0.6", "text"},
        {"application/openmetrics-text;q=0.6,text/plain;q=0.5", "openmetrics"},
        {"application/openmetrics-text;q=0,*/*;q=0.1", "text"},
        {"application/openmetrics-text;q=zero", "text"},
        {"application/openmetrics-text;q=0.5,text/plain;version=0.0.4;q=0.5", "openmetrics"},
        {",,application/openmetrics-text", "openmetrics"},
        {";;;,=,q=1", "text"},
        /* What Prometheus sends: 2.42, 2.42 with native histograms, 3. */
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
         "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         "openmetrics"},
        {PROTO ";encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/"
               "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         "protobuf"},
        {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
         "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;"
         "q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         "openmetrics"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct export_format *f = negotiate_format(span_cstr(rows[i].accept));
        assert_row(rows[i].accept, strcmp(f->name, rows[i].want) == 0);
    }
}

static void test_gzip(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        bool want;
    } rows[] = {
        {"", false},
        {"gzip", true},
        {"GZIP", true},
        {"x-gzip", true},
        {"deflate, br", false},
        {"deflate, gzip;q=1.0, *;q=0.5", true},
        {"gzip;q=0", false},
        {"gzip;q=0, *", false},
        {"*", true},
        {"*;q=0", false},
        {"identity", false},
        {"identity;q=1, gzip;q=0.5", false},
        {"identity;q=0.5, gzip", true},
        {"gzip;q=x", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].accept, negotiate_gzip(span_cstr(rows[i].accept)) == rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_format), cmocka_unit_test(test_gzip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
