/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file.c - the top level of a file of routes, and its life.
 */
#include "alert/file.h"

#include <errno.h>

#include "alert/file_read.h"
#include "base/mem.h"

enum { RESOLVE_TIMEOUT_MS = 5 * 60 * 1000 };

static struct file_impl *impl_of(struct alert_file *f)
{
    return (struct file_impl *)f;
}

static struct file_impl *impl_free(struct file_impl *f)
{
    if (!f)
        return NULL;
    for (struct file_owned *o = f->owned; o; o = o->next)
        alert_matchers_done(&o->matchers);
    arena_done(&f->arena);
    mem_free(f);
    return NULL;
}

struct alert_file *alert_file_ref(struct alert_file *f)
{
    atomic_fetch_add_explicit(&impl_of(f)->n_refs, 1, memory_order_relaxed);
    return f;
}

struct alert_file *alert_file_unref(struct alert_file *f)
{
    if (f && atomic_fetch_sub_explicit(&impl_of(f)->n_refs, 1, memory_order_acq_rel) == 1)
        (void)impl_free(impl_of(f));
    return NULL;
}

const struct alert_receiver *alert_file_receiver(const struct alert_file *f, struct span name)
{
    for (size_t i = 0; i < f->n_receivers; i++) {
        if (span_eq(f->receivers[i].name, name))
            return &f->receivers[i];
    }
    return NULL;
}

const struct alert_times *alert_file_times(const struct alert_file *f, struct span name)
{
    for (size_t i = 0; i < f->n_times; i++) {
        if (span_eq(f->times[i].name, name))
            return &f->times[i];
    }
    return NULL;
}

static struct file_impl *impl_new(void)
{
    struct file_impl *f = mem_zalloc(1, sizeof(*f));
    if (!f)
        return NULL;
    arena_init(&f->arena, NULL);
    atomic_init(&f->n_refs, 1);
    f->file.resolve_timeout_ms = RESOLVE_TIMEOUT_MS;
    return f;
}

/* --- sections, whatever the order in which they stand --- */

struct sections {
    const struct yaml_node *global, *route, *receivers, *rules, *times, *old_times;
};

static int read_global(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct sections *)to)->global = value;
    return 0;
}

static int read_route(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct sections *)to)->route = value;
    return 0;
}

static int read_receivers(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct sections *)to)->receivers = value;
    return 0;
}

static int read_rules(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct sections *)to)->rules = value;
    return 0;
}

static int read_times(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct sections *)to)->times = value;
    return 0;
}

static int read_old_times(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct sections *)to)->old_times = value;
    return 0;
}

/* An empty list needs no hint. */
static int read_templates(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)to;
    if (value->kind == YAML_NODE_LIST && value->n == 0)
        return 0;
    struct err *e = file_error(rd, value);
    (void)err_set(e, -ENOTSUP, "\"templates\" is not supported");
    err_hint(e, "write the texts into the receivers or into the annotations of the rules");
    return 0;
}

static int read_sections(struct file_reader *rd, const struct yaml_node *root)
{
    static const struct file_key keys[] = {
        {"global", read_global, NULL},
        {"route", read_route, NULL},
        {"receivers", read_receivers, NULL},
        {"inhibit_rules", read_rules, NULL},
        {"time_intervals", read_times, NULL},
        {"mute_time_intervals", read_old_times, NULL},
        {"templates", read_templates, NULL},
        {"tracing", NULL, "leave it out; there is nothing to trace here"},
        {"event_recorder", NULL, "leave it out; what was delivered is listed by the gateway"},
    };
    struct sections s = {.global = NULL};
    int r = file_keys_read(rd, root, "the file", keys, ARRAY_LEN(keys), &s);
    if (r == 0)
        r = file_global_read(rd, s.global);
    if (r == 0)
        r = file_times_read(rd, s.times, s.old_times);
    if (r == 0)
        r = file_receivers_read(rd, s.receivers);
    if (r == 0)
        r = file_rules_read(rd, s.rules);
    if (r == 0 && s.route)
        return file_route_read(rd, s.route);
    if (r == 0 && root->kind == YAML_NODE_MAP && !root->is_cut) {
        struct err *e = file_error(rd, root);
        (void)err_set(e, -EINVAL, "there is no route");
        err_hint(e, "add \"route:\" with the receiver of all that no other route takes");
    }
    return r;
}

static int read_text(struct file_reader *rd, struct span text)
{
    struct yaml_node *root = NULL;
    int r = yaml_read(text, rd->where, &root, rd->errs);
    if (r == -ENOMEM)
        return r;
    if (root) {
        r = read_sections(rd, root);
    } else if (err_list_is_empty(rd->errs)) {
        struct err *e = err_list_add(rd->errs, rd->where, 0, 0);
        (void)err_set(e, -EINVAL, "the file is empty");
        err_hint(e, "it needs at least \"route:\" with a receiver, and \"receivers:\"");
        r = 0;
    } else {
        r = 0;
    }
    yaml_free(root);
    return r;
}

int alert_file_read(struct span text, const char *where, struct alert_file **ret,
                    struct err_list *errs)
{
    struct file_reader rd = {.to = impl_new(), .where = where, .errs = errs};
    size_t first = errs->n, n_dropped = errs->n_dropped;
    if (!rd.to)
        return -ENOMEM;
    int r = read_text(&rd, text);
    if (r == 0 && (errs->n > first || errs->n_dropped > n_dropped))
        r = -EINVAL;
    err_list_sort(errs, first);
    if (r < 0) {
        (void)impl_free(rd.to);
        return r;
    }
    *ret = &rd.to->file;
    return 0;
}

int alert_file_default(struct alert_file **ret)
{
    static const char text[] = "route: {receiver: log, group_by: ['...'], group_wait: 0s}\n"
                               "receivers: [{name: log, log_configs: [{}]}]\n";
    struct err_list *errs = mem_alloc(sizeof(*errs)); /* too large for the stack */
    if (!errs)
        return -ENOMEM;
    err_list_init(errs);
    int r = alert_file_read(span_cstr(text), "built in", ret, errs);
    mem_free(errs);
    return r;
}
