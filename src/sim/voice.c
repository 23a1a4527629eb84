/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/voice.h"

#include <errno.h>

#include "base/mem.h"

static const struct voice *const list[VOICE_COUNT_] = {
    [VOICE_CHAT] = &voice_openai_chat,
    [VOICE_COMPLETIONS] = &voice_openai_completions,
    [VOICE_EMBEDDINGS] = &voice_openai_embeddings,
    [VOICE_RESPONSES] = &voice_responses,
    [VOICE_MESSAGES] = &voice_anthropic_messages,
    [VOICE_COUNT_TOKENS] = &voice_anthropic_count,
    [VOICE_OLLAMA_CHAT] = &voice_ollama_chat,
    [VOICE_OLLAMA_GENERATE] = &voice_ollama_generate,
    [VOICE_OLLAMA_EMBED] = &voice_ollama_embed,
    [VOICE_GEMINI_SSE] = &voice_gemini_sse,
    [VOICE_GEMINI_ARRAY] = &voice_gemini_array,
};

const struct voice *voice_get(enum voice_id id)
{
    return list[id];
}

const char *voice_error_type(const struct voice *v, int status)
{
    const char *fallback = "";

    for (const struct voice_error *e = v->errors; e && e->status != 0; e++) {
        if (e->status == status)
            return e->type;
        if (e->status == (status >= 500 ? 500 : 400))
            fallback = e->type;
    }
    return fallback;
}

/* --- reading the tables --- */

static int stage_read(struct forms *f, const char *text, bool is_crlf, struct voice_events *ret)
{
    struct span left = span_cstr(text);

    ret->n = 0;
    while (left.n > 0) {
        int r = -EINVAL;

        if (ret->n < VOICE_EVENTS_MAX)
            r = forms_add(f, span_split(&left, *VOICE_NEXT), is_crlf, &ret->forms[ret->n]);
        if (r < 0)
            return r;
        ret->n++;
    }
    return 0;
}

int voices_new(struct voices **ret)
{
    struct voices *v = mem_zalloc(1, sizeof(*v));
    int r = v ? 0 : -ENOMEM;

    if (!v)
        return r;
    forms_init(&v->_forms);
    for (int i = 0; i < VOICE_COUNT_ && r == 0; i++) {
        struct voice_forms *of = &v->of[i];

        *of = (struct voice_forms){.voice = list[i], .forms = &v->_forms};
        for (int stage = 0; stage < 2 * VOICE_STAGE_COUNT_ && r == 0; stage++) {
            bool is_crlf = stage >= VOICE_STAGE_COUNT_;
            int s = stage % VOICE_STAGE_COUNT_;
            r = stage_read(&v->_forms, list[i]->stages[s], is_crlf, &of->stages[is_crlf][s]);
        }
    }
    forms_finish(&v->_forms);
    if (r < 0)
        (void)voices_free(v); /* always NULL */
    else
        *ret = v;
    return r;
}

struct voices *voices_free(struct voices *v)
{
    if (v) {
        forms_done(&v->_forms);
        mem_free(v);
    }
    return NULL;
}
