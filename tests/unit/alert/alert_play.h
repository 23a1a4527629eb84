/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert_play.h - plays a script of alerts against dispatch, as fast as it goes, and writes down who
 * is told what and when. One command a line:
 *
 *   at MS              everything that is due until then happens, and it is MS now
 *   fire LABELS        a=1 b=2: an alert that fires (again)
 *   end LABELS         it is resolved
 *   hold MS            alerts that fire from here on hold so long untold
 *   age MS             they began so long ago
 *   silence JSON       as for POST /api/v2/silences
 *   expire ID          a silence ends; "last": the one that was set last
 *   fail RECEIVER N MS its next N messages fail; each is tried again after MS
 *   slow RECEIVER MS   its messages take so long from here on
 *   step MS            the clock is stepped
 *
 * Times are ms since the epoch. Written is a line for each message that was handed out, as JSON or
 *   MS RECEIVER/INDEX +firing -resolved reason [failed]
 */
#ifndef ALERT_PLAY_H
#define ALERT_PLAY_H

#include "alert/dispatch.h"
#include "alert_kinds.h"
#include "base/num.h"

enum { PLAY_FAILS_MAX = 8, PLAY_OUT_MAX = 64, PLAY_TURN_MS = 10000 };

struct play_out {
    uint64_t token;
    int64_t at_ms;
};

struct play {
    struct dispatch *d;
    struct silences *s;
    int64_t now_ms, hold_ms, age_ms;
    struct buf out;
    char last_silence[37];
    struct {
        struct span receiver;
        int64_t n, retry_ms;
    } fails[PLAY_FAILS_MAX];
    struct {
        struct span receiver;
        int64_t ms;
    } slow[PLAY_FAILS_MAX];
    size_t n_fails, n_slow;
    struct play_out outs[PLAY_OUT_MAX]; /* messages that take their time */
    size_t n_outs;
    bool names_only; /* not JSON */
};

static inline void play_init(struct play *p, struct alert_file *f, int64_t now_ms)
{
    *p = (struct play){.now_ms = now_ms, .hold_ms = INT64_C(1000) * 86400 * 365};
    buf_init(&p->out, (size_t)64 << 20);
    assert_int_equal(dispatch_new(f, SPAN("http://ours"), &p->d), 0);
    assert_int_equal(silences_new(&p->s), 0);
}

static inline void play_done(struct play *p)
{
    dispatch_free(p->d);
    silences_free(p->s);
    buf_done(&p->out);
}

/* +x +y -z: by their names. */
static inline void play_names(struct play *p, const struct alert_message *m)
{
    for (size_t i = 0; i < m->n; i++)
        assert_int_equal(buf_printf(&p->out, " %s%.*s", m->alerts[i].is_resolved ? "-" : "+",
                                    SPAN_ARG(labels_get(m->alerts[i].labels, SPAN("alertname")))),
                         0);
}

/* What a webhook would be told, in short. */
static inline void play_json(struct play *p, const struct dispatch_due *due)
{
    const struct alert_message *m = &due->message;
    struct jsonw w;
    char fingerprint[24];
    jsonw_init(&w, &p->out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "at");
    jsonw_i64(&w, p->now_ms);
    jsonw_key(&w, "receiver");
    jsonw_str(&w, m->receiver);
    jsonw_key(&w, "index");
    jsonw_i64(&w, due->integration->index);
    jsonw_key(&w, "key");
    jsonw_str(&w, m->group_key);
    labels_write(m->group_labels, "group", &w);
    labels_write(m->common_labels, "common", &w);
    jsonw_key(&w, "alerts");
    jsonw_begin_array(&w);
    for (size_t i = 0; i < m->n; i++) {
        (void)snprintf(fingerprint, sizeof(fingerprint), "%c%016llx",
                       m->alerts[i].is_resolved ? '-' : '+',
                       (unsigned long long)m->alerts[i].fingerprint);
        jsonw_cstr(&w, fingerprint);
    }
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    assert_int_equal(jsonw_error(&w), 0);
    assert_int_equal(buf_append(&p->out, SPAN("\n")), 0);
}

static inline bool play_fails(struct play *p, struct span receiver, int64_t *ret_retry_ms)
{
    for (size_t i = 0; i < p->n_fails; i++) {
        if (p->fails[i].n > 0 && span_eq(p->fails[i].receiver, receiver)) {
            p->fails[i].n--;
            *ret_retry_ms = p->fails[i].retry_ms;
            return true;
        }
    }
    return false;
}

static inline int64_t play_takes(const struct play *p, struct span receiver)
{
    for (size_t i = p->n_slow; i-- > 0;) {
        if (span_eq(p->slow[i].receiver, receiver))
            return p->slow[i].ms;
    }
    return 0;
}

static inline void play_message(struct play *p, const struct dispatch_due *due)
{
    const struct alert_message *m = &due->message;
    int64_t retry_ms = 0, takes_ms = play_takes(p, m->receiver);
    bool fails = play_fails(p, m->receiver, &retry_ms);
    if (p->names_only) {
        assert_int_equal(buf_printf(&p->out, "%lld %.*s/%d", (long long)p->now_ms,
                                    SPAN_ARG(m->receiver), due->integration->index),
                         0);
        play_names(p, m);
        assert_int_equal(
            buf_printf(&p->out, " %.*s%s\n", SPAN_ARG(m->reason), fails ? " failed" : ""), 0);
    } else {
        play_json(p, due);
    }
    if (fails) {
        dispatch_failed(p->d, due->token, p->now_ms + retry_ms);
    } else if (takes_ms > 0) {
        assert_true(p->n_outs < PLAY_OUT_MAX);
        p->outs[p->n_outs++] = (struct play_out){due->token, p->now_ms + takes_ms};
    } else {
        dispatch_told(p->d, due->token, p->now_ms);
    }
}

