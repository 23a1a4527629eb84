/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_stream: the first byte is the dialect and how many bytes a read has, the rest an
 * answer's body. What is counted does not depend on the reads, and times are in order.
 * fuzz-links: doctor
 */
#include "fuzz.h"

#include "base/check.h"
#include "doctor/doctor_stream.h"

enum { READS_MAX = 512 };

static void look(struct span body, size_t n_read, const struct dialect *d,
                 struct doctor_stream *ret)
{
    struct doctor_read reads[READS_MAX];
    struct doctor_answer a = {.has_head = true, .status = 200, .body = body, .t_sent = {1}};
    size_t at = 0;

    while (at < body.n && a.n_reads < READS_MAX) {
        at = a.n_reads + 1 == READS_MAX || body.n - at < n_read ? body.n : at + n_read;
        reads[a.n_reads++] = (struct doctor_read){{(int64_t)a.n_reads * NS_PER_MS + 2}, at};
    }
    a.reads = reads;
    a.t_end = (mono_t){READS_MAX * NS_PER_MS};
    doctor_stream_read(&a, d, ret);
    (void)doctor_stream_flow(ret, &a, 5 * NS_PER_MS);
    ASSERT(ret->first_ns <= ret->last_ns && ret->last_ns <= ret->total_ns);
    ASSERT(ret->n_output <= ret->n_events && ret->n_reads <= ret->n_output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct doctor_stream whole, parts;
    const struct dialect *d;
    struct span body;

    if (size == 0)
        return 0;
    d = dialect_by_name(data[0] & 1 ? SPAN("anthropic") : SPAN("openai-chat"));
    body = span_of(data + 1, size - 1);
    look(body, size, d, &whole);
    look(body, 1 + data[0] / 2u, d, &parts);
    ASSERT(whole.n_events == parts.n_events && whole.n_output == parts.n_output);
    ASSERT(whole.n_with_choices == parts.n_with_choices && whole.has_filter == parts.has_filter);
    return 0;
}
