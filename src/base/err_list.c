/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/err_list.c - the list of mistakes.
 */
#include "base/err_list.h"

void err_list_init(struct err_list *l)
{
    l->n = 0;
    l->n_dropped = 0;
}

struct err *err_list_add(struct err_list *l, const char *where, int line, int column)
{
    struct err_item *item;

    if (err_list_is_full(l)) {
        l->n_dropped++;
        return &l->_scratch;
    }
    item = &l->items[l->n++];
    item->where = where;
    item->line = line;
    item->column = column;
    (void)err_set(&item->err, 0, "%s", "");
    return &item->err;
}

static bool item_is_before(const struct err_item *a, const struct err_item *b)
{
    return a->line < b->line || (a->line == b->line && a->column < b->column);
}

void err_list_sort(struct err_list *l, size_t first)
{
    for (size_t i = first + 1; i < l->n; i++) {
        struct err_item item = l->items[i];
        size_t j = i;

        for (; j > first && item_is_before(&item, &l->items[j - 1]); j--)
            l->items[j] = l->items[j - 1];
        l->items[j] = item;
    }
}

void err_list_print(const struct err_list *l, FILE *out)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct err_item *item = &l->items[i];

        if (item->line > 0)
            (void)fprintf(out, "%s:%d:%d: %s\n", item->where, item->line, item->column,
                          item->err.text);
        else
            (void)fprintf(out, "%s: %s\n", item->where, item->err.text);
        if (item->err.hint[0] != '\0')
            (void)fprintf(out, "  hint: %s\n", item->err.hint);
    }
    if (l->n_dropped > 0)
        (void)fprintf(out, "(%zu more mistakes are not shown)\n", l->n_dropped);
}

const char *err_list_shown(struct span text, char *dst)
{
    enum { TAIL_BYTES = sizeof("...") };
    size_t max = ERR_LIST_SHOWN_MAX - TAIL_BYTES;
    bool is_cut = text.n > max;
    size_t n = is_cut ? max : text.n;

    /* Not in the middle of a UTF-8 sequence. */
    while (is_cut && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        /* C2 80 .. C2 9F are control characters in UTF-8. */
        bool is_c1 = c < 0xa0 && i > 0 && (unsigned char)text.p[i - 1] == 0xc2;
        dst[i] = text.p[i];
        if (c < 0x20 || c == 0x7f)
            dst[i] = '?';
        if (is_c1)
            dst[i - 1] = dst[i] = '?';
    }
    (void)span_copy(is_cut ? SPAN("...") : SPAN(""), dst + n, TAIL_BYTES);
    return dst;
}
