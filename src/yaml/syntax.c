/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/syntax.c - what libyaml says where it cannot go on, for people.
 */
#include <errno.h>
#include <stdint.h>

#include "yaml/tree_private.h"

static struct span line_at(struct span text, size_t line)
{
    while (line-- > 0)
        (void)span_split(&text, '\n');
    return span_of(text.p, span_find_char(text, '\n'));
}

/* Offset of the first tab in the white space that the line begins with, or SIZE_MAX. */
static size_t indentation_tab(struct span line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\t')
            return i;
        if (line.p[i] != ' ')
            break;
    }
    return SIZE_MAX;
}

static const char *syntax_hint(const char *problem)
{
    static const struct {
        const char *problem;
        const char *hint;
    } rows[] = {
        {"mapping values are not allowed",
         "check the indentation, and put texts with \": \" in quotes"},
        {"could not find expected ':'",
         "a key needs a colon and a space behind it: \"key: value\""},
        {"did not find expected key", "keys of one level start in the same column"},
        {"did not find expected '-' indicator", "items of one list start in the same column"},
        {"did not find expected ',' or", "close the bracket, and put commas between the items"},
        {"found unexpected end of stream", "close the quote"},
        {"found character that cannot start any token",
         "put texts that begin with @ ` % or another special character in quotes"},
        {"found unknown escape character", "use single quotes for texts with backslashes"},
        {"block sequence entries are not allowed", "start a list on the line below its key"},
        {"found undefined tag handle", "put texts that begin with ! in quotes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strncmp(problem, rows[i].problem, strlen(rows[i].problem)) == 0)
            return rows[i].hint;
    }
    return "";
}

/* Bytes that are no text: libyaml tells the offset only. */
static void encoding_error(struct yaml_reader *rd)
{
    size_t offset = rd->parser.problem_offset;
    struct span before = span_of(rd->text.p, offset < rd->text.n ? offset : rd->text.n);
    int line = 1, column = 1;
    struct err *e;

    for (size_t i = 0; i < before.n; i++) {
        if (before.p[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)before.p[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    e = yaml_error_at(rd, line, column);
    (void)err_set(e, -EILSEQ, "not a text: %s", rd->parser.problem);
    err_hint(e, "save the file as UTF-8, without control characters");
}

int yaml_syntax_error(struct yaml_reader *rd)
{
    const yaml_parser_t *p = &rd->parser;
    const char *problem = p->problem ? p->problem : "syntax error";
    size_t tab;
    struct err *e;

    if (p->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    if (p->error == YAML_READER_ERROR) {
        encoding_error(rd);
        return -EBADMSG;
    }
    tab = indentation_tab(line_at(rd->text, p->problem_mark.line));
    if (tab != SIZE_MAX) {
        e = yaml_error_at(rd, (int)p->problem_mark.line + 1, (int)tab + 1);
        (void)err_set(e, -EINVAL, "a tab in the indentation");
        err_hint(e, "indent with spaces; YAML does not allow tabs there");
        return -EBADMSG;
    }
    e = yaml_error_at_mark(rd, p->problem_mark);
    if (p->context)
        (void)err_set(e, -EINVAL, "YAML syntax: %s %s that began on line %zu", problem, p->context,
                      p->context_mark.line + 1);
    else
        (void)err_set(e, -EINVAL, "YAML syntax: %s", problem);
    err_hint(e, "%s", syntax_hint(problem));
    return -EBADMSG;
}
