/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/replay.c - reads a recorded answer body the way the gateway reads it from the wire.
 *
 * A recording has no arrival times, so this tells what does not need them: which event is the
 * first of its kind, usage, finish reasons, errors. With --reads the body is fed in the recorded
 * network reads; the result must not depend on them, which is what that option is for.
 */
#include "cli/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "base/num.h"
#include "dialect/dialect.h"
#include "timing/timing.h"
#include "wire/events.h"

#define REPLAY_MAX_BYTES (256 * MIB)

static const char help[] =
    "usage: inferometer replay --dialect NAME [--reads FILE.reads] FILE\n\n"
    "Reads a recorded stream (the answer's body, as on the wire) and prints what it says as one\n"
    "JSON object: number of events, the index of the first one of each kind, finish reasons, "
    "usage\n"
    "as reported and normalised, whether it ended, whether it reported an error.\n\n"
    "  --dialect NAME   how to read it: ";

static const char help_rest[] =
    "\n  --reads FILE     lengths of the network reads, one a line; their sum is the file's size\n"
    "  --help           this text\n\n"
    "examples:\n"
    "  inferometer replay --dialect openai-chat answer.sse\n"
    "  inferometer replay --dialect openai-chat --reads answer.sse.reads answer.sse\n"
    "  curl -sN $URL/v1/chat/completions -d @request.json > a.sse && "
    "inferometer replay --dialect openai-chat a.sse\n";

struct options {
    const struct dialect *dialect;
    const char *file;
    const char *reads;
    bool is_help;
};

/* Indexes of events; -1: none. */
struct replay {
    const struct dialect *dialect;
    struct events events;
    struct dialect_answer answer;
    int64_t n_events;
    int64_t n_content_events;
    int64_t n_too_large;
    int64_t first_content;
    int64_t first_reasoning;
    int64_t first_text;
    int64_t first_tool_args;
    int64_t first_any;
    int64_t last_content;
    struct timing timing; /* with event numbers for stamps: only its counts mean something */
};

/* Output to people is (void): where it fails there is nobody left to tell. */
static void print_dialects(FILE *to)
{
    const char *separator = "";
    const struct dialect *d;
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
        if (!d->is_generating)
            continue;
        (void)fprintf(to, "%s%s", separator, d->name);
        separator = ", ";
    }
}

static void print_help(FILE *to)
{
    (void)fputs(help, to);
    print_dialects(to);
    (void)fputs(help_rest, to);
}

/* 0, or -EINVAL after telling what is wrong. */
static int parse_dialect(const char *name, const struct dialect **ret)
{
    const struct dialect *d = dialect_by_name(span_cstr(name));
    if (d && d->is_generating) {
        *ret = d;
        return 0;
    }
    (void)fprintf(stderr, "inferometer replay: there is no dialect \"%s\"; known are ", name);
    print_dialects(stderr);
    (void)fputs("\n", stderr);
    return -EINVAL;
}

static int parse_options(int argc, char **argv, struct options *ret)
{
    struct options o = {0};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        bool is_dialect = strcmp(arg, "--dialect") == 0;
        bool is_reads = strcmp(arg, "--reads") == 0;
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            o.is_help = true;
            *ret = o;
            return 0;
        }
        if ((is_dialect || is_reads) && i + 1 == argc) {
            (void)fprintf(stderr, "inferometer replay: %s needs a value\n", arg);
            return -EINVAL;
        }
        if (is_dialect) {
            if (parse_dialect(argv[++i], &o.dialect) < 0)
                return -EINVAL;
        } else if (is_reads) {
            o.reads = argv[++i];
        } else if (arg[0] == '-' && arg[1] != '\0') {
            (void)fprintf(stderr, "inferometer replay: there is no option \"%s\"\n", arg);
            return -EINVAL;
        } else if (o.file) {
            (void)fprintf(stderr, "inferometer replay: one file at a time, \"%s\" is the second\n",
                          arg);
            return -EINVAL;
        } else {
            o.file = arg;
        }
    }
    if (!o.file || !o.dialect) {
        (void)fprintf(stderr, "inferometer replay: %s is missing\n",
                      o.file ? "--dialect" : "the file");
        return -EINVAL;
    }
    *ret = o;
    return 0;
}

