/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text.h - configurations from texts, with the mistakes that were found in them.
 */
#ifndef CONFIG_TEXT_H
#define CONFIG_TEXT_H

#include <stdlib.h>
#include <unistd.h>

#include "daemon/config_build.h"
#include "harness.h"

/* What the last load said. */
static struct err_list errs;

/* A text as if it were the file f.yaml; is_whole: required keys have to be there. */
static inline int load_span(struct span text, bool is_whole, struct config **ret)
{
    struct config_build b;
    int r;

    err_list_init(&errs);
    r = config_build_begin(&b, &errs);
    if (r < 0)
        return r;
    config_build_text(&b, text, "f.yaml");
    return config_build_finish(&b, is_whole, ret);
}

/* The configuration of a load that has to have succeeded. */
static inline struct config *must_be_loaded(const char *text, int result, struct config *c)
{
    if (result != 0) {
        err_list_print(&errs, stderr);
        fail_msg("not accepted:\n%s", text);
    }
    return c;
}

/* path ends in XXXXXX, as for mkstemp. */
static inline void make_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

#endif
