/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded streams beside the project, each against its row of expected values, read whole, byte by
 * byte, in its recorded network reads, and in random ones. Skipped when they are not there.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/rng.h"
#include "corpus.h"
#include "dialect/dialect.h"
#include "wire/events.h"

enum { N_RANDOM = 5 };

enum {
    COUNTED = DIALECT_TEXT | DIALECT_REASONING | DIALECT_TOOL_ARGS | DIALECT_REFUSAL |
              DIALECT_AUDIO | DIALECT_IMAGE
};

/* The columns, with -1 for empty, and USAGE_UNTOLD for counts that were not told. */
struct columns {
    int64_t events, content_events, first_content, first_reasoning, first_text, first_tool_args,
        first_any, last_content;
    struct usage usage;
    char finish[256];
    bool is_ended, is_done, is_error;
};

struct reading {
    const struct dialect *dialect;
    struct events events;
    struct dialect_answer answer;
    struct columns c;
};

/* Of the recording that is read: its file name tells. */
static enum framing framing;

static void first(int64_t *index, bool is_kind, int64_t n)
{
    if (is_kind && *index < 0)
        *index = n;
}

static void on_event(struct reading *r, const struct event *ev)
{
    struct token_event e;
    int64_t n = r->c.events++;
    r->dialect->event(&r->answer, ev->name, ev->data, &e);
    bool is_content = (e.kinds & COUNTED) != 0;
    r->c.content_events += is_content;
    r->c.last_content = is_content ? n : r->c.last_content;
    first(&r->c.first_content, is_content, n);
    first(&r->c.first_any, e.kinds != 0, n);
    first(&r->c.first_reasoning, (e.kinds & DIALECT_REASONING) != 0, n);
    first(&r->c.first_text, (e.kinds & DIALECT_TEXT) != 0, n);
    first(&r->c.first_tool_args, (e.kinds & DIALECT_TOOL_ARGS) != 0, n);
}

static void feed(struct reading *r, struct span bytes)
{
    struct event ev;
    char *copy = malloc(bytes.n + 1); /* of exactly its size, so that no view survives it */
    assert_non_null(copy);
    memcpy(copy, bytes.p, bytes.n);
    struct span in = span_of(copy, bytes.n);
    while (events_next(&r->events, &in, &ev) == EVENT_WHOLE)
        on_event(r, &ev);
    free(copy);
}

static void begin(struct reading *r, const struct dialect *d)
{
    *r = (struct reading){.dialect = d};
    r->c.first_content = r->c.first_reasoning = r->c.first_text = -1;
    r->c.first_tool_args = r->c.first_any = r->c.last_content = -1;
    events_init(&r->events, framing, LIMIT_EVENT_BYTES);
    dialect_answer_init(&r->answer);
}

