/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/json: however a text is gone over, it is valid, cut or refused alike; a beginning of a valid
 * text is never refused; views lie within the text; the offset never goes back.
 */
#include "pieces.h"

#include "wire/json.h"

static struct span text; /* what is being read */

static void check_string(struct span raw)
{
    char small[8];
    char *all = mem_must(mem_alloc(raw.n + 1));
    size_t n = json_unescape(raw, all, raw.n + 1); /* never longer than its raw form */
    FUZZ_CHECK(n <= raw.n && json_str_eq(raw, span_of(all, n)));
    size_t n_small = json_unescape(raw, small, sizeof(small));
    FUZZ_CHECK(n_small <= n && n_small < sizeof(small) && memcmp(small, all, n_small) == 0);
    mem_free(all);
}

static void check_value(const struct json_value *v)
{
    int64_t i;
    double d;
    FUZZ_CHECK(pieces_is_within(v->raw, text));
    if (v->type == JSON_STRING)
        check_string(v->raw);
    if (v->type == JSON_NUMBER && json_i64(v, &i) && json_double(v, &d))
        FUZZ_CHECK(d >= -9223372036854775808.0 && d <= 9223372036854775808.0);
}

/* rng NULL: takes everything; else takes, skips, leaves alone or leaves early. */
static void go_over(struct json *j, struct rng *rng)
{
    struct json_value v;
    struct span key = {"", 0};
    size_t offset = json_offset(j);
    if (rng && rng_below(rng, 4) == 0) {
        (void)json_skip(j);
    } else if (json_next(j, &v)) {
        check_value(&v);
        bool is_array = v.type == JSON_ARRAY;
        bool is_open = is_array || v.type == JSON_OBJECT;
        while (is_open && (is_array ? json_item(j) : json_key(j, &key))) {
            FUZZ_CHECK(key.n == 0 || pieces_is_within(key, text));
            uint64_t dice = rng ? rng_below(rng, 8) : 7;
            if (dice == 0) {
                (void)json_leave(j);
                break;
            }
            if (dice > 1)
                go_over(j, rng);
        }
    }
    FUZZ_CHECK(json_offset(j) >= offset && json_offset(j) <= text.n);
}

/* json_status, with a value followed by anything told apart. */
static int verdict(struct span s, struct rng *rng, bool is_skipping)
{
    struct json j;
    text = s;
    json_init(&j, s);
    if (is_skipping)
        (void)json_skip(&j);
    else
        go_over(&j, rng);
    bool is_done = json_is_done(&j);
    FUZZ_CHECK(!is_done || json_status(&j) == JSON_OK);
    return json_status(&j) == JSON_OK && !is_done ? 2 : (int)json_status(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input;
    uint8_t choice = pieces_choice(data, size, &input);
    struct rng rng;
    rng_seed(&rng, choice);
    int walked = verdict(input, NULL, false);
    FUZZ_CHECK(verdict(input, NULL, true) == walked);
    FUZZ_CHECK(verdict(input, &rng, false) == walked);
    if (walked == JSON_OK && input.n > 0) {
        size_t n = (size_t)rng_below(&rng, input.n);
        char *copy = mem_must(mem_alloc(n + 1));
        memcpy(copy, input.p, n);
        int cut = verdict(span_of(copy + 0, n), NULL, true);
        FUZZ_CHECK(cut == JSON_OK || cut == JSON_MORE);
        mem_free(copy);
    }
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
