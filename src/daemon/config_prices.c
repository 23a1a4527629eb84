/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_prices.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "daemon/config_values.h"
#include "daemon/prices.h"

#define PRICE_MAX 1e9

/* --- kinds of values --- */

static int currency_set(const struct config_source *source, const struct config_key *key,
                        const struct yaml_node *node, bool is_append, void *field)
{
    char *text = NULL;
    int r = config_type_text.set(source, key, node, is_append, &text);
    bool is_good = r == 0 && strlen(text) == 3 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
    if (r == 0 && !is_good) {
        struct err *e = config_keys_error(source, node);
        r = err_set(e, -EINVAL, "\"%s\" is three capital letters", key->path);
        err_hint(e, "for example USD, EUR or CNY");
    }
    config_type_text.done(key, &text);
    return r < 0 ? r : config_type_text.set(source, key, node, is_append, field);
}

const struct config_type config_type_currency = {
    .what = "three capital letters",
    .is_scalar = true,
    .set = currency_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

static int model_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    if (node->kind == YAML_NODE_SCALAR && yaml_span(node).n == 0) {
        struct err *e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "\"%s\" is empty", key->path);
        err_hint(e, "the name of a model, or * for all");
        return -EINVAL;
    }
    return config_type_text.set(source, key, node, is_append, field);
}

static const struct config_type type_model = {
    .what = "a text",
    .is_scalar = true,
    .set = model_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

static int amount_set(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    double v = PRICES_AS_PROMPT;
    int r = config_values_need_scalar(source, key, node);

    (void)is_append;
    if (r < 0)
        return r;
    bool is_word = key->word && span_eq(yaml_span(node), span_cstr(key->word));
    if (!is_word && (num_parse_double(yaml_span(node), &v) < 0 || !(v >= 0 && v <= PRICE_MAX))) {
        struct err *e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is no price", key->path,
                      err_list_shown(yaml_span(node), shown));
        err_hint(e, "a number from 0 on, for a million tokens%s%s", key->word ? ", or " : "",
                 key->word ? key->word : "");
        return -EINVAL;
    }
    *(double *)field = v;
    return 0;
}

static double amount_of(const void *field)
{
    return *(const double *)field;
}

static int amount_format(const struct config_key *key, const void *field, struct buf *out)
{
    char text[NUM_PLAIN_BYTES];
    if (amount_of(field) < 0)
        return buf_append(out, span_cstr(key->word));
    return buf_append(out, span_of(text, num_format_plain(amount_of(field), text)));
}

static bool amount_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    return memcmp(a, b, sizeof(double)) == 0;
}

static const struct config_type type_amount = {
    .what = "a price",
    .is_scalar = true,
    .set = amount_set,
    .format = amount_format,
    .is_equal = amount_is_equal,
};

/* --- an item --- */

#define PRICE(member) offsetof(struct config_price, member)

static const struct config_key price_keys[] = {
    {
        .path = "model",
        .type = &type_model,
        .reload = CONFIG_RELOAD,
        .offset = PRICE(model),
        .example = "qwen3-32b",
        .help = "The model's name, as metrics have it; one that ends with `*` means all that begin "
                "so. The longest that fits counts.",
    },
    {
        .path = "prompt",
        .type = &type_amount,
        .reload = CONFIG_RELOAD,
        .offset = PRICE(prompt),
        .example = "0.4",
        .help = "What a million prompt tokens cost.",
    },
    {
        .path = "cached",
        .type = &type_amount,
        .def = "prompt",
        .word = "prompt",
        .reload = CONFIG_RELOAD,
        .offset = PRICE(cached),
        .example = "0.1",
        .help = "Those of them that came from the prefix cache; `prompt`: as much as the others.",
    },
    {
        .path = "completion",
        .type = &type_amount,
        .reload = CONFIG_RELOAD,
        .offset = PRICE(completion),
        .example = "1.2",
        .help = "A million completion tokens.",
    },
};

static const char *name_of(const void *item)
{
    return ((const struct config_price *)item)->model;
}

const struct config_item config_item_price = {
    .table = {.keys = price_keys, .n = ARRAY_LEN(price_keys), .of = " of a price"},
    .size = sizeof(struct config_price),
    .noun = "a price",
    .name = name_of,
};
