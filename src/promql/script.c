/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script.c - a test script, command by command.
 */
#include "promql/script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "promql/script_private.h"

#define SAID_MAX_BYTES (64 * KIB)

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span s)
{
    while (s.n > 0 && is_space(s.p[0]))
        (void)span_take(&s, 1);
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool script_take_line(struct script *s, struct span *ret)
{
    if (s->text.n == 0)
        return false;
    *ret = trim(span_split(&s->text, '\n'));
    if (span_starts_with(*ret, SPAN("#")))
        *ret = SPAN("");
    s->line++;
    return true;
}

bool script_take_block_line(struct script *s, struct span *ret)
{
    return script_take_line(s, ret) && ret->n > 0;
}

int script_wrong(struct script *s, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(s->reterr, -EINVAL, "%d: %s", s->line, text);
}

struct span script_take_word(struct span *s)
{
    size_t n = 0;

    while (n < s->n && !is_space(s->p[n]))
        n++;
    struct span word = span_take(s, n);
    while (s->n > 0 && is_space(s->p[0]))
        (void)span_take(s, 1);
    return word;
}

int script_said(int r)
{
    return r == -EMSGSIZE ? 0 : r;
}

int script_say(struct buf *to, const char *fmt, ...)
{
    char text[1000];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    return script_said(buf_append(to, span_of(text, len)));
}

static int run_eval(struct script *s, struct span mode, struct span line)
{
    struct script_eval e = {0};
    int r = script_read_eval(s, mode, line, &e);

    if (r == 0)
        r = script_run_eval(s, &e);
    script_eval_done(&e);
    return r;
}

static int run_command(struct script *s, struct span line)
{
    struct span whole = line;
    struct span word = script_take_word(&line);

    if (span_eq_nocase(word, SPAN("clear"))) {
        memory_clear(s->memory);
        s->n_loaded = 0;
        return 0;
    }
    if (word.n >= 4 && span_eq_nocase(span_of(word.p, 4), SPAN("load")))
        return script_load(s, whole);
    if (word.n >= 4 && span_eq_nocase(span_of(word.p, 4), SPAN("eval")))
        return run_eval(s, span_from(word, 4), line);
    return script_wrong(s, "there is no command \"%.*s\" (clear, load, eval)",
                        word.n > 60 ? 60 : (int)word.n, word.p);
}

static int run_all(struct script *s)
{
    struct span line;
    int r = 0;

    while (r == 0 && script_take_line(s, &line)) {
        if (line.n > 0)
            r = run_command(s, line);
        arena_reset(&s->arena);
        s->n_read = 0;
    }
    return r;
}

int script_run(struct span text, struct script_report *report, struct err *reterr)
{
    struct script s = {.text = text, .report = report, .reterr = reterr};
    int r = memory_new(&s.memory);

    if (r != 0)
        return r;
    arena_init(&s.arena, NULL);
    buf_init(&s.wanted, SAID_MAX_BYTES);
    buf_init(&s.got, SAID_MAX_BYTES);
    r = run_all(&s);
    buf_done(&s.wanted);
    buf_done(&s.got);
    arena_done(&s.arena);
    memory_free(s.memory);
    return r;
}
