/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file_route.c - the tree of routes. A mapping is read first, then what is missing is taken
 * from the route above, then the routes below it are read: keys may stand in any order.
 */
#include "alert/file_read.h"

#include <errno.h>
#include <stdlib.h>

enum {
    GROUP_WAIT_MS = 30 * 1000,
    GROUP_INTERVAL_MS = 5 * 60 * 1000,
    REPEAT_INTERVAL_MS = 4 * 60 * 60 * 1000,
};

struct span_list {
    struct span *at;
    size_t n;
};

struct route_reader {
    struct alert_route route;
    struct alert_matchers matchers;
    struct span_list group_by, mute, active;
    const struct yaml_node *below, *receiver, *labels;
    bool has_receiver, has_group_by, has_wait, has_interval, has_repeat;
    bool is_by_all;
};

/* What reading one level needs from those above. */
struct tree_reader {
    const struct alert_route *above; /* NULL: the root */
    const struct yaml_node *node;
    struct alert_route *routes;
    size_t n;
    int depth;
};

static int read_tree(struct file_reader *rd, const struct yaml_node *map, struct tree_reader *t,
                     struct alert_route *to);

/* --- keys --- */

static int read_receiver(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct route_reader *rr = to;
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = {0};
    if (!file_text(rd, value, "receiver", &s))
        return 0;
    rr->has_receiver = s.n > 0;
    rr->route.to = alert_file_receiver(&rd->to->file, s);
    if (rr->has_receiver && !rr->route.to) {
        struct err *e = file_error(rd, value);
        (void)err_set(e, -EINVAL, "there is no receiver \"%s\"", err_list_shown(s, shown));
        err_hint(e, "each receiver of a route needs an entry with that name in receivers");
    }
    return 0;
}

static int read_matchers(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_matchers(rd, value, &((struct route_reader *)to)->matchers);
}

static int read_match(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_match(rd, value, MATCH_EQ, &((struct route_reader *)to)->matchers);
}

static int read_match_re(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_match(rd, value, MATCH_RE, &((struct route_reader *)to)->matchers);
}

static bool has_span(const struct span_list *l, struct span s)
{
    for (size_t i = 0; i < l->n; i++) {
        if (span_eq(l->at[i], s))
            return true;
    }
    return false;
}

static int read_group_name(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct route_reader *rr = to;
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = {0};
    if (!file_text(rd, item, "group_by", &s))
        return 0;
    if (span_eq(s, SPAN("..."))) {
        rr->is_by_all = true;
        return 0;
    }
    if (!alert_matchers_is_name(s)) {
        (void)err_set(file_error(rd, item), -EINVAL, "group_by takes names of labels, or '...'");
        return 0;
    }
    if (has_span(&rr->group_by, s)) {
        (void)err_set(file_error(rd, item), -EINVAL, "label \"%s\" is in group_by twice",
                      err_list_shown(s, shown));
        return 0;
    }
    return file_copy(rd, s, &rr->group_by.at[rr->group_by.n++]);
}

static int read_group_by(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct route_reader *rr = to;
    rr->has_group_by = true;
    rr->group_by = (struct span_list){
        arena_zalloc(&rd->to->arena, file_keys_length(value), sizeof(struct span)), 0};
    if (!rr->group_by.at)
        return -ENOMEM;
    int r = file_keys_each(rd, value, "group_by", read_group_name, rr);
    if (r == 0 && rr->is_by_all && rr->group_by.n > 0) {
        struct err *e = file_error(rd, value);
        (void)err_set(e, -EINVAL, "group_by has '...' and other labels");
        err_hint(e, "'...' stands for all labels; leave the others out");
    }
    if (rr->group_by.n > 1)
        qsort(rr->group_by.at, rr->group_by.n, sizeof(*rr->group_by.at), span_sort_cmp);
    return r;
}

static int read_wait(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct route_reader *rr = to;
    rr->has_wait = file_duration(rd, value, "group_wait", true, &rr->route.group_wait_ms);
    return 0;
}

static int read_interval(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct route_reader *rr = to;
    rr->has_interval =
        file_duration(rd, value, "group_interval", false, &rr->route.group_interval_ms);
    return 0;
}

static int read_repeat(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct route_reader *rr = to;
    rr->has_repeat =
        file_duration(rd, value, "repeat_interval", false, &rr->route.repeat_interval_ms);
    return 0;
}

