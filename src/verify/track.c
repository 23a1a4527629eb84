/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/track.h"

#include <errno.h>

#include "base/timestamp.h"
#include "wire/json.h"

enum { NAME_BYTES = 1024 };

void verify_track_init(struct verify_track *t)
{
    *t = (struct verify_track){.seen_ms = VERIFY_NEVER,
                               .active_ms = VERIFY_NEVER,
                               .pending_ms = VERIFY_NEVER,
                               .firing_ms = VERIFY_NEVER,
                               .ended_ms = VERIFY_NEVER};
}

void verify_track_reset(struct verify_track *t)
{
    t->pending_ms = t->firing_ms = t->ended_ms = VERIFY_NEVER;
}

const char *verify_state_name(enum verify_state s)
{
    static const char *const names[] = {"not evaluated", "inactive", "pending", "firing"};
    return names[s];
}

/* What one rule said. */
struct told_rule {
    bool is_alert;
    enum verify_state state;
    int64_t at_ms, active_ms; /* of its last evaluation; the first of its alerts */
    char error[256];
};

struct track_reader {
    struct json j;
    const struct verify_plan *plan;
    const char *const *files;
    struct verify_track *tracks;
};

static bool is_key(struct span key, const char *name)
{
    return json_str_eq(key, span_cstr(name));
}

static enum verify_state state_of(struct span text)
{
    for (int s = VERIFY_INACTIVE; s <= VERIFY_FIRING; s++)
        if (span_eq(text, span_cstr(verify_state_name((enum verify_state)s))))
            return (enum verify_state)s;
    return VERIFY_UNSEEN;
}

/* A moment, or VERIFY_NEVER for Go's zero time. */
static int64_t moment_of(struct span text)
{
    wall_t t;

    return timestamp_parse(text, &t) == 0 && t.us > 0 ? t.us / 1000 : VERIFY_NEVER;
}

/* Of several alerts the one that has been active for longest. */
static void read_active(struct json *j, struct told_rule *rule)
{
    struct json_value v;
    struct span key;

    while (json_key(j, &key)) {
        int64_t at;
        if (!is_key(key, "activeAt")) {
            (void)json_skip(j);
            continue;
        }
        at = json_next(j, &v) && v.type == JSON_STRING ? moment_of(v.raw) : VERIFY_NEVER;
        if (at != VERIFY_NEVER && (rule->active_ms == VERIFY_NEVER || at < rule->active_ms))
            rule->active_ms = at;
    }
}

static void read_alerts(struct json *j, struct told_rule *rule)
{
    struct json_value v;

    if (!json_next(j, &v) || v.type != JSON_ARRAY)
        return;
    while (json_item(j))
        if (json_next(j, &v) && v.type == JSON_OBJECT)
            read_active(j, rule);
}

static void read_rule_key(struct json *j, struct span key, struct told_rule *rule)
{
    struct json_value v;

    if (is_key(key, "alerts")) {
        read_alerts(j, rule);
        return;
    }
    bool is_wanted = is_key(key, "state") || is_key(key, "type") || is_key(key, "lastEvaluation") ||
                     is_key(key, "lastError");
    if (!is_wanted || !json_next(j, &v) || v.type != JSON_STRING) {
        if (!is_wanted)
            (void)json_skip(j);
        return;
    }
    if (is_key(key, "state"))
        rule->state = state_of(v.raw);
    else if (is_key(key, "type"))
        rule->is_alert = span_eq(v.raw, SPAN("alerting"));
    else if (is_key(key, "lastEvaluation"))
        rule->at_ms = moment_of(v.raw);
    else
        (void)json_unescape(v.raw, rule->error, sizeof(rule->error));
}

