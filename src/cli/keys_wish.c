/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/keys_wish.c - the flags of "inferometer key".
 */
#include "cli/keys_wish.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/suggest.h"

/* --- times --- */

/* Digits of text[at, at + n) within min and max. */
static bool take_digits(struct span text, size_t at, size_t n, int min, int max, int *ret)
{
    uint64_t v;
    if (at + n > text.n || num_parse_u64(span_of(text.p + at, n), &v) < 0 || (int)v < min ||
        (int)v > max)
        return false;
    *ret = (int)v;
    return true;
}

/* "2027-01-31", with or without "T12:00:00Z". */
static bool parse_date(struct span s, int64_t *ret_s)
{
    struct tm tm = {0};
    int year = 0;
    bool is_date = (s.n == 10 || s.n == 20) && take_digits(s, 0, 4, 1970, 9999, &year) &&
                   s.p[4] == '-' && take_digits(s, 5, 2, 1, 12, &tm.tm_mon) && s.p[7] == '-' &&
                   take_digits(s, 8, 2, 1, 31, &tm.tm_mday);
    if (is_date && s.n == 20)
        is_date = s.p[10] == 'T' && take_digits(s, 11, 2, 0, 23, &tm.tm_hour) && s.p[13] == ':' &&
                  take_digits(s, 14, 2, 0, 59, &tm.tm_min) && s.p[16] == ':' &&
                  take_digits(s, 17, 2, 0, 59, &tm.tm_sec) && s.p[19] == 'Z';
    if (!is_date)
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon--;
    int day = tm.tm_mday;
    *ret_s = timegm(&tm);
    return tm.tm_mday == day; /* no 31st of February */
}

bool keys_wish_expiry(struct span text, int64_t now_s, int64_t *ret_s)
{
    int64_t at_s;
    int64_t ns;
    if (num_parse_duration(text, &ns) == 0)
        at_s = ns > 0 ? now_s + (ns + NS_PER_S - 1) / NS_PER_S : 0;
    else if (!parse_date(text, &at_s))
        return false;
    if (at_s <= now_s)
        return false;
    *ret_s = at_s;
    return true;
}

/* --- flags --- */

typedef int take_fn(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr);

static int take_text(struct flag *f, const char **ret, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);
    if (r == 0)
        *ret = value.p; /* argv's texts are terminated */
    return r;
}

static int take_file(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)now_s;
    return take_text(f, &w->file, reterr);
}

static int take_config(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)now_s;
    return take_text(f, &w->config, reterr);
}

static int take_tenant(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)now_s;
    return take_text(f, &w->key.tenant, reterr);
}

static int take_note(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)now_s;
    return take_text(f, &w->key.note, reterr);
}

static int take_model(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)now_s;
    if (w->key.n_models == KEYRING_MODELS_MAX)
        return err_set(reterr, -EINVAL, "more than %d models", KEYRING_MODELS_MAX);
    int r = take_text(f, &w->_models[w->key.n_models], reterr);
    if (r == 0)
        w->key.n_models++;
    return r;
}

static int take_label(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    struct span value;
    size_t i = w->key.n_labels;
    (void)now_s;
    if (i == KEYRING_LABELS_MAX)
        return err_set(reterr, -EINVAL, "more than %d labels", KEYRING_LABELS_MAX);
    int r = flag_value(f, NULL, &value, reterr);
    if (r < 0)
        return r;
    size_t n = span_find_char(value, '=');
    if (n == value.n) {
        (void)err_set(reterr, -EINVAL, "--label \"%s\" has no \"=\"", value.p);
        err_hint(reterr, "for example --label team=search");
        return -EINVAL;
    }
    w->_label_names[i] = mem_strndup(value.p, n);
    if (!w->_label_names[i])
        return err_set(reterr, -ENOMEM, "out of memory");
    w->_labels[i] = (struct keyring_label){w->_label_names[i], value.p + n + 1};
    w->key.n_labels++;
    return 0;
}

static int take_class(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    struct span value;
    (void)now_s;
    int r = flag_value(f, NULL, &value, reterr);
    for (int c = 0; r == 0 && c < KEYRING_CLASS_COUNT_; c++) {
        if (span_eq(value, span_cstr(keyring_class_name((enum keyring_class)c)))) {
            w->key.class = (enum keyring_class)c;
            return 0;
        }
    }
    return r < 0 ? r
                 : err_set(reterr, -EINVAL, "--class: \"%s\" is neither interactive nor batch",
                           value.p);
}