static int read_file(const char *path, struct buf *ret)
{
    FILE *f = fopen(path, "rbe");
    int r = f ? 0 : -errno;
    bool is_end = false;
    while (r == 0 && !is_end) {
        char *p;
        r = buf_reserve(ret, LIMIT_READ_BYTES, &p);
        if (r < 0)
            break;
        size_t n = fread(p, 1, LIMIT_READ_BYTES, f);
        buf_commit(ret, n);
        if (n < LIMIT_READ_BYTES) {
            is_end = true;
            r = ferror(f) ? -EIO : 0;
        }
    }
    if (f)
        (void)fclose(f); /* only read from */
    if (r < 0)
        (void)fprintf(stderr, "inferometer replay: could not read \"%s\": %s\n", path, err_str(r));
    return r;
}

/* --- the stream --- */

static void note_first(int64_t *first, bool is_kind, int64_t index)
{
    if (is_kind && *first < 0)
        *first = index;
}

static void on_event(struct replay *r, const struct event *ev)
{
    struct token_event said;
    int64_t index = r->n_events++;
    r->dialect->event(&r->answer, ev->name, ev->data, &said);
    bool is_content = (said.kinds & OUTPUT_CONTENT) != 0;
    note_first(&r->first_content, is_content, index);
    note_first(&r->first_any, said.kinds != 0, index);
    note_first(&r->first_reasoning, (said.kinds & DIALECT_REASONING) != 0, index);
    note_first(&r->first_text, (said.kinds & DIALECT_TEXT) != 0, index);
    note_first(&r->first_tool_args, (said.kinds & DIALECT_TOOL_ARGS) != 0, index);
    if (is_content)
        r->last_content = index;
    r->n_content_events += is_content;
    (void)timing_event(&r->timing, (mono_t){r->n_events}, said.kinds, false); /* no gaps here */
}

/* What the reader of events returned; ev: with EVENT_WHOLE. */
static int take_event(struct replay *r, enum event_status status, const struct event *ev)
{
    switch (status) {
    case EVENT_WHOLE:
        on_event(r, ev);
        break;
    case EVENT_TOO_LARGE:
        r->n_events++;
        r->n_too_large++;
        break;
    case EVENT_NO_MEMORY:
        return -ENOMEM;
    case EVENT_MORE:
        break;
    }
    return 0;
}

static int feed(struct replay *r, struct span bytes)
{
    struct event ev;
    enum event_status status;
    int error;
    do {
        status = events_next(&r->events, &bytes, &ev);
        error = take_event(r, status, &ev);
    } while (error == 0 && status != EVENT_MORE);
    return error;
}

/* Feeds the body in the reads that the lines of `reads` name. */
static int feed_reads(struct replay *r, struct span body, struct span reads, const char *name)
{
    size_t size = body.n;
    uint64_t sum = 0;
    for (int line = 1; reads.n > 0; line++) {
        uint64_t n;
        struct span text = span_trim(span_split(&reads, '\n'));
        if (text.n == 0)
            continue;
        if (num_parse_u64(text, &n) < 0) {
            (void)fprintf(stderr, "inferometer replay: \"%s\", line %d: not a number of bytes\n",
                          name, line);
            return -EINVAL;
        }
        if (n > body.n) {
            (void)fprintf(
                stderr,
                "inferometer replay: \"%s\", line %d: the reads are longer than the file's "
                "%zu bytes\n",
                name, line, size);
            return -EINVAL;
        }
        sum += n;
        if (feed(r, span_take(&body, (size_t)n)) < 0)
            return -ENOMEM;
    }
    if (body.n == 0)
        return 0;
    (void)fprintf(stderr,
                  "inferometer replay: the reads in \"%s\" sum to %llu bytes, the file has %zu\n",
                  name, (unsigned long long)sum, size);
    return -EINVAL;
}

