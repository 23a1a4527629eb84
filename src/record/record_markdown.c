/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record_markdown.c - docs/RECORD.md from record_fields.
 */
#include "record/record.h"

#include <string.h>

static const char *type_name(enum record_type type)
{
    switch (type) {
    case RECORD_STR:
    case RECORD_CSTR:
    case RECORD_ENUM:
        return "string";
    case RECORD_I64:
    case RECORD_RAW_I64:
    case RECORD_INT:
    case RECORD_U32:
    case RECORD_U64:
        return "integer";
    case RECORD_BOOL:
        return "boolean";
    case RECORD_DURATION:
    case RECORD_DOUBLE:
        return "number";
    case RECORD_WALL:
        return "RFC 3339 time";
    case RECORD_FLAGS:
        return "array of strings";
    case RECORD_LABELS:
        return "object of strings";
    case RECORD_TIMELINE:
        return "array of arrays";
    }
    return "";
}

static int list_names(struct buf *out, const char *title, const char *(*name)(int), int n)
{
    int r = buf_printf(out, "\n%s:", title);
    for (int i = 0; i < n && r == 0; i++)
        r = buf_printf(out, "%s `%s`", i > 0 ? "," : "", name(i));
    return r < 0 ? r : buf_printf(out, ".\n");
}

static const char *outcome_at(int i)
{
    return outcome_name((enum outcome)i);
}

static int write_markdown(struct buf *out)
{
    int r = buf_printf(
        out,
        "# The request record\n\n"
        "<!-- Generated from src/record/record_fields.c; do not edit. -->\n\n"
        "One JSON object per request, one per line, `schema_version` %d. Durations are "
        "milliseconds\n"
        "with exactly the nanoseconds as decimals. Fields marked *always* are written in every "
        "line,\n"
        "as `null` when unknown; the others only when known, those of a stream only for streams.\n"
        "No field holds a prompt, a completion, or a credential. Formulas: DEFINITIONS.md.\n",
        RECORD_SCHEMA_VERSION);
    const char *group = "";
    for (size_t i = 0; i < record_n_fields && r == 0; i++) {
        const struct record_field *f = &record_fields[i];
        if (strcmp(group, f->group) != 0) {
            group = f->group;
            r = buf_printf(out,
                           "\n## %s\n\n| field | type | unit | written | meaning |\n"
                           "|---|---|---|---|---|\n",
                           group);
        }
        if (r == 0)
            r = buf_printf(out, "| `%s` | %s | %s | %s | %s |\n", f->name, type_name(f->type),
                           f->unit, f->is_base ? "always" : "when known", f->help);
    }
    if (r == 0)
        r = buf_printf(out, "\n## Names\n");
    if (r == 0)
        r = list_names(out, "Outcomes", outcome_at, OUTCOME_COUNT_);
    if (r == 0)
        r = list_names(out, "Flags", record_flag_name, RECORD_FLAG_BITS);
    return r;
}

int record_to_markdown(struct buf *out)
{
    size_t n_before = buf_len(out);
    int r = write_markdown(out);
    if (r < 0)
        buf_truncate(out, n_before);
    return r;
}
