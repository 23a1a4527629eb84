/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/models_step.c - the list of models, and whether the one that is wanted is in it.
 */
#include "base/suggest.h"
#include "doctor/doctor_private.h"
#include "wire/json.h"

enum { ID_MAX = 256 };

/* --- the list --- */

static void take_model(struct doctor *d, struct json *j)
{
    struct json_value v;
    struct span key;
    char text[ID_MAX];

    while (json_key(j, &key)) {
        bool is_id = span_eq(key, SPAN("id")), is_owner = span_eq(key, SPAN("owned_by"));
        struct span copy;

        if (!is_id && !is_owner) {
            (void)json_skip(j); /* sticky */
            continue;
        }
        if (!json_next(j, &v) || v.type != JSON_STRING)
            continue;
        copy = arena_dup(d->arena, span_of(text, json_unescape(v.raw, text, sizeof(text))));
        d->is_out_of_memory |= !copy.p;
        if (is_owner && d->owner.n == 0)
            d->owner = copy;
        else if (is_id && d->n_models < DOCTOR_MODELS_MAX)
            d->model_ids[d->n_models++] = copy;
    }
}

/* false: it is no such list. */
static bool read_list(struct doctor *d, struct span body)
{
    struct json j;
    struct json_value v;
    struct span key;
    bool has_data = false;

    json_init(&j, body);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return false;
    while (json_key(&j, &key)) {
        if (!span_eq(key, SPAN("data")) || !json_next(&j, &v) || v.type != JSON_ARRAY)
            continue;
        has_data = true;
        while (json_item(&j))
            if (json_next(&j, &v) && v.type == JSON_OBJECT)
                take_model(d, &j);
    }
    return has_data && json_is_done(&j);
}

/* --- one of it --- */

static bool is_listed(const struct doctor *d, struct span model)
{
    for (size_t i = 0; i < d->n_models; i++)
        if (span_eq(d->model_ids[i], model))
            return true;
    return false;
}

/* "org/name" and "name" are near, "NAME" and "name", and what has a letter wrong. */
static struct span near_name(const struct doctor *d, struct span model)
{
    struct suggest s;

    suggest_init(&s, model);
    for (size_t i = 0; i < d->n_models; i++) {
        struct span id = d->model_ids[i], longer = id.n > model.n ? id : model;
        struct span shorter = id.n > model.n ? model : id;

        if (longer.n > shorter.n && longer.p[longer.n - shorter.n - 1] == '/' &&
            span_eq_nocase(span_from(longer, longer.n - shorter.n), shorter))
            return id;
        suggest_offer(&s, id);
    }
    return s.best;
}

/* Not what generates text from text. */
static bool is_for_chat(struct span id)
{
    static const struct span others[] = {
        SPAN_INIT("embed"),    SPAN_INIT("rerank"),     SPAN_INIT("whisper"), SPAN_INIT("tts"),
        SPAN_INIT("dall-e"),   SPAN_INIT("moderation"), SPAN_INIT("image"),   SPAN_INIT("audio"),
        SPAN_INIT("realtime"), SPAN_INIT("transcribe"), SPAN_INIT("davinci"), SPAN_INIT("babbage"),
    };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (span_find(id, others[i]) < id.n)
            return false;
    return true;
}

static void choose(struct doctor *d)
{
    d->model = d->model_ids[0];
    for (size_t i = 0; i < d->n_models; i++) {
        if (!is_for_chat(d->model_ids[i]))
            continue;
        d->model = d->model_ids[i];
        break;
    }
    doctor_ok(d, "%zu listed; \"%.*s\" is tried", d->n_models, SPAN_ARG(d->model));
}

/* Lists are not always whole: aliases and patterns are served without being in them. */
static void try_unlisted(struct doctor *d)
{
    struct span near = near_name(d, d->model);
    struct doctor_answer a;

    doctor_chat(d, 1, false, &a);
    if (a.has_head && a.status >= 200 && a.status < 300)
        doctor_ok(d, "\"%.*s\" is not listed, and is served", SPAN_ARG(d->model));
    else if (near.n > 0)
        doctor_add_remedy(
            d, CAUSE_MODEL_UNKNOWN, doctor_text(d, "did you mean \"%.*s\"?", SPAN_ARG(near)),
            "\"%.*s\" is not among the %zu models of the server", SPAN_ARG(d->model), d->n_models);
    else
        doctor_add(d, CAUSE_MODEL_UNKNOWN, true,
                   "\"%.*s\" is not among the %zu models of the server; the first is \"%.*s\"",
                   SPAN_ARG(d->model), d->n_models, SPAN_ARG(d->model_ids[0]));
}

void doctor_step_models(struct doctor *d)
{
    bool is_list = d->models.status >= 200 && d->models.status < 300;
    bool is_read = is_list && read_list(d, d->models.body);

    d->model = d->ask->model;
    if (is_list && !is_read)
        doctor_add(d, CAUSE_MODELS_UNREADABLE, true, "the list is not as it should be");
    if (is_read && d->n_models == 0) {
        doctor_add(d, CAUSE_MODELS_EMPTY, true, "the list is empty");
    } else if (is_read && d->model.n == 0) {
        choose(d);
    } else if (is_read && !is_listed(d, d->model)) {
        try_unlisted(d);
    } else if (is_read) {
        doctor_ok(d, "\"%.*s\" is listed", SPAN_ARG(d->model));
    } else if (d->model.n == 0) {
        doctor_add(d, CAUSE_MODEL_UNTOLD, true, "none is known");
    } else if (!is_list) {
        doctor_ok(d, "there is no list; \"%.*s\" is tried", SPAN_ARG(d->model));
    }
}