/* A recording has no media type: where the dialect leaves the framing open, the first byte tells.
 */
static enum framing framing_of(const struct dialect *d, struct span body)
{
    size_t i = 0;
    if (d->framing == FRAMING_SSE)
        return FRAMING_SSE;
    while (i < body.n && (unsigned char)body.p[i] <= ' ')
        i++;
    if (i < body.n && body.p[i] == '[')
        return FRAMING_JSON_ARRAY;
    return i < body.n && body.p[i] == '{' ? FRAMING_NDJSON : FRAMING_SSE;
}

static int replay_body(struct replay *r, struct span body, struct span reads, const char *name)
{
    struct event ev;
    events_init(&r->events, framing_of(r->dialect, body), LIMIT_EVENT_BYTES);
    int error = name ? feed_reads(r, body, reads, name) : feed(r, body);
    if (error == 0) /* a last event that nothing closed */
        error = take_event(r, events_finish(&r->events, &ev), &ev);
    dialect_read_stray(r->dialect, &r->answer, events_stray(&r->events));
    if (error == -ENOMEM)
        (void)fprintf(stderr, "inferometer replay: out of memory\n");
    return error;
}

/* --- the result --- */

static void write_index(struct jsonw *w, const char *key, int64_t index)
{
    jsonw_key(w, key);
    if (index >= 0)
        jsonw_i64(w, index);
    else
        jsonw_null(w);
}

static void write_count(struct jsonw *w, const char *key, int64_t v)
{
    jsonw_key(w, key);
    if (v != USAGE_UNTOLD)
        jsonw_i64(w, v);
    else
        jsonw_null(w);
}

static void write_yes(struct jsonw *w, const char *key, bool is_yes)
{
    jsonw_put_cstr(w, key, is_yes ? "yes" : "no");
}

/* The choice to write next: the first by its index as text, of those not written yet. There is one.
 */
static int finish_next(const struct dialect_answer *a, const bool *is_written)
{
    char best_digits[24] = "";
    int best = 0;
    for (int i = 0; i < a->n_choices_finished; i++) {
        char digits[24];
        if (is_written[i])
            continue;
        digits[num_format_i64(a->choices[i].index, digits)] = '\0';
        if (best_digits[0] == '\0' || strcmp(digits, best_digits) < 0) {
            best = i;
            memcpy(best_digits, digits, sizeof(digits));
        }
    }
    return best;
}

/* "stop" for a single choice 0, else "0:stop,1:length", in the order of the indexes' digits. */
static void write_finish(struct jsonw *w, const struct dialect_answer *a)
{
    enum { TEXT_BYTES = DIALECT_CHOICES_MAX * (DIALECT_FINISH_MAX + 24) };
    char text[TEXT_BYTES] = "";
    size_t n = 0;
    bool is_written[DIALECT_CHOICES_MAX] = {false};
    jsonw_key(w, "finish");
    if (a->n_choices_finished == 1 && a->choices[0].index == 0) {
        jsonw_cstr(w, a->choices[0].finish);
        return;
    }
    for (int k = 0; k < a->n_choices_finished; k++) {
        int next = finish_next(a, is_written);
        is_written[next] = true;
        int more = snprintf(text + n, sizeof(text) - n, "%s%lld:%s", n > 0 ? "," : "",
                            (long long)a->choices[next].index, a->choices[next].finish);
        n += more > 0 && (size_t)more < sizeof(text) - n ? (size_t)more : 0;
    }
    jsonw_str(w, span_of(text, n));
}

static void write_known(struct jsonw *w, const char *key, int64_t v)
{
    write_index(w, key, v);
}

