/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/file.c - groups of a rule file, and its life.
 *
 * What a file is made of lives in one arena, but for expressions and templates, which own memory of
 * their own and are held in a list. A file with mistakes is read to its end all the same, so that
 * all of them are told, and thrown away.
 */
#include "rules/file.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "rules/file_private.h"

struct file {
    struct rule_file pub; /* first */
    atomic_uint n_refs;
    struct arena arena;
    struct file_held *held;
};

enum group_key {
    KEY_NAME,
    KEY_INTERVAL,
    KEY_QUERY_OFFSET,
    KEY_LIMIT,
    KEY_LABELS,
    KEY_RULES,
    KEY_COUNT_,
};
static const char *const group_keys[KEY_COUNT_] = {
    "name", "interval", "query_offset", "limit", "labels", "rules",
};

struct rule_file *rule_file_ref(struct rule_file *f)
{
    (void)atomic_fetch_add(&((struct file *)f)->n_refs, 1);
    return f;
}

static void free_file(struct file *f)
{
    for (struct file_held *h = f->held; h; h = h->next) {
        promql_free_expr(h->expr);
        template_free(h->template);
    }
    arena_done(&f->arena);
    mem_free(f);
}

struct rule_file *rule_file_unref(struct rule_file *f)
{
    struct file *whole = (struct file *)f;

    if (whole && atomic_fetch_sub(&whole->n_refs, 1) == 1)
        free_file(whole);
    return NULL;
}

/* --- groups --- */

static int too_many_rules(struct file_reading *f, const struct yaml_node *at)
{
    struct err *e = doc_error(&f->doc, at);

    (void)err_set(e, -E2BIG, "more than %d rules in one file", RULE_FILE_RULES_MAX);
    err_hint(e, "make several files of it");
    return 0;
}

static int read_rules(struct file_reading *f, const struct doc_key *k, struct rule_group *group)
{
    struct rule *rules;
    size_t n = 0;
    int r = 0;

    if (!doc_is(&f->doc, k, YAML_NODE_LIST))
        return 0;
    if (k->value->n > RULE_FILE_RULES_MAX - f->n_rules)
        return too_many_rules(f, k->key);
    f->n_rules += k->value->n;
    rules = arena_zalloc(f->doc.arena, k->value->n, sizeof(*rules));
    if (!rules)
        return -ENOMEM;
    for (const struct yaml_node *node = k->value->first; node && r == 0; node = node->next)
        r = file_read_rule(f, node, &rules[n++]);
    group->rules = rules;
    group->n = n;
    return r;
}

static void check_group_name(struct file_reading *f, const struct yaml_node *node,
                             const struct doc_key *k)
{
    struct err *e;

    if (k->value && (k->value->kind != YAML_NODE_SCALAR || k->value->n > 0))
        return;
    e = doc_error(&f->doc, k->key ? k->key : node);
    (void)err_set(e, -EINVAL, "%s", k->key ? "\"name\" is empty" : "a group without \"name\"");
    err_hint(e, "each group of a file has a name of its own: \"name: ttft\"");
}

static int read_group(struct file_reading *f, const struct yaml_node *node,
                      struct rule_group *group)
{
    struct doc_key keys[KEY_COUNT_];
    int64_t limit = 0;
    int r;

    *group = (struct rule_group){.name = SPAN(""), .query_offset_ms = -1};
    group->line = node->line;
    group->column = node->column;
    if (doc_keys(&f->doc, node, "a group", group_keys, KEY_COUNT_, keys))
        check_group_name(f, node, &keys[KEY_NAME]);
    r = doc_text(&f->doc, &keys[KEY_NAME], &group->name);
    doc_duration(&f->doc, &keys[KEY_INTERVAL], promql_parse_duration, &group->interval_ms);
    doc_duration(&f->doc, &keys[KEY_QUERY_OFFSET], promql_parse_duration, &group->query_offset_ms);
    doc_whole(&f->doc, &keys[KEY_LIMIT], &limit);
    group->limit = limit > 0 ? (uint64_t)limit : 0; /* as Prometheus: less than 0 is none */
    if (r == 0)
        r = file_read_labels(f, &keys[KEY_LABELS], &group->labels);
    return r == 0 ? read_rules(f, &keys[KEY_RULES], group) : r;
}

static int check_group_names(struct file_reading *f, const struct rule_group *groups, size_t n)
{
    struct doc_name *names = arena_array(f->doc.arena, n, sizeof(*names));

    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        names[i] = (struct doc_name){groups[i].name, groups[i].line, groups[i].column};
    doc_names_once(&f->doc, "group", names, n);
    return 0;
}

static int read_groups(struct file_reading *f, const struct doc_key *k, struct rule_file *ret)
{
    struct rule_group *groups;
    size_t n = 0;
    int r = 0;

    if (!doc_is(&f->doc, k, YAML_NODE_LIST))
        return 0;
    groups = arena_zalloc(f->doc.arena, k->value->n, sizeof(*groups));
    if (!groups)
        return -ENOMEM;
    for (const struct yaml_node *node = k->value->first; node && r == 0; node = node->next) {
        r = read_group(f, node, &groups[n]);
        groups[n++].file = ret->path;
    }
    if (r == 0)
        r = check_group_names(f, groups, n);
    ret->groups = groups;
    ret->n = n;
    return r;
}

/* --- the file --- */

static int read_doc(struct file_reading *f, struct rule_file *ret)
{
    static const char *const names[] = {"groups"};
    struct doc_key groups;
    int r = doc_read(&f->doc, RULE_FILE_BYTES_MAX);

    if (r == -ENOMEM)
        return r;
    r = 0;
    if (f->doc.root) {
        (void)doc_keys(&f->doc, f->doc.root, "a rule file", names, 1, &groups);
        r = read_groups(f, &groups, ret);
    }
    if (r == 0 && f->doc.has_mistakes)
        r = -EINVAL;
    doc_done(&f->doc);
    return r;
}

int rule_file_read(struct span text, const char *where, struct rule_file **ret,
                   struct err_list *errs)
{
    struct file *f = mem_zalloc(1, sizeof(*f));
    size_t first = errs->n;
    struct file_reading reading;
    struct span path;
    int r = -ENOMEM;

    if (!f)
        return -ENOMEM;
    atomic_init(&f->n_refs, 1);
    arena_init(&f->arena, NULL);
    reading = (struct file_reading){.doc = {text, where, errs, &f->arena, false, NULL}};
    path = arena_dup(&f->arena, span_cstr(where));
    f->pub.path = path.p;
    if (path.p)
        r = read_doc(&reading, &f->pub);
    f->held = reading.held;
    if (r < 0) {
        err_list_sort(errs, first);
        free_file(f);
        return r;
    }
    *ret = &f->pub;
    return 0;
}
