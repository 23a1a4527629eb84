/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reload.h"

#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "cli/flag.h"
#include "cli/talk.h"

static int reload(const struct talk_place *place)
{
    static const struct talk_question question = {
        .path = "/-/reload", .accept = "text/plain", .flag = "--url"};
    struct buf answer;
    struct err err = {0};
    int status = 0;

    buf_init(&answer, MIB);
    if (talk_ask(place, &question, &status, &answer, &err) == 0)
        (void)fwrite(buf_span(&answer).p, 1, buf_len(&answer), status == 200 ? stdout : stderr);
    else
        (void)flag_complain("reload", &err);
    buf_done(&answer);
    return status == 200 ? 0 : 1;
}

static void help_print(void)
{
    (void)fputs(
        "usage: inferometer reload [--url URL]\n\n"
        "Has a running gateway read its configuration again, and tells what changed, or\n"
        "everything that is in the way; the old configuration then stays in force.\n\n"
        "  --url URL          the gateway's admin listener (default http://127.0.0.1:8401)\n"
        "  --admin ADDR:PORT  the same\n\n"
        "exit status: 0 taken over, 1 refused or not reached, 2 wrong flags\n",
        stdout);
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct talk_place *ret, struct err *reterr)
{
    struct span text = SPAN("127.0.0.1:8401");
    struct flag f;
    int r;

    flag_init(&f, argc, argv);
    while ((r = flag_next(&f, reterr)) > 0) {
        if (flag_is(&f, "help"))
            return 0;
        if (!flag_is(&f, "admin") && !flag_is(&f, "url"))
            return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f.name));
        r = flag_value(&f, NULL, &text, reterr);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = talk_place_parse(text, ret, reterr);
    return r < 0 ? r : 1;
}

int reload_main(int argc, char **argv)
{
    struct err err = {0};
    struct talk_place at;
    int r = options_parse(argc, argv, &at, &err);

    if (r < 0)
        return flag_complain("reload", &err);
    if (r == 0) {
        help_print();
        return 0;
    }
    return reload(&at);
}