/* Messages that have arrived by now. */
static inline void play_arrive(struct play *p)
{
    for (size_t i = p->n_outs; i-- > 0;) {
        struct play_out o = p->outs[i];
        if (o.at_ms > p->now_ms)
            continue;
        p->outs[i] = p->outs[--p->n_outs];
        dispatch_told(p->d, o.token, p->now_ms);
    }
}

static inline void play_now(struct play *p)
{
    struct dispatch_due due;
    int r = 1;
    play_arrive(p);
    while (r == 1) {
        struct arena a;
        arena_init(&a, NULL);
        r = dispatch_next(p->d, p->s, p->now_ms, &a, &due);
        if (r == 1)
            play_message(p, &due);
        arena_done(&a);
    }
    assert_int_equal(r, 0);
}

static inline int64_t play_next_ms(const struct play *p)
{
    int64_t next_ms = dispatch_next_ms(p->d);
    for (size_t i = 0; i < p->n_outs; i++)
        next_ms = p->outs[i].at_ms < next_ms ? p->outs[i].at_ms : next_ms;
    return next_ms;
}

/* Everything up to then, each at its moment. */
static inline void play_until(struct play *p, int64_t ms)
{
    for (;;) {
        int64_t next_ms = play_next_ms(p), turn_ms = p->now_ms + PLAY_TURN_MS;
        next_ms = next_ms < turn_ms ? next_ms : turn_ms;
        if (next_ms > ms)
            break;
        p->now_ms = next_ms > p->now_ms ? next_ms : p->now_ms;
        play_now(p);
    }
    p->now_ms = ms;
    play_now(p);
}

static inline int play_put(struct play *p, struct labels l, bool is_resolved)
{
    static const struct label pair = {SPAN_INIT("summary"), SPAN_INIT("text")};
    struct alert_notice n = {
        .labels = l,
        .annotations = {&pair, 1},
        .starts_ms = p->now_ms - p->age_ms,
        .ends_ms = is_resolved ? p->now_ms : p->now_ms + p->hold_ms,
        .is_resolved = is_resolved,
        .value = 1,
        .generator_url = SPAN("http://graph"),
    };
    return dispatch_put(p->d, &n, p->now_ms);
}

static inline int64_t play_number(struct span s)
{
    int64_t v = 0;
    assert_int_equal(num_parse_i64(s, &v), 0);
    return v;
}

static inline void play_alert(struct play *p, struct span text, bool is_resolved)
{
    char labels[1000];
    struct arena a;
    span_copy(text, labels, sizeof(labels));
    arena_init(&a, NULL);
    assert_int_equal(play_put(p, kind_labels(&a, labels), is_resolved), 0);
    arena_done(&a);
}

static inline void play_silence(struct play *p, struct span json)
{
    const struct silence *one = NULL;
    struct err err = {.text = ""};
    if (silences_set(p->s, json, p->now_ms, &one, &err) != 0)
        fail_msg("%s: %.*s", err.text, SPAN_ARG(json));
    (void)snprintf(p->last_silence, sizeof(p->last_silence), "%s", one->id);
}

static inline void play_line(struct play *p, struct span line)
{
    struct span word = span_split(&line, ' '), all = line;
    if (span_eq(word, SPAN("at"))) {
        play_until(p, play_number(line));
    } else if (span_eq(word, SPAN("fire")) || span_eq(word, SPAN("end"))) {
        play_alert(p, line, span_eq(word, SPAN("end")));
    } else if (span_eq(word, SPAN("hold"))) {
        p->hold_ms = play_number(line);
    } else if (span_eq(word, SPAN("age"))) {
        p->age_ms = play_number(line);
    } else if (span_eq(word, SPAN("silence"))) {
        play_silence(p, all);
    } else if (span_eq(word, SPAN("expire"))) {
        struct span id = span_eq(line, SPAN("last")) ? span_cstr(p->last_silence) : line;
        assert_int_equal(silences_expire(p->s, id, p->now_ms), 0);
    } else if (span_eq(word, SPAN("fail"))) {
        struct span receiver = span_split(&line, ' '), n = span_split(&line, ' ');
        assert_true(p->n_fails < PLAY_FAILS_MAX);
        p->fails[p->n_fails].receiver = receiver;
        p->fails[p->n_fails].n = play_number(n);
        p->fails[p->n_fails++].retry_ms = play_number(line);
    } else if (span_eq(word, SPAN("slow"))) {
        assert_true(p->n_slow < PLAY_FAILS_MAX);
        p->slow[p->n_slow].receiver = span_split(&line, ' ');
        p->slow[p->n_slow++].ms = play_number(line);
    } else if (span_eq(word, SPAN("step"))) {
        p->now_ms += play_number(line);
    } else if (word.n > 0) {
        fail_msg("no such command: %.*s", SPAN_ARG(word));
    }
}

static inline void play_script(struct play *p, struct span script)
{
    while (script.n > 0) {
        play_line(p, span_trim(span_split(&script, '\n')));
        play_now(p);
    }
}

#endif