static int take_limit(struct flag *f, uint32_t *ret, struct err *reterr)
{
    int64_t n;
    int r = flag_i64(f, 0, 1000000000, &n, reterr);
    if (r == 0)
        *ret = (uint32_t)n;
    return r;
}

static int take_inflight(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)now_s;
    return take_limit(f, &w->key.max_inflight, reterr);
}

static int take_per_minute(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)now_s;
    return take_limit(f, &w->key.max_requests_per_minute, reterr);
}

static int take_expires(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);
    if (r < 0 || keys_wish_expiry(value, now_s, &w->key.expires_s))
        return r;
    (void)err_set(reterr, -EINVAL, "--expires: \"%s\" is no time to come", value.p);
    err_hint(reterr, "for example 90d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z (UTC)");
    return -EINVAL;
}

static int take_json(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)f;
    (void)now_s;
    (void)reterr;
    w->is_json = true;
    return 0;
}

static int take_help(struct flag *f, struct keys_wish *w, int64_t now_s, struct err *reterr)
{
    (void)f;
    (void)now_s;
    (void)reterr;
    w->is_help = true;
    return 0;
}

enum { FOR_ADD = 1 << KEYS_ADD, FOR_LIST = 1 << KEYS_LIST, FOR_ALL = 7 };

static const struct known_flag {
    const char *name;
    take_fn *take;
    unsigned commands; /* bits of enum keys_command */
} known_flags[] = {
    {"file", take_file, FOR_ALL},
    {"config", take_config, FOR_ALL},
    {"help", take_help, FOR_ALL},
    {"json", take_json, FOR_ADD | FOR_LIST},
    {"tenant", take_tenant, FOR_ADD},
    {"model", take_model, FOR_ADD},
    {"label", take_label, FOR_ADD},
    {"class", take_class, FOR_ADD},
    {"max-inflight", take_inflight, FOR_ADD},
    {"max-per-minute", take_per_minute, FOR_ADD},
    {"expires", take_expires, FOR_ADD},
    {"note", take_note, FOR_ADD},
};

static int take_flag(enum keys_command command, struct flag *f, struct keys_wish *w, int64_t now_s,
                     struct err *reterr)
{
    struct suggest s;
    suggest_init(&s, f->name);
    for (size_t i = 0; i < ARRAY_LEN(known_flags); i++) {
        if (!(known_flags[i].commands >> command & 1))
            continue;
        if (flag_is(f, known_flags[i].name))
            return known_flags[i].take(f, w, now_s, reterr);
        suggest_offer(&s, span_cstr(known_flags[i].name));
    }
    return flag_unknown(f, &s, "key", reterr);
}

static int check(enum keys_command command, const struct keys_wish *w, struct err *reterr)
{
    if (w->file && w->config)
        return err_set(reterr, -EINVAL, "--file and --config both name the key file; give one");
    if (command == KEYS_ADD && !w->key.tenant) {
        (void)err_set(reterr, -EINVAL, "--tenant is missing");
        err_hint(reterr, "say whose key it is, for example --tenant search-team");
        return -EINVAL;
    }
    if (command == KEYS_REVOKE && w->id.n == 0) {
        (void)err_set(reterr, -EINVAL, "which key?");
        err_hint(reterr, "inferometer key revoke ID; \"inferometer key list\" shows the ids");
        return -EINVAL;
    }
    return 0;
}

int keys_wish_parse(enum keys_command command, int argc, char **argv, int64_t now_s,
                    struct keys_wish *ret, struct err *reterr)
{
    struct flag f;
    int r = 1;
    *ret = (struct keys_wish){.key = {.note = "", .created_s = now_s}};
    ret->key.models = ret->_models;
    ret->key.labels = ret->_labels;
    flag_init(&f, argc, argv);
    while (r > 0 && !ret->is_help) {
        if (command == KEYS_REVOKE && ret->id.n == 0 && flag_word(&f, &ret->id))
            continue;
        r = flag_next(&f, reterr);
        if (r > 0 && take_flag(command, &f, ret, now_s, reterr) < 0)
            r = -EINVAL;
    }
    if (r == 0)
        r = check(command, ret, reterr);
    if (r < 0)
        keys_wish_done(ret);
    return r < 0 ? r : 0;
}

void keys_wish_done(struct keys_wish *w)
{
    for (size_t i = 0; i < KEYRING_LABELS_MAX; i++)
        mem_free(w->_label_names[i]);
    *w = (struct keys_wish){0};
}
