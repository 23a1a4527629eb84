/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_labels.c - the table of a business label's keys.
 */
#include "daemon/config_labels.h"

#include <errno.h>

#include "base/limits.h"
#include "base/mem.h"
#include "daemon/config_values.h"
#include "policy/business.h"

_Static_assert(LIMIT_LABEL_VALUES == 200, "the default of labels[].max");

/* --- names --- */

/* What is wrong with it; NULL: nothing. */
static const char *name_fault(const char *text)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n = strlen(text);

    if (n == 0 || !strchr(first, text[0]) || strspn(text, all) != n)
        return "has other characters than letters, digits, _, or begins with a digit";
    if (strncmp(text, "__", 2) == 0)
        return "begins with __, which is Prometheus' own";
    if (family_is_label(text))
        return "is a label of the metrics already";
    return NULL;
}

static int name_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    char **name = field;
    char *text = NULL;
    const char *fault;
    struct err *e;
    int r = config_values_take_text(source, key, node, BUSINESS_NAME_MAX - 1, &text);

    (void)is_append;
    if (r < 0)
        return r;
    fault = name_fault(text);
    if (!fault) {
        mem_free(*name);
        *name = text;
        return 0;
    }
    mem_free(text);
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "label name \"%s\" %s", err_list_shown(yaml_span(node), shown),
                  fault);
    err_hint(e, "it becomes a metric label; for example tenant");
    return -EINVAL;
}

static const struct config_type type_label_name = {
    .what = "a name of letters, digits, _",
    .is_scalar = true,
    .set = name_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- the table --- */

#define FIELD(member) offsetof(struct config_label, member)

static const struct config_key keys[] = {
    {
        .path = "name",
        .type = &type_label_name,
        .reload = CONFIG_RESTART,
        .offset = FIELD(name),
        .example = "tenant",
        .help = "Name of the label in metrics and in the request log's `labels`. One called "
                "`tenant` tells whose share of a queue a request takes, where its key tells none.",
    },
    {
        .path = "from",
        .type = &config_type_texts,
        .def = "key",
        .min = 1,
        .max = BUSINESS_SOURCES_MAX,
        .reload = CONFIG_RELOAD,
        .offset = FIELD(from),
        .example = "[key, \"header:X-Tenant\", \"metadata:tenant\"]",
        .help =
            "Where its value comes from, most trusted first; the first that tells one wins. `key` "
            "is the gateway key's tenant for a label called `tenant`, else its label of that name, "
            "`key:NAME` the one called NAME; `header:NAME` a header of the request, "
            "`metadata:NAME` a member of its body's `metadata` object (a text, a number, true or "
            "false, within `limits.request_window`). Whoever sends a request chooses its headers "
            "and metadata.",
    },
    {
        .path = "max",
        .type = &config_type_count,
        .def = "200",
        .min = 1,
        .max = 100000,
        .reload = CONFIG_RESTART,
        .offset = FIELD(max_values),
        .help = "Values of this label in metrics; more become `other`, and are counted "
                "(`inferometer_drops_total`). The request log has every value.",
    },
};

static int finish(const struct config_source *source, const struct yaml_node *node, void *item)
{
    const struct config_label *l = item;
    int r = 0;

    for (size_t i = 0; i < l->from.n; i++) {
        struct err why = {0};

        if (business_check_source(l->from.items[i], &why) == 0)
            continue;
        *config_keys_error(source, node) = why;
        r = -EINVAL;
    }
    return r;
}

static const char *name_of(const void *item)
{
    const struct config_label *l = item;

    return l->name;
}

const struct config_item config_item_label = {
    .table = {.keys = keys, .n = ARRAY_LEN(keys), .of = " of a label"},
    .size = sizeof(struct config_label),
    .noun = "a label",
    .one_word = &keys[0],
    .finish = finish,
    .name = name_of,
};

int config_labels_build(const struct config_labels *labels, struct business **ret)
{
    struct business_label made[CONFIG_LABELS_MAX];

    if (labels->n == 0) {
        *ret = NULL;
        return 0;
    }
    for (size_t i = 0; i < labels->n; i++) {
        const struct config_label *l = &labels->items[i];

        made[i] = (struct business_label){l->name, (const char *const *)l->from.items, l->from.n};
    }
    return business_new(made, labels->n, ret);
}
