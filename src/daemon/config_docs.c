/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_docs.c - docs/CONFIG.md, the commented example and the effective values, all three
 * by one walk over the key table.
 */
#include "daemon/config_docs.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/config_args.h"
#include "daemon/config_items.h"
#include "daemon/config_values.h"

enum { EXAMPLE_COLUMNS = 96 };

static bool starts_section(size_t i)
{
    struct span section = config_keys_section(&config_keys[i]);
    return section.n > 0 && (i == 0 || !span_eq(section, config_keys_section(&config_keys[i - 1])));
}

static int append(struct buf *out, const char *text)
{
    return buf_append(out, span_cstr(text));
}

/* The default as it would stand in a file. */
static int append_default(const struct config_key *key, struct buf *out)
{
    if (key->type == &config_type_text)
        return config_values_text(span_cstr(key->def), out);
    return append(out, key->def);
}

/* --- effective values --- */

/* "key: value", or a comment for a required key that was not told, so that the text is still a file
 * that flags can complete. */
static int append_value(const struct config *c, const struct config_key *key, struct buf *out)
{
    const char *indent = config_keys_section(key).n > 0 ? "  " : "";
    bool is_told = config_key_set_has(&c->_keys_set, (size_t)(key - config_keys));
    int r;

    if (!key->def && !is_told)
        return buf_printf(out, "%s# %s: required, not told yet\n", indent, config_keys_leaf(key));
    r = buf_printf(out, "%s%s: ", indent, config_keys_leaf(key));
    if (r == 0)
        r = key->type->format(key, config_keys_const_field(key, c), out);
    return r < 0 ? r : append(out, "\n");
}

int config_docs_values(const struct config *c, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < config_keys_n && r == 0; i++) {
        const struct config_key *key = &config_keys[i];

        if (starts_section(i))
            r = buf_printf(out, "%.*s:\n", SPAN_ARG(config_keys_section(key)));
        if (r == 0)
            r = append_value(c, key, out);
    }
    return r;
}

/* --- the example --- */

/* As comment lines, broken between words. */
static int append_comment(struct buf *out, const char *indent, const char *text)
{
    struct span rest = span_cstr(text);
    size_t column = EXAMPLE_COLUMNS; /* the first word begins a line */
    int r = 0;

    while (rest.n > 0 && r == 0) {
        struct span word = span_split(&rest, ' ');

        if (column + 1 + word.n > EXAMPLE_COLUMNS) {
            r = buf_printf(out, "%s%s# ", column < EXAMPLE_COLUMNS ? "\n" : "", indent);
            column = strlen(indent) + 2;
        } else {
            r = append(out, " ");
            column++;
        }
        if (r == 0)
            r = buf_append(out, word);
        column += word.n;
        /* A full line is over, whatever comes. */
        if (r == 0 && column >= EXAMPLE_COLUMNS && rest.n > 0)
            r = append(out, "\n");
    }
    return r < 0 ? r : append(out, "\n");
}

static int example_key(const struct config_key *key, struct buf *out)
{
    const char *indent = config_keys_section(key).n > 0 ? "  " : "";
    char range[CONFIG_RANGE_MAX];
    int r = append(out, "\n");

    if (r == 0)
        r = append_comment(out, indent, key->help);
    if (r == 0 && *config_keys_range(key, range))
        r = buf_printf(out, "%s# Allowed: %s.\n", indent, range);
    if (r == 0 && key->def && key->example)
        r = buf_printf(out, "%s# Example: %s: %s\n", indent, config_keys_leaf(key), key->example);
    if (r < 0)
        return r;
    if (!key->def)
        return buf_printf(out, "%s%s: %s\n", indent, config_keys_leaf(key), key->example);
    r = buf_printf(out, "%s#%s: ", indent, config_keys_leaf(key));
    if (r == 0)
        r = append_default(key, out);
    return r < 0 ? r : append(out, "\n");
}

