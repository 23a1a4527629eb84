/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_build.c - from text to configuration: one walk over the tree, guided by the table.
 */
#include "daemon/config_build.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/config_labels.h"
#include "daemon/config_slos.h"
#include "daemon/config_upstreams.h"
#include "daemon/config_values.h"
#include "daemon/config_walk.h"
#include "io/addr.h"
#include "yaml/tree.h"

static void fail(struct config_build *b, int r)
{
    if (b->result == 0)
        b->result = r;
}

/* --- values --- */

static void set_key(struct config_build *b, const struct config_source *source,
                    const struct config_key *key, const struct yaml_node *node, bool is_append)
{
    size_t i = (size_t)(key - config_keys);
    int r;

    config_key_set_add(&b->keys_seen, i);
    b->places[i] = (struct config_place){source->where, node->line, node->column};
    if (node->kind == YAML_NODE_BAD || node->is_cut)
        return; /* why is listed already */
    r = key->type->set(source, key, node, is_append, config_keys_field(key, b->config));
    if (r == -ENOMEM)
        fail(b, r);
    else if (r == 0)
        config_key_set_add(&b->config->_keys_set, i);
}

struct build_walk {
    struct config_walk walk;
    struct config_build *build;
};

static int on_value(struct config_walk *w, const struct config_key *key,
                    const struct yaml_node *node)
{
    struct config_build *b = CONTAINER_OF(w, struct build_walk, walk)->build;

    set_key(b, w->source, key, node, false);
    return b->result;
}

static void apply_root(struct config_build *b, const struct config_source *source,
                       const struct yaml_node *root)
{
    struct err *e;

    if (!root || root->kind == YAML_NODE_BAD)
        return;
    if (root->kind == YAML_NODE_MAP) {
        struct build_walk w = {
            .walk = {.table = &config_top, .source = source, .on_value = on_value}, .build = b};

        config_walk_map(&w.walk, root); /* b keeps what ended it */
        return;
    }
    b->is_cut = true; /* what is missing is not worth a word now */
    e = config_keys_error(source, root);
    (void)err_set(e, -EINVAL, "the configuration has to be a mapping of keys, not %s",
                  config_values_kind(root));
    err_hint(e, "write lines like \"listen: 127.0.0.1:8400\"");
}

/* --- sources --- */

int config_build_begin(struct config_build *b, struct err_list *errs)
{
    struct config *c = mem_zalloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    atomic_init(&c->_refs, 1);
    *b = (struct config_build){.config = c,
                               .errs = errs,
                               .n_errs_before = errs->n + errs->n_dropped,
                               .where = "configuration"};
    for (size_t i = 0; i < config_keys_n && b->result == 0; i++) {
        const struct config_key *key = &config_keys[i];
        struct config_build_value v = {key, key->def, "default", true};

        if (key->def)
            config_build_value(b, &v, false);
    }
    c->_keys_set = (struct config_key_set){0};
    b->keys_seen = (struct config_key_set){0};
    if (b->result < 0)
        config_unref(c);
    return b->result;
}

void config_build_text(struct config_build *b, struct span text, const char *where)
{
    struct config_source source = {where, b->errs};
    struct yaml_node *root = NULL;
    size_t n_errs = b->errs->n;
    int r = yaml_read(text, where, &root, b->errs);

    b->where = where;
    if (r == -ENOMEM) {
        fail(b, r);
        return;
    }
    if (r == -EBADMSG)
        b->is_cut = true;
    apply_root(b, &source, root);
    err_list_sort(b->errs, n_errs);
    yaml_free(root);
}

static void file_error(struct config_build *b, const char *where, const char *what, int r)
{
    struct err *e;

    fail(b, r);
    if (r == -ENOMEM)
        return;
    e = err_list_add(b->errs, where, 0, 0);
    (void)err_set(e, r, "could not %s the file: %s", what, err_str(r));
    if (r == -ENOENT)
        err_hint(e, "check the path; without a file the defaults hold");
    else if (r == -EACCES)
        err_hint(e, "the user that runs the program needs to be able to read it");
}

void config_build_file(struct config_build *b, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *where = is_stdin ? "<stdin>" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct buf text;
    int r;

    if (fd < 0) {
        file_error(b, where, "open", -errno);
        return;
    }
    b->config->file = where;
    buf_init(&text, (size_t)2 * YAML_BYTES_MAX);
    r = file_read_fd(fd, YAML_BYTES_MAX, &text);
    if (!is_stdin)
        (void)close(fd); /* only read from */
    if (r < 0)
        file_error(b, where, "read", r);
    else
        config_build_text(b, buf_span(&text), where);
    buf_done(&text);
}

void config_build_value(struct config_build *b, const struct config_build_value *v, bool is_append)
{
    struct config_source source = {v->flag, b->errs};
    struct span text = span_cstr(v->text);
    struct yaml_node *node = NULL;
    int r;

    if (v->has_flow && !v->key->type->is_scalar && (*v->text == '[' || *v->text == '{')) {
        r = yaml_read(text, v->flag, &node, b->errs);
    } else {
        node = yaml_scalar(text);
        r = node ? 0 : -ENOMEM;
    }
    if (r == -ENOMEM)
        fail(b, r);
    else if (node)
        set_key(b, &source, v->key, node, is_append);
    yaml_free(node);
}

