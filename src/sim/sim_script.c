/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_script.c - lines to spans of time first, with all that can be wrong, then to steps.
 */
#include "sim/sim_script.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"

enum { TEXT_MAX = 40 }; /* of a word that is quoted */

static const int64_t forever = INT64_MAX;

/* One line. */
struct span_of_time {
    int64_t from_ns, until_ns;
    int line;
    enum sim_fault fault;
    double strength;
};

struct reader {
    int line;
    struct span left; /* of it */
    struct err *err;
};

static int quoted(struct span s)
{
    return (int)(s.n < TEXT_MAX ? s.n : TEXT_MAX);
}

static struct span next_word(struct reader *r)
{
    size_t n = 0;

    r->left = span_trim(r->left);
    while (n < r->left.n && r->left.p[n] != ' ' && r->left.p[n] != '\t')
        n++;
    return span_take(&r->left, n);
}

/* The word that has just been read was not what the line needs here. */
static int wrong(struct reader *r, const char *wanted, struct span got)
{
    if (got.n == 0)
        (void)err_set(r->err, -EINVAL, "line %d ends where %s has to follow", r->line, wanted);
    else
        (void)err_set(r->err, -EINVAL, "line %d: %s has to stand where \"%.*s\" stands", r->line,
                      wanted, quoted(got), got.p);
    err_hint(r->err, "at 30s for 60s slow_gpu 1.5");
    return -EINVAL;
}

static int take_time(struct reader *r, const char *wanted, int64_t *ret_ns)
{
    struct span word = next_word(r);

    if (word.n == 0 || num_parse_duration(word, ret_ns) < 0 || *ret_ns < 0)
        return wrong(r, wanted, word);
    if (*ret_ns > SIM_SCRIPT_DAYS_MAX * 86400 * NS_PER_S)
        return err_set(r->err, -ERANGE, "line %d: \"%.*s\" is more than %d days", r->line,
                       quoted(word), word.p, SIM_SCRIPT_DAYS_MAX);
    return 0;
}

/* The error of a part of the line, with the line in front. */
static int wrong_part(struct reader *r, int code, const struct err *why)
{
    (void)err_set(r->err, code, "line %d: %s", r->line, why->text);
    err_hint(r->err, "%s", why->hint);
    return code;
}

static int take_fault(struct reader *r, struct span word, struct span_of_time *ret)
{
    struct err why = {0};
    int result;

    if (word.n == 0)
        return wrong(r, "the name of a fault", word);
    result = sim_fault_find(word, &ret->fault, &why);
    if (result < 0)
        return wrong_part(r, result, &why);
    ret->strength = sim_fault_row(ret->fault)->strength;
    word = next_word(r);
    if (word.n > 0 && num_parse_double(word, &ret->strength) < 0)
        return wrong(r, "a number (the strength)", word);
    result = sim_fault_check(ret->fault, ret->strength, &why);
    if (result < 0)
        return wrong_part(r, result, &why);
    word = next_word(r);
    return word.n > 0 ? wrong(r, "the end of the line", word) : 0;
}

/* 1: *ret is set; 0: a line without anything. */
static int take_line(struct reader *r, struct span_of_time *ret)
{
    int64_t length_ns = 0;
    struct span word = next_word(r);
    int result;

    if (word.n == 0)
        return 0;
    if (!span_eq(word, SPAN("at")))
        return wrong(r, "\"at\"", word);
    result = take_time(r, "a time like 30s", &ret->from_ns);
    if (result < 0)
        return result;
    ret->until_ns = forever;
    word = next_word(r);
    if (span_eq(word, SPAN("for"))) {
        result = take_time(r, "a length of time like 60s", &length_ns);
        if (result < 0)
            return result;
        if (length_ns == 0)
            return err_set(r->err, -ERANGE, "line %d: that is no length of time", r->line);
        ret->until_ns = ret->from_ns + length_ns;
        word = next_word(r);
    }
    ret->line = r->line;
    result = take_fault(r, word, ret);
    return result < 0 ? result : 1;
}

static int check_overlap(const struct span_of_time *all, size_t n, const struct span_of_time *next,
                         struct err *reterr)
{
    for (size_t i = 0; i < n; i++) {
        const struct span_of_time *s = &all[i];

        if (s->fault != next->fault || s->until_ns <= next->from_ns || next->until_ns <= s->from_ns)
            continue;
        (void)err_set(reterr, -EINVAL, "line %d: %s is on at that time already, by line %d",
                      next->line, sim_fault_row(next->fault)->name, s->line);
        err_hint(reterr, "let one end before the other begins");
        return -EINVAL;
    }
    return 0;
}

/* Negative, or how many there are. */
static int64_t take_lines(struct span text, struct span_of_time *all, struct err *reterr)
{
    struct reader r = {.err = reterr};
    size_t n = 0;

    while (text.n > 0) {
        struct span_of_time next = {0};
        struct span line = span_split(&text, '\n');
        int result;

        r.line++;
        if (span_ends_with(line, SPAN("\r")))
            line.n--;
        r.left = span_split(&line, '#');
        result = take_line(&r, &next);
        if (result == 1)
            result = check_overlap(all, n, &next, reterr) < 0 ? -EINVAL : 1;
        if (result < 0)
            return result;
        if (result == 0)
            continue;
        if (n == SIM_SCRIPT_LINES_MAX)
            return err_set(reterr, -E2BIG, "line %d: a script has at most %d lines", r.line,
                           SIM_SCRIPT_LINES_MAX);
        all[n++] = next;
    }
    if (n == 0) {
        (void)err_set(reterr, -EINVAL, "the script says nothing");
        err_hint(reterr, "at 30s for 60s slow_gpu 1.5");
        return -EINVAL;
    }
    return (int64_t)n;
}

static int by_time(const void *a, const void *b)
{
    const struct sim_script_step *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->is_on != y->is_on)
        return x->is_on ? 1 : -1;
    return (int)x->fault - (int)y->fault;
}

static struct sim_script *steps_of(const struct span_of_time *all, size_t n)
{
    struct sim_script *s = mem_zalloc(1, sizeof(*s) + 2 * n * sizeof(s->steps[0]));

    for (size_t i = 0; s && i < n; i++) {
        const struct span_of_time *one = &all[i];

        s->steps[s->n++] = (struct sim_script_step){one->from_ns, true, one->fault, one->strength};
        if (one->until_ns != forever)
            s->steps[s->n++] = (struct sim_script_step){one->until_ns, false, one->fault, 0};
    }
    if (s)
        qsort(s->steps, s->n, sizeof(s->steps[0]), by_time);
    return s;
}

int sim_script_parse(struct span text, struct sim_script **ret, struct err *reterr)
{
    struct span_of_time *all;
    struct sim_script *s;
    int64_t n;

    if (text.n > SIM_SCRIPT_BYTES_MAX)
        return err_set(reterr, -E2BIG, "the script is longer than %d bytes", SIM_SCRIPT_BYTES_MAX);
    all = mem_zalloc(SIM_SCRIPT_LINES_MAX, sizeof(*all));
    if (!all)
        return err_set(reterr, -ENOMEM, "out of memory");
    n = take_lines(text, all, reterr);
    s = n > 0 ? steps_of(all, (size_t)n) : NULL;
    mem_free(all);
    if (n < 0)
        return (int)n;
    if (!s)
        return err_set(reterr, -ENOMEM, "out of memory");
    *ret = s;
    return 0;
}

struct sim_script *sim_script_free(struct sim_script *s)
{
    mem_free(s);
    return NULL;
}