static int read_time_name(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct span_list *l = to;
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = {0};
    if (!file_text(rd, item, "time interval", &s))
        return 0;
    const struct alert_times *t = alert_file_times(&rd->to->file, s);
    if (!t) {
        struct err *e = file_error(rd, item);
        (void)err_set(e, -EINVAL, "there is no time interval \"%s\"", err_list_shown(s, shown));
        err_hint(e, "it needs an entry with that name in time_intervals");
        return 0;
    }
    l->at[l->n++] = t->name;
    return 0;
}

static int read_time_names(struct file_reader *rd, const struct yaml_node *value, const char *what,
                           struct span_list *l)
{
    *l = (struct span_list){
        arena_zalloc(&rd->to->arena, file_keys_length(value), sizeof(struct span)), 0};
    return l->at ? file_keys_each(rd, value, what, read_time_name, l) : -ENOMEM;
}

static int read_mute(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_time_names(rd, value, "mute_time_intervals", &((struct route_reader *)to)->mute);
}

static int read_active(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return read_time_names(rd, value, "active_time_intervals",
                           &((struct route_reader *)to)->active);
}

static int read_continue(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)file_bool(rd, value, "continue", &((struct route_reader *)to)->route.goes_on);
    return 0;
}

static int read_below(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct route_reader *)to)->below = value;
    return 0;
}

static int read_labels(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    (void)rd;
    ((struct route_reader *)to)->labels = value;
    return 0;
}

static int read_keys(struct file_reader *rd, const struct yaml_node *map, struct route_reader *rr)
{
    static const struct file_key keys[] = {
        {"receiver", read_receiver, NULL},
        {"group_by", read_group_by, NULL},
        {"matchers", read_matchers, NULL},
        {"match", read_match, NULL},
        {"match_re", read_match_re, NULL},
        {"continue", read_continue, NULL},
        {"group_wait", read_wait, NULL},
        {"group_interval", read_interval, NULL},
        {"repeat_interval", read_repeat, NULL},
        {"mute_time_intervals", read_mute, NULL},
        {"active_time_intervals", read_active, NULL},
        {"labels", read_labels, NULL},
        {"routes", read_below, NULL},
    };
    int r = file_keys_read(rd, map, "route", keys, ARRAY_LEN(keys), rr);
    if (r == 0)
        alert_matchers_sort(&rr->matchers);
    if (r == 0)
        r = file_own(rd, &rr->matchers);
    if (r < 0)
        alert_matchers_done(&rr->matchers);
    return r;
}

/* --- what comes from above --- */

static void inherit(struct route_reader *rr, const struct alert_route *above)
{
    struct alert_route *r = &rr->route;
    if (!rr->has_receiver)
        r->to = above->to;
    r->group_by = rr->has_group_by ? rr->group_by.at : above->group_by;
    r->n_group_by = rr->has_group_by ? rr->group_by.n : above->n_group_by;
    r->group_by_all = rr->has_group_by ? rr->is_by_all : above->group_by_all;
    if (!rr->has_wait)
        r->group_wait_ms = above->group_wait_ms;
    if (!rr->has_interval)
        r->group_interval_ms = above->group_interval_ms;
    if (!rr->has_repeat)
        r->repeat_interval_ms = above->repeat_interval_ms;
    r->labels = above->labels;
    r->receiver = r->to ? r->to->name : SPAN("");
    r->matchers = rr->matchers.at;
    r->n_matchers = rr->matchers.n;
    r->mute_times = rr->mute.at;
    r->n_mute_times = rr->mute.n;
    r->active_times = rr->active.at;
    r->n_active_times = rr->active.n;
}

/* One label of a route, on top of those that it has already. */
static int set_label(struct file_reader *rd, const struct yaml_node *key, struct labels *l)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct span name = {0}, value = {0};
    if (!file_keys_is_text(key) || !key->value || !file_text(rd, key->value, "labels", &value))
        return 0;
    if (!alert_matchers_is_name(yaml_span(key))) {
        (void)err_set(file_error(rd, key), -EINVAL, "invalid label name \"%s\"",
                      err_list_shown(yaml_span(key), shown));
        return 0;
    }
    if (span_find(value, SPAN("{{")) < value.n) {
        struct err *e = file_error(rd, key->value);
        (void)err_set(e, -ENOTSUP, "templates in labels of routes are not supported");
        err_hint(e, "write the text itself");
        return 0;
    }
    int r = file_copy(rd, yaml_span(key), &name);
    if (r == 0)
        r = file_copy(rd, value, &value);
    return r < 0 ? r : labels_with(&rd->to->arena, *l, name, value, l);
}