static int compare_choices(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct columns finish(struct reading *r)
{
    struct event ev;
    if (events_finish(&r->events, &ev) == EVENT_WHOLE)
        on_event(r, &ev);
    dialect_read_stray(r->dialect, &r->answer, events_stray(&r->events));
    events_done(&r->events);
    const struct dialect_answer *a = &r->answer;
    r->c.usage = a->usage;
    r->c.is_ended = r->dialect->is_ended(a);
    r->c.is_done = a->has_done_marker;
    r->c.is_error = a->has_error;
    char parts[DIALECT_CHOICES_MAX][64];
    for (int i = 0; i < a->n_choices_finished; i++)
        (void)snprintf(parts[i], sizeof(parts[i]), "%lld:%s", (long long)a->choices[i].index,
                       a->choices[i].finish);
    qsort(parts, (size_t)a->n_choices_finished, sizeof(parts[0]), compare_choices);
    if (a->n_choices_finished == 1 && a->choices[0].index == 0) {
        memcpy(r->c.finish, a->choices[0].finish, sizeof(a->choices[0].finish));
    } else {
        size_t n = 0;
        for (int i = 0; i < a->n_choices_finished; i++)
            n += (size_t)snprintf(r->c.finish + n, sizeof(r->c.finish) - n, "%s%s",
                                  i > 0 ? "," : "", parts[i]);
    }
    return r->c;
}

static struct columns read_whole(const struct dialect *d, struct span body)
{
    struct reading r;
    begin(&r, d);
    feed(&r, body);
    return finish(&r);
}

static struct columns read_bytewise(const struct dialect *d, struct span body)
{
    struct reading r;
    begin(&r, d);
    while (body.n > 0)
        feed(&r, span_take(&body, 1));
    return finish(&r);
}

static struct columns read_random(const struct dialect *d, struct span body, uint64_t seed)
{
    struct reading r;
    struct rng rng;
    begin(&r, d);
    rng_seed(&rng, seed);
    size_t max = (size_t)1 << rng_below(&rng, 12);
    while (body.n > 0) {
        size_t n = 1 + (size_t)rng_below(&rng, max);
        feed(&r, span_take(&body, n < body.n ? n : body.n));
    }
    return finish(&r);
}

static void give_back(struct span text)
{
    free((void *)(uintptr_t)text.p); /* NOLINT(performance-no-int-to-ptr): const is cast away */
}

/* In the recorded reads; false: there are none. */
static bool read_reads(const struct dialect *d, const char *path, struct span body,
                       struct columns *ret)
{
    char name[4200];
    (void)snprintf(name, sizeof(name), "%s.reads", path);
    struct span reads = corpus_read(name);
    struct span rest = reads;
    struct reading r;
    if (!reads.p)
        return false;
    begin(&r, d);
    while (rest.n > 0) {
        uint64_t n;
        struct span line = span_split(&rest, '\n');
        if (line.n == 0)
            continue;
        assert_int_equal(num_parse_u64(line, &n), 0);
        assert_true(n <= body.n);
        feed(&r, span_take(&body, (size_t)n));
    }
    assert_int_equal(body.n, 0);
    give_back(reads);
    *ret = finish(&r);
    return true;
}

/* --- the index --- */

struct index {
    struct span text;
    struct span header;
    int n_checked;
};

static struct span field_at(struct span line, int at)
{
    while (at-- > 0)
        (void)span_split(&line, '\t');
    return span_split(&line, '\t');
}

static int column_of(const struct index *index, const char *name)
{
    struct span rest = index->header;
    for (int i = 0; rest.n > 0; i++) {
        if (span_eq(span_split(&rest, '\t'), span_cstr(name)))
            return i;
    }
    fail_msg("the index has no column %s", name);
    return -1;
}

/* The row of that file; empty when it has none. */
static struct span row_of(const struct index *index, const char *file)
{
    struct span rest = index->text;
    while (rest.n > 0) {
        struct span line = span_split(&rest, '\n');
        if (span_eq(field_at(line, 0), span_cstr(file)))
            return line;
    }
    return (struct span){0};
}

static void check_number(const struct index *index, struct span row, const char *name, int64_t got,
                         int64_t none)
{
    int64_t want = none;
    struct span text = field_at(row, column_of(index, name));
    if (text.n > 0)
        assert_int_equal(num_parse_i64(text, &want), 0);
    if (got != want)
        fail_msg("%.*s: %s is %lld, not %lld", SPAN_ARG(field_at(row, 0)), name, (long long)got,
                 (long long)want);
}

static void check_text(const struct index *index, struct span row, const char *name,
                       const char *got)
{
    struct span want = field_at(row, column_of(index, name));
    if (!span_eq(want, span_cstr(got)))
        fail_msg("%.*s: %s is %s, not %.*s", SPAN_ARG(field_at(row, 0)), name, got, SPAN_ARG(want));
}

static void check(const struct index *index, struct span row, const struct columns *c)
{
    check_number(index, row, "events", c->events, 0);
    check_number(index, row, "content_events", c->content_events, 0);
    check_number(index, row, "first_content", c->first_content, -1);
    check_number(index, row, "first_reasoning", c->first_reasoning, -1);
    check_number(index, row, "first_text", c->first_text, -1);
    check_number(index, row, "first_tool_args", c->first_tool_args, -1);
    check_number(index, row, "first_any", c->first_any, -1);
    check_number(index, row, "last_content", c->last_content, -1);
    check_number(index, row, "prompt", c->usage.prompt, USAGE_UNTOLD);
    check_number(index, row, "completion", c->usage.completion, USAGE_UNTOLD);
    check_number(index, row, "cached", c->usage.cached, USAGE_UNTOLD);
    check_number(index, row, "cache_write", c->usage.cache_write, USAGE_UNTOLD);
    check_number(index, row, "reasoning", c->usage.reasoning, USAGE_UNTOLD);
    check_text(index, row, "finish", c->finish);
    check_text(index, row, "ended", c->is_ended ? "yes" : "no");
    check_text(index, row, "done_marker", c->is_done ? "yes" : "no");
    check_text(index, row, "error", c->is_error ? "yes" : "no");
}

/* How to read a row; NULL: in none of our ways. */
static const struct dialect *dialect_of(const struct index *index, struct span row,
                                        enum framing *ret)
{
    struct span file = field_at(row, 0);
    struct span dialect = field_at(row, column_of(index, "dialect"));
    bool is_lines = span_find(file, SPAN(".ndjson")) < file.n;
    *ret = is_lines ? FRAMING_NDJSON : FRAMING_SSE;
    if (!span_eq(dialect, SPAN("other")))
        return dialect_by_name(dialect);
    *ret = FRAMING_JSON_ARRAY;
    bool is_gemini = span_eq(field_at(row, column_of(index, "api")), SPAN("gemini-json-array"));
    return is_gemini ? dialect_by_name(SPAN("gemini")) : NULL;
}

static void visit(void *ctx, const char *path, struct span body)
{
    struct index *index = ctx;
    const char *file = path + strlen(path);
    for (int n_slashes = 0; file > path && n_slashes < 2; n_slashes += *file == '/')
        file--;
    file++; /* "openai-chat/name.sse" */
    struct span row = row_of(index, file);
    if (row.n == 0)
        return;
    const struct dialect *d = dialect_of(index, row, &framing);
    if (!d)
        return;
    struct columns c = read_whole(d, body);
    check(index, row, &c);
    c = read_bytewise(d, body);
    check(index, row, &c);
    if (read_reads(d, path, body, &c))
        check(index, row, &c);
    for (uint64_t seed = 0; seed < N_RANDOM; seed++) {
        c = read_random(d, body, seed);
        check(index, row, &c);
    }
    index->n_checked++;
}

static void check_folder(struct index *index, const char *folder)
{
    index->n_checked = 0;
    (void)corpus_each(folder, ".sse", visit, index);
    (void)corpus_each(folder, ".ndjson", visit, index);
    (void)corpus_each(folder, ".json", visit, index);
    assert_true(index->n_checked > 0);
}

static struct index load(const char *dir)
{
    struct index index = {{0}, {0}, 0};
    const char *shared = getenv("INFEROMETER_SHARED");
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s/INDEX.tsv", shared ? shared : "../shared", dir);
    index.text = corpus_read(path);
    struct span rest = index.text;
    index.header = span_split(&rest, '\n');
    return index;
}

static struct index recorded;

static void chat_streams(void **state)
{
    (void)state;
    check_folder(&recorded, "corpus/openai-chat");
}

static void completions_streams(void **state)
{
    (void)state;
    check_folder(&recorded, "corpus/openai-completions");
}

static void responses_streams(void **state)
{
    (void)state;
    check_folder(&recorded, "corpus/openai-responses");
}

static void anthropic_streams(void **state)
{
    (void)state;
    check_folder(&recorded, "corpus/anthropic");
}

static void ollama_streams(void **state)
{
    (void)state;
    check_folder(&recorded, "corpus/ollama");
}

static void gemini_streams(void **state)
{
    (void)state;
    check_folder(&recorded, "corpus/gemini");
    check_folder(&recorded, "corpus/other"); /* those that are JSON arrays */
}

int main(void)
{
    recorded = load("corpus");
    if (!recorded.text.p)
        return HARNESS_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat_streams),      cmocka_unit_test(completions_streams),
        cmocka_unit_test(responses_streams), cmocka_unit_test(anthropic_streams),
        cmocka_unit_test(ollama_streams),    cmocka_unit_test(gemini_streams),
    };
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    give_back(recorded.text);
    return r;
}