static void advance(struct verify_track *t, const struct told_rule *rule)
{
    if (rule->error[0])
        (void)span_copy(span_cstr(rule->error), t->error, sizeof(t->error));
    if (rule->at_ms == VERIFY_NEVER || rule->state == VERIFY_UNSEEN)
        return;
    if (rule->at_ms == t->seen_ms && rule->state != t->state)
        return; /* Prometheus tells the new state a little earlier than its moment */
    t->state = rule->state;
    t->seen_ms = rule->at_ms;
    if (rule->state == VERIFY_PENDING && t->pending_ms == VERIFY_NEVER)
        t->pending_ms = rule->at_ms;
    if (rule->state == VERIFY_FIRING && t->firing_ms == VERIFY_NEVER)
        t->firing_ms = rule->at_ms;
    if (rule->state == VERIFY_INACTIVE && t->firing_ms != VERIFY_NEVER &&
        t->ended_ms == VERIFY_NEVER)
        t->ended_ms = rule->at_ms;
    if (rule->state != VERIFY_INACTIVE &&
        (t->firing_ms == VERIFY_NEVER || t->firing_ms == rule->at_ms))
        t->active_ms = rule->active_ms; /* later ones are other label sets' */
}

static void place(struct track_reader *d, struct span file, struct span group, size_t i_rule,
                  const struct told_rule *rule)
{
    for (size_t i = 0; i < d->plan->n; i++) {
        const struct verify_alert *a = &d->plan->alerts[i];
        if (a->i_rule == i_rule && span_eq(a->group->name, group) &&
            span_eq(span_cstr(d->files[a->i_file]), file))
            advance(&d->tracks[i], rule);
    }
}

static void read_rules(struct track_reader *d, struct span file, struct span group)
{
    struct json_value v;
    size_t n_alerts = 0;

    if (!json_next(&d->j, &v) || v.type != JSON_ARRAY)
        return;
    while (json_item(&d->j)) {
        struct told_rule rule = {.at_ms = VERIFY_NEVER, .active_ms = VERIFY_NEVER};
        struct span key;

        if (!json_next(&d->j, &v) || v.type != JSON_OBJECT)
            continue;
        while (json_key(&d->j, &key))
            read_rule_key(&d->j, key, &rule);
        if (rule.is_alert)
            place(d, file, group, n_alerts++, &rule);
    }
}

/* Its rules are read once file and name are known: a group is walked twice. */
static void read_group(struct track_reader *d)
{
    char file[NAME_BYTES] = "", name[NAME_BYTES] = "";
    size_t n_file = 0, n_name = 0;
    struct json before = d->j;
    struct json_value v;
    struct span key;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            d->j = before;
        while (json_key(&d->j, &key)) {
            if (pass == 1 && is_key(key, "rules"))
                read_rules(d, span_of(file, n_file), span_of(name, n_name));
            else if (pass == 0 && is_key(key, "file") && json_next(&d->j, &v))
                n_file = json_unescape(v.raw, file, sizeof(file));
            else if (pass == 0 && is_key(key, "name") && json_next(&d->j, &v))
                n_name = json_unescape(v.raw, name, sizeof(name));
            else
                (void)json_skip(&d->j);
        }
    }
}

static void read_groups(struct track_reader *d)
{
    struct json_value v;

    if (!json_next(&d->j, &v) || v.type != JSON_ARRAY)
        return;
    while (json_item(&d->j))
        if (json_next(&d->j, &v) && v.type == JSON_OBJECT)
            read_group(d);
}

/* Walks into an object and calls take for the value of one key. false: there is none. */
static bool into(struct track_reader *d, const char *name, void (*take)(struct track_reader *d))
{
    struct json_value v;
    struct span key;
    bool is_found = false;

    if (!json_next(&d->j, &v) || v.type != JSON_OBJECT)
        return false;
    while (json_key(&d->j, &key)) {
        if (is_key(key, name)) {
            is_found = true;
            take(d);
        } else {
            (void)json_skip(&d->j);
        }
    }
    return is_found;
}

static void read_data(struct track_reader *d)
{
    (void)into(d, "groups", read_groups);
}

int verify_track_read(const struct verify_plan *p, const char *const *files, struct span json,
                      struct verify_track *tracks)
{
    struct track_reader d = {.plan = p, .files = files, .tracks = tracks};

    json_init(&d.j, json);
    if (!into(&d, "data", read_data) || json_status(&d.j) != JSON_OK)
        return -EPROTO;
    return 0;
}