static void write_tokens(struct jsonw *w, const struct replay *r)
{
    const struct usage *raw = &r->answer.usage;
    bool is_anomalous = false;
    struct dialect_tokens t = dialect_normalise(r->dialect, raw, &is_anomalous);
    write_count(w, "prompt", raw->prompt);
    write_count(w, "completion", raw->completion);
    write_count(w, "cached", raw->cached);
    write_count(w, "cache_write", raw->cache_write);
    write_count(w, "reasoning", raw->reasoning);
    jsonw_key(w, "normalised");
    jsonw_begin_object(w);
    write_known(w, "prompt_tokens", t.prompt);
    write_known(w, "completion_tokens", t.completion);
    write_known(w, "cached_tokens", t.cached);
    write_known(w, "cache_write_tokens", t.cache_write);
    write_known(w, "reasoning_tokens", t.reasoning);
    jsonw_put_bool(w, "is_anomalous", is_anomalous);
    jsonw_end_object(w);
    struct timing_summary summary;
    timing_summarise(&r->timing, (struct timing_tokens){t.completion, t.reasoning, false},
                     &summary);
    jsonw_key(w, "tokens_per_event");
    if (summary.tokens_per_event >= 0.0)
        jsonw_double(w, summary.tokens_per_event);
    else
        jsonw_null(w);
    jsonw_put_bool(w, "is_reasoning_hidden", summary.is_reasoning_hidden);
}

static int write_result(const struct replay *r, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "dialect", r->dialect->name);
    jsonw_put_cstr(&w, "model", r->answer.model);
    write_index(&w, "events", r->n_events);
    write_index(&w, "content_events", r->n_content_events);
    write_index(&w, "output_events", r->timing.n_output_events);
    write_index(&w, "first_content", r->first_content);
    write_index(&w, "first_reasoning", r->first_reasoning);
    write_index(&w, "first_text", r->first_text);
    write_index(&w, "first_tool_args", r->first_tool_args);
    write_index(&w, "first_any", r->first_any);
    write_index(&w, "last_content", r->last_content);
    write_finish(&w, &r->answer);
    write_tokens(&w, r);
    write_yes(&w, "ended", r->dialect->is_ended(&r->answer));
    write_yes(&w, "done_marker", r->answer.has_done_marker);
    write_yes(&w, "error", r->answer.has_error);
    jsonw_put_cstr(&w, "error_type", r->answer.error);
    write_index(&w, "bad_json_events", r->answer.n_bad_json);
    write_index(&w, "too_large_events", r->n_too_large);
    write_index(&w, "comments", (int64_t)events_n_comments(&r->events));
    jsonw_end_object(&w);
    return jsonw_error(&w);
}

static int print_result(const struct replay *r)
{
    struct buf out;
    buf_init(&out, 64 * KIB);
    int error = write_result(r, &out);
    if (error == 0) {
        struct span text = buf_span(&out);
        bool is_written = fwrite(text.p, 1, text.n, stdout) == text.n && fputc('\n', stdout) != EOF;
        error = is_written && fflush(stdout) == 0 ? 0 : -EIO;
    }
    if (error < 0)
        (void)fprintf(stderr, "inferometer replay: could not print the result: %s\n",
                      err_str(error));
    buf_done(&out);
    return error;
}

static int run(const struct options *o)
{
    struct buf body;
    struct buf reads;
    struct replay r = {.dialect = o->dialect,
                       .first_content = -1,
                       .first_reasoning = -1,
                       .first_text = -1,
                       .first_tool_args = -1,
                       .first_any = -1,
                       .last_content = -1};
    buf_init(&body, REPLAY_MAX_BYTES);
    buf_init(&reads, 64 * MIB);
    dialect_answer_init(&r.answer);
    timing_init(&r.timing);
    int error = read_file(o->file, &body);
    if (error == 0 && o->reads)
        error = read_file(o->reads, &reads);
    if (error == 0)
        error = replay_body(&r, buf_span(&body), buf_span(&reads), o->reads);
    if (error == 0)
        error = print_result(&r);
    events_done(&r.events);
    buf_done(&reads);
    buf_done(&body);
    return error < 0 ? 1 : 0;
}

int replay_main(int argc, char **argv)
{
    struct options options;
    if (parse_options(argc, argv, &options) < 0) {
        (void)fputs("see inferometer replay --help\n", stderr);
        return 2;
    }
    if (options.is_help) {
        print_help(stdout);
        return 0;
    }
    return run(&options);
}
