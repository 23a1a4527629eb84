/* SPDX-License-Identifier: Apache-2.0 */
#include "top/keys.h"

#include "base/attr.h"
#include "top/screen.h"

static const int64_t windows_ms[] = {10000, 60000, 300000};
enum { TREND_MS = 300000, PAGE = 10 };

/* --- groupings --- */

static void grouping_add(struct top_keys *k, const bool by[TOP_DIMS_MAX])
{
    for (size_t i = 0; i < k->n_groupings; i++)
        if (memcmp(k->groupings[i], by, sizeof(k->groupings[i])) == 0)
            return;
    if (k->n_groupings < TOP_GROUPINGS_MAX)
        memcpy(k->groupings[k->n_groupings++], by, sizeof(k->groupings[0]));
}

void top_keys_init(struct top_keys *k, const struct top_feed *f, const bool by[TOP_DIMS_MAX])
{
    static const bool model_upstream[TOP_DIMS_MAX] = {true, true}, all[TOP_DIMS_MAX] = {false};
    *k = (struct top_keys){.wish = {.window_ms = windows_ms[1],
                                    .sort = TOP_BY_REQUESTS,
                                    .quantile = TOP_P99,
                                    .trend = TOP_TTFT,
                                    .trend_ms = TREND_MS}};
    memcpy(k->wish.by, by, sizeof(k->wish.by));
    grouping_add(k, by);
    grouping_add(k, model_upstream);
    for (size_t i = 0; i < f->n_dims; i++) {
        bool one[TOP_DIMS_MAX] = {false};
        one[i] = true;
        grouping_add(k, one);
    }
    grouping_add(k, all);
}

void top_keys_filter(struct top_keys *k, struct span text)
{
    k->wish.filter = span_of(k->_filter, span_copy(text, k->_filter, sizeof(k->_filter)));
}

/* --- keys --- */

static void press_group(struct top_keys *k)
{
    k->grouping = (k->grouping + 1) % k->n_groupings;
    memcpy(k->wish.by, k->groupings[k->grouping], sizeof(k->wish.by));
}

static void press_quantile(struct top_keys *k)
{
    k->wish.quantile = (enum top_quantile)((k->wish.quantile + 1) % TOP_QUANTILES);
}

static void press_trend(struct top_keys *k)
{
    k->wish.trend = (enum top_family)((k->wish.trend + 1) % TOP_STAGES);
}

static void press_window(struct top_keys *k)
{
    size_t i = 0;
    while (i < ARRAY_LEN(windows_ms) && windows_ms[i] <= k->wish.window_ms)
        i++;
    k->wish.window_ms = windows_ms[i % ARRAY_LEN(windows_ms)];
}

static void press_left(struct top_keys *k)
{
    k->wish.sort = (enum top_figure)((k->wish.sort + TOP_FIGURES - 1) % TOP_FIGURES);
}

static void press_right(struct top_keys *k)
{
    k->wish.sort = (enum top_figure)((k->wish.sort + 1) % TOP_FIGURES);
}

static void press_reverse(struct top_keys *k)
{
    k->wish.is_upwards = !k->wish.is_upwards;
}

static void press_filter(struct top_keys *k)
{
    k->view.is_typing = true;
}

static void press_tab(struct top_keys *k)
{
    k->view.focus = (enum top_pane)((k->view.focus + 1) % TOP_PANES);
    k->view.scroll = 0;
}

static void press_space(struct top_keys *k)
{
    k->view.is_paused = !k->view.is_paused;
}

static void press_help(struct top_keys *k)
{
    k->view.is_help = true;
}

static const struct {
    char key;
    void (*press)(struct top_keys *k);
} keys[] = {
    {'g', press_group},  {'p', press_quantile}, {'t', press_trend}, {'w', press_window},
    {'<', press_left},   {'>', press_right},    {'s', press_right}, {'r', press_reverse},
    {'/', press_filter}, {'\t', press_tab},     {' ', press_space}, {'?', press_help},
    {'h', press_help},
};

static void press_scroll(struct top_keys *k, int key, size_t n_items)
{
    size_t step = key == TOP_KEY_UP || key == TOP_KEY_DOWN ? 1 : PAGE;
    size_t last = n_items > 0 ? n_items - 1 : 0;
    if (key == TOP_KEY_HOME)
        k->view.scroll = 0;
    else if (key == TOP_KEY_UP || key == TOP_KEY_PAGE_UP)
        k->view.scroll -= step < k->view.scroll ? step : k->view.scroll;
    else if (key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN)
        k->view.scroll = k->view.scroll + step < last ? k->view.scroll + step : last;
}

static void type(struct top_keys *k, int key)
{
    size_t n = k->wish.filter.n;
    if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
        k->view.is_typing = false;
    if (key == TOP_KEY_ESCAPE)
        n = 0;
    else if (key == TOP_KEY_RUBOUT && n > 0)
        n--;
    else if (key >= ' ' && key < 127 && n + 1 < TOP_FILTER_BYTES)
        k->_filter[n++] = (char)key;
    k->wish.filter = span_of(k->_filter, n);
}

static void press(struct top_keys *k, int key)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (key == keys[i].key)
            keys[i].press(k);
}

bool top_keys_press(struct top_keys *k, int key, size_t n_items)
{
    bool is_busy = k->view.is_help || k->view.is_typing;
    if (key == TOP_KEY_NONE)
        return true;
    if (key == TOP_KEY_GONE || key == TOP_KEY_INTERRUPT || (key == 'q' && !is_busy))
        return false;
    if (k->view.is_help)
        k->view.is_help = false;
    else if (k->view.is_typing)
        type(k, key);
    else if (key == TOP_KEY_ESCAPE)
        k->wish.filter.n = 0;
    else if (key > 127)
        press_scroll(k, key, n_items);
    else
        press(k, key);
    return true;
}
