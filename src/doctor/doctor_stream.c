/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doctor_stream.h"

#include "base/limits.h"
#include "timing/burst.h"
#include "wire/json.h"
#include "wire/sse.h"

enum { OUTPUT_MIN = 8, TOTAL_MIN_MS = 100 };

/* --- what dialects do not tell --- */

struct members {
    bool is_object, has_choices, is_empty, has_filter;
};

static struct members members_of(struct span data)
{
    struct members m = {false, false, false, false};
    struct json j;
    struct json_value v;
    struct span key;

    json_init(&j, data);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return m; /* [DONE], or told as bad JSON */
    m.is_object = true;
    while (json_key(&j, &key)) {
        if (json_str_eq(key, SPAN("choices")) && json_next(&j, &v)) {
            m.has_choices = true;
            m.is_empty = v.type == JSON_ARRAY && !json_item(&j);
            if (v.type == JSON_ARRAY && !m.is_empty)
                (void)json_leave(&j); /* sticky */
            else if (v.type == JSON_OBJECT)
                (void)json_leave(&j);
        } else {
            m.has_filter |= json_str_eq(key, SPAN("prompt_filter_results")) ||
                            json_str_eq(key, SPAN("prompt_annotations"));
            (void)json_skip(&j); /* sticky */
        }
    }
    return m;
}

/* --- one pass --- */

struct pass {
    struct doctor_stream *s;
    const struct doctor_answer *a;
    const struct dialect *d;
    struct sse_parser sse;
    struct burst burst;
    uint32_t n_output_in_read;
};

static void take_event(struct pass *p, const struct event *e, mono_t at)
{
    struct doctor_stream *s = p->s;
    struct token_event t;
    struct members m;

    p->d->event(&s->answer, e->name, e->data, &t);
    s->n_events++;
    if (!s->is_anthropic) {
        m = members_of(e->data);
        s->n_with_choices += m.has_choices;
        s->n_without_choices += m.is_object && !m.has_choices && !t.is_error;
        s->has_empty_choices |= m.is_empty && s->n_output == 0 && !t.has_usage;
        s->has_filter |= m.is_empty && m.has_filter && s->n_output == 0;
    }
    if (t.kinds == 0) {
        s->has_role_only_first |= s->n_events == 1;
        return;
    }
    s->n_output++;
    p->n_output_in_read++;
    if (s->first_ns < 0)
        s->first_ns = mono_diff(at, p->a->t_sent);
    s->last_ns = mono_diff(at, p->a->t_sent);
}

static void take_read(struct pass *p, struct span bytes, mono_t at)
{
    size_t n_bytes = bytes.n;
    struct event e;
    enum event_status status;

    p->n_output_in_read = 0;
    while ((status = sse_next(&p->sse, &bytes, &e)) > 0)
        if (status == EVENT_WHOLE)
            take_event(p, &e, at);
    p->s->n_reads += p->n_output_in_read > 0;
    burst_add(&p->burst, at, n_bytes, p->n_output_in_read, !sse_is_between_events(&p->sse));
}

void doctor_stream_read(const struct doctor_answer *a, const struct dialect *d,
                        struct doctor_stream *ret)
{
    struct pass p = {.s = ret, .a = a, .d = d};
    struct event e;
    size_t from = 0;

    *ret = (struct doctor_stream){.first_ns = -1, .last_ns = -1};
    ret->is_anthropic = d->key_field != NULL;
    ret->total_ns = mono_diff(a->t_end, a->t_sent);
    dialect_answer_init(&ret->answer);
    sse_init(&p.sse, LIMIT_EVENT_BYTES);
    burst_init(&p.burst);
    for (size_t i = 0; i < a->n_reads; i++) {
        take_read(&p, span_of(a->body.p + from, a->reads[i].end - from), a->reads[i].at);
        from = a->reads[i].end;
    }
    if (sse_finish(&p.sse, &e) == EVENT_WHOLE)
        take_event(&p, &e, a->t_end);
    ret->n_comments = p.sse.n_comments;
    ret->buffer_bytes = burst_buffer_bytes(&p.burst);
    sse_done(&p.sse);
}

/* --- in time --- */

enum doctor_flow doctor_stream_flow(const struct doctor_stream *s, const struct doctor_answer *a,
                                    int64_t ttft_1_ns)
{
    int64_t spread_ns = s->last_ns - s->first_ns;

    if (s->buffer_bytes > 0)
        return FLOW_PARTS;
    if (s->n_output < OUTPUT_MIN || s->total_ns < TOTAL_MIN_MS * NS_PER_MS)
        return FLOW_TOO_FEW;
    if (spread_ns > s->total_ns / 10 || s->n_reads > s->n_output / 4 + 1)
        return FLOW_STEADY;
    /* All of it within a moment. Later than one token alone came, or with its length known before:
     * somebody had all of it first. */
    if (a->has_length || ttft_1_ns < 0 || s->first_ns > ttft_1_ns + ttft_1_ns / 2 + 20 * NS_PER_MS)
        return FLOW_AT_ONCE;
    return FLOW_TOO_FEW;
}