int config_docs_example(struct buf *out)
{
    int r = append(out, "# Configuration of inferometer. Every key is here with its default, as a "
                        "comment, except\n"
                        "# those that have none. Check a file with: inferometer config check FILE\n"
                        "# Generated from src/daemon/config_keys.c.\n");

    for (size_t i = 0; i < config_keys_n && r == 0; i++) {
        if (starts_section(i))
            r = buf_printf(out, "\n%.*s:\n", SPAN_ARG(config_keys_section(&config_keys[i])));
        if (r == 0)
            r = example_key(&config_keys[i], out);
    }
    return r;
}

/* --- docs/CONFIG.md --- */

/* prefix: of the keys of an item, "upstreams[]."; else "". */
static int markdown_key(const struct config_key *key, const char *prefix, struct buf *out)
{
    char range[CONFIG_RANGE_MAX];
    int r = buf_printf(out, "\n### %s%s\n\n%s\n\n- value: %s", prefix, key->path, key->help,
                       key->type->what);

    if (r == 0 && *config_keys_range(key, range))
        r = buf_printf(out, "; %s", range);
    if (r == 0)
        r = append(out, key->def ? "\n- default: `" : "\n- required");
    if (r == 0 && key->def)
        r = append_default(key, out);
    if (r == 0 && key->def)
        r = append(out, "`");
    if (r == 0 && key->example)
        r = buf_printf(out, "\n- example: `%s: %s`", config_keys_leaf(key), key->example);
    return r < 0 ? r
                 : buf_printf(out, "\n- a change takes effect: %s\n",
                              key->reload == CONFIG_RELOAD ? "on reload" : "on restart");
}

/* A key, and the keys of its items. */
static int markdown_keys(const struct config_key *key, struct buf *out)
{
    char prefix[64];
    int r = markdown_key(key, "", out);

    if (!key->item)
        return r;
    (void)snprintf(prefix, sizeof(prefix), "%s[].", key->path);
    for (size_t i = 0; i < key->item->table.n && r == 0; i++)
        r = markdown_key(&key->item->table.keys[i], prefix, out);
    return r;
}

static int markdown_flags(struct buf *out)
{
    int r =
        append(out, "\n## Command line of `serve`\n\n| flag | key | meaning |\n|---|---|---|\n");

    for (size_t i = 0; i < config_args_flags_n && r == 0; i++) {
        const struct config_flag *f = &config_args_flags[i];

        r = buf_printf(out, "| `%s%s%s %s` | %s%s%s | %s |\n", f->short_name ? f->short_name : "",
                       f->short_name ? ", " : "", f->name, f->value, f->path ? "`" : "",
                       f->path ? f->path : "", f->path ? "`" : "", f->help);
    }
    return r;
}

int config_docs_markdown(struct buf *out)
{
    int r = append(
        out,
        "# Configuration\n\n"
        "<!-- Generated from src/daemon/config_keys.c; do not edit. -->\n\n"
        "One YAML file, `inferometer serve -c FILE`. The command line stands over the file, the "
        "file\n"
        "over the defaults. `inferometer config check FILE` lists every mistake with line, "
        "column,\n"
        "and a hint; `inferometer config show FILE` prints the effective values.\n\n"
        "- Durations are a number and a unit: `us`, `ms`, `s`, `m`, `h`, `d` (`250ms`, `1.5s`).\n"
        "- Sizes are a whole number and `KiB`, `MiB`, `GiB`, or `KB`, `MB`, `GB` for powers of "
        "1000;\n"
        "  without a unit they are bytes.\n"
        "- Anchors, aliases, tags, and more than one document are refused.\n"
        "- A reload (SIGHUP) that changes a key marked *on restart* is refused, with the list of "
        "such\n"
        "  keys, and the running configuration stays.\n");

    if (r == 0)
        r = markdown_flags(out);
    if (r == 0)
        r = append(out,
                   "\n## Keys\n\nA dot means nesting: `timeouts.connect` is `connect:`, indented, "
                   "below `timeouts:`.\n"
                   "`upstreams[].url` is the key `url` of each item of `upstreams`.\n");
    for (size_t i = 0; i < config_keys_n && r == 0; i++)
        r = markdown_keys(&config_keys[i], out);
    return r;
}