/* --- the whole --- */

static void check_required(struct config_build *b)
{
    for (size_t i = 0; i < config_keys_n; i++) {
        struct err *e;

        if (config_keys[i].def || config_key_set_has(&b->keys_seen, i))
            continue;
        e = err_list_add(b->errs, b->where, 0, 0);
        (void)err_set(e, -EINVAL, "missing key \"%s\"", config_keys[i].path);
        err_hint(e, "add %s: %s%s", config_keys[i].path, config_keys[i].example,
                 config_keys[i].item == &config_item_upstream ? ", or start with --upstream URL"
                                                              : "");
    }
}

static struct err *error_at_field(struct config_build *b, size_t offset)
{
    struct config_place place = {b->where, 0, 0};

    for (size_t i = 0; i < config_keys_n; i++) {
        if (config_keys[i].offset == offset && config_key_set_has(&b->keys_seen, i))
            place = b->places[i];
    }
    return err_list_add(b->errs, place.where, place.line, place.column);
}

/* Same address and port; port 0 is a different one each time. */
static bool is_same_addr(const char *a, const struct addr *b)
{
    char text_a[ADDR_TEXT_MAX], text_b[ADDR_TEXT_MAX];
    struct addr parsed;

    if ((addr_port(b) == 0 && !addr_is_unix(b)) || addr_parse(span_cstr(a), &parsed, NULL) < 0)
        return false;
    addr_format(&parsed, text_a);
    addr_format(b, text_b);
    return strcmp(text_a, text_b) == 0;
}

static bool listens_on(const struct config *c, const struct addr *a)
{
    for (size_t i = 0; i < c->listen.n; i++) {
        if (is_same_addr(c->listen.items[i], a))
            return true;
    }
    return false;
}

static void check_admin(struct config_build *b)
{
    const struct config *c = b->config;
    struct addr admin;
    struct err *e;

    if (addr_parse(span_cstr(c->admin_listen), &admin, NULL) < 0 || !listens_on(c, &admin))
        return;
    e = error_at_field(b, offsetof(struct config, admin_listen));
    (void)err_set(e, -EINVAL, "\"admin.listen\" is the same address as in \"listen\": %s",
                  c->admin_listen);
    err_hint(e, "give one of them another port");
}

static void check_listen_tls(struct config_build *b)
{
    const struct config *c = b->config;
    struct err *e;

    if (c->listen_cert[0] != '\0' || c->listen_key[0] == '\0')
        return;
    e = error_at_field(b, offsetof(struct config, listen_key));
    (void)err_set(e, -EINVAL, "\"listen_tls\" has a key and no cert");
    err_hint(e, "name the certificate's file, too");
}

/* A gateway in front of itself answers nothing and looks busy. */
static void check_upstream_is_other(struct config_build *b)
{
    const struct config *c = b->config;

    for (size_t i = 0; i < c->upstreams.n; i++) {
        struct gateway_upstream u;
        struct addr a;
        struct err *e;
        bool is_name;

        if (gateway_upstream_parse("", c->upstreams.items[i].url, &u, NULL) < 0)
            continue;
        is_name = strcmp(u.host, "localhost") == 0;
        if (!addr_from_literal(span_cstr(is_name ? "127.0.0.1" : u.host), u.port, &a) ||
            !listens_on(c, &a))
            continue;
        e = error_at_field(b, offsetof(struct config, upstreams));
        (void)err_set(e, -EINVAL, "upstream \"%s\" is the gateway's own address",
                      c->upstreams.items[i].url);
        err_hint(e, "write the inference server's address, or let \"listen\" be another");
    }
}

static uint64_t count_cpus(void)
{
    cpu_set_t set;
    uint64_t n = 1;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        n = (uint64_t)CPU_COUNT(&set);
    else if (sysconf(_SC_NPROCESSORS_ONLN) > 0)
        n = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than cpu_set_t has bits */
    return n > CONFIG_WORKERS_AUTO_MAX ? CONFIG_WORKERS_AUTO_MAX : n;
}

static size_t count_mistakes(const struct err_list *l)
{
    return l->n + l->n_dropped;
}

int config_build_finish(struct config_build *b, bool is_whole, struct config **ret)
{
    struct config *c = b->config;

    if (b->result == -ENOMEM)
        (void)err_set(err_list_add(b->errs, b->where, 0, 0), -ENOMEM, "out of memory");
    if (b->result == 0) {
        size_t n_errs = b->errs->n;

        if (is_whole && !b->is_cut) {
            check_required(b);
            check_listen_tls(b);
        }
        check_admin(b);
        check_upstream_is_other(b);
        config_slos_check(c, b->where, b->errs);
        err_list_sort(b->errs, n_errs);
        if (count_mistakes(b->errs) > b->n_errs_before)
            b->result = -EINVAL;
    }
    if (b->result == 0 &&
        (config_labels_build(&c->labels, &c->business) < 0 || config_slos_build(c) < 0))
        b->result = err_set(err_list_add(b->errs, b->where, 0, 0), -ENOMEM, "out of memory");
    b->config = NULL;
    if (b->result < 0) {
        config_unref(c);
        return b->result;
    }
    if (c->workers == 0)
        c->workers = count_cpus();
    *ret = c;
    return 0;
}