static int read_route_labels(struct file_reader *rd, const struct yaml_node *map, struct labels *l)
{
    int r = 0;
    if (!map)
        return 0;
    if (map->kind != YAML_NODE_MAP) {
        (void)err_set(file_error(rd, map), -EINVAL, "\"labels\" must be a mapping of labels");
        return 0;
    }
    for (const struct yaml_node *key = map->first; key && r == 0; key = key->next)
        r = set_label(rd, key, l);
    return r;
}

/* {}/{severity="P0"} */
static int make_key(struct file_reader *rd, const struct alert_route *above, struct alert_route *to)
{
    struct buf b;
    buf_init(&b, (size_t)4 << 20);
    int r = above ? buf_append(&b, above->key) : 0;
    if (r == 0 && above)
        r = buf_append(&b, SPAN("/"));
    if (r == 0)
        r = alert_matchers_print(to->matchers, to->n_matchers, &b);
    if (r == 0)
        r = file_copy(rd, buf_span(&b), &to->key);
    buf_done(&b);
    return r;
}

/* --- the tree --- */

static void check_root(struct file_reader *rd, const struct yaml_node *map,
                       const struct route_reader *rr)
{
    const char *mistake = NULL;
    if (!rr->has_receiver) {
        struct err *e = file_error(rd, map);
        (void)err_set(e, -EINVAL, "the first route needs a receiver");
        err_hint(e, "it takes what no other route takes");
    }
    if (rr->matchers.n > 0)
        mistake = "the first route cannot have matchers";
    else if (rr->mute.n > 0)
        mistake = "the first route cannot have mute_time_intervals";
    else if (rr->active.n > 0)
        mistake = "the first route cannot have active_time_intervals";
    else if (rr->route.goes_on)
        mistake = "the first route cannot have continue";
    if (mistake) {
        struct err *e = file_error(rd, map);
        (void)err_set(e, -EINVAL, "%s", mistake);
        err_hint(e, "it takes every alert that no other route takes; make a route below it");
    }
}

static int read_child(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct tree_reader *t = to;
    int r = read_tree(rd, item, t, &t->routes[t->n]);
    if (r == 0)
        t->n++;
    return r;
}

static int read_children(struct file_reader *rd, const struct yaml_node *list, int depth,
                         struct alert_route *above)
{
    struct tree_reader t = {.above = above, .depth = depth + 1};
    size_t n = file_keys_length(list);
    if (n > 0 && depth == ALERT_FILE_DEPTH_MAX) {
        (void)err_set(file_error(rd, list), -E2BIG, "more than %d levels of routes",
                      ALERT_FILE_DEPTH_MAX);
        return 0;
    }
    t.routes = arena_zalloc(&rd->to->arena, n, sizeof(*t.routes));
    if (!t.routes)
        return -ENOMEM;
    above->routes = t.routes;
    int r = file_keys_each(rd, list, "routes", read_child, &t);
    above->n_routes = t.n;
    return r;
}

static int read_tree(struct file_reader *rd, const struct yaml_node *map, struct tree_reader *t,
                     struct alert_route *to)
{
    static const struct alert_route defaults = {.group_wait_ms = GROUP_WAIT_MS,
                                                .group_interval_ms = GROUP_INTERVAL_MS,
                                                .repeat_interval_ms = REPEAT_INTERVAL_MS};
    struct route_reader rr = {.has_receiver = false};
    int r = read_keys(rd, map, &rr);
    if (r < 0)
        return r;
    if (!t->above && map->kind == YAML_NODE_MAP)
        check_root(rd, map, &rr);
    inherit(&rr, t->above ? t->above : &defaults);
    r = read_route_labels(rd, rr.labels, &rr.route.labels);
    if (r == 0)
        r = make_key(rd, t->above, &rr.route);
    rr.route.number = (uint32_t)rd->to->file.n_routes++;
    *to = rr.route;
    return r == 0 && rr.below ? read_children(rd, rr.below, t->depth, to) : r;
}

int file_route_read(struct file_reader *rd, const struct yaml_node *map)
{
    struct tree_reader t = {.depth = 1};
    struct alert_route *root = arena_zalloc(&rd->to->arena, 1, sizeof(*root));
    if (!root)
        return -ENOMEM;
    rd->to->file.route = root;
    int r = read_tree(rd, map, &t, root);
    if (r == 0 && rd->to->file.n_routes > ALERT_FILE_ROUTES_MAX)
        (void)err_set(file_error(rd, map), -E2BIG, "more than %d routes", ALERT_FILE_ROUTES_MAX);
    return r;
}
