/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/buffer_steps.c - does a stream come as it is made, as it is and for clients that take
 * gzip.
 */
#include "doctor/doctor_private.h"

enum { N_TOKENS = 40 };

static void ask(struct doctor *d, bool accepts_gzip, struct doctor_answer *a,
                struct doctor_stream *s)
{
    doctor_chat(d, N_TOKENS, accepts_gzip, a);
    doctor_stream_read(a, dialect_by_name(span_cstr(d->api->dialect)), s);
}

static bool is_stream(const struct doctor_answer *a)
{
    return a->has_head && a->error == 0 && a->status >= 200 && a->status < 300;
}

static struct span remedy_of(struct doctor *d, enum doctor_cause cause,
                             const struct doctor_answer *a)
{
    const char *advice, *hop = doctor_hop(a, &advice);
    bool has_coding = doctor_answer_field(a, SPAN("Content-Encoding")).n > 0;

    if (!hop)
        return span_cstr(doctor_causes[cause].remedy);
    return doctor_text(d, "%s stands on the way: %s%s", hop, advice,
                       has_coding ? "; switch its compression of streams off" : "");
}

static void tell_at_once(struct doctor *d, const struct doctor_answer *a,
                         const struct doctor_stream *s)
{
    doctor_add_remedy(d, CAUSE_BUFFERED, remedy_of(d, CAUSE_BUFFERED, a),
                      "%u events came within %.1f ms, %.0f ms after the request%s", s->n_output,
                      (double)(s->last_ns - s->first_ns) / 1e6, (double)s->first_ns / 1e6,
                      a->has_length ? ", and with the answer's length in front" : "");
}

void doctor_step_buffering(struct doctor *d)
{
    struct doctor_answer a;
    struct doctor_stream s;

    if (d->is_coded) {
        doctor_skip(d, "the stream is compressed");
        return;
    }
    ask(d, false, &a, &s);
    if (!is_stream(&a)) {
        doctor_skip(d, "a second stream did not come to its end");
        return;
    }
    switch (doctor_stream_flow(&s, &a, d->ttft_1_ns)) {
    case FLOW_AT_ONCE:
        tell_at_once(d, &a, &s);
        break;
    case FLOW_PARTS:
        doctor_add_remedy(d, CAUSE_BUFFERED_PART, remedy_of(d, CAUSE_BUFFERED_PART, &a),
                          "%u events came in bursts, as from a buffer of %u bytes", s.n_output,
                          s.buffer_bytes);
        break;
    case FLOW_TOO_FEW:
        doctor_ok(d, "%u events in %.0f ms: too little to see one", s.n_output,
                  (double)s.total_ns / 1e6);
        break;
    case FLOW_STEADY:
        d->is_steady = true;
        doctor_ok(d, "%u events in %u reads over %.0f ms: none", s.n_output, s.n_reads,
                  (double)(s.last_ns - s.first_ns) / 1e6);
        break;
    }
}

/* Compressed or not: the bytes of the body came within a moment at the end. */
static bool came_at_once(const struct doctor_answer *a)
{
    int64_t first_ns, total_ns = mono_diff(a->t_end, a->t_sent);

    if (a->n_reads == 0)
        return false;
    first_ns = mono_diff(a->reads[0].at, a->t_sent);
    return total_ns >= 100 * NS_PER_MS && total_ns - first_ns < total_ns / 10 && a->n_reads <= 4;
}

void doctor_step_gzip(struct doctor *d)
{
    struct doctor_answer a;
    struct doctor_stream s;
    struct span coding;

    if (d->is_coded || doctor_has_failed(d, STEP_BUFFERING)) {
        doctor_skip(d, "it is known already that streams do not come as they are made");
        return;
    }
    ask(d, true, &a, &s);
    coding = doctor_answer_field(&a, SPAN("Content-Encoding"));
    if (!is_stream(&a))
        doctor_skip(d, "a third stream did not come to its end");
    else if (d->is_steady && came_at_once(&a))
        doctor_add_remedy(d, CAUSE_GZIP_BUFFERS, remedy_of(d, CAUSE_GZIP_BUFFERS, &a),
                          "a client that accepts gzip gets all of the stream at its end");
    else if (coding.n > 0)
        doctor_ok(d, "streams are compressed where that is asked (%.*s), and not held back",
                  SPAN_ARG(coding));
    else
        doctor_ok(d, "streams are not compressed");
}
