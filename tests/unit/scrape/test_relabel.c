/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/relabel.h"

#include <errno.h>

#include "base/attr.h"
#include "harness.h"
#include "memfail.h"

enum { SOURCES_MAX = 4, LABELS_MAX = 16, RULES_MAX = 4 };

/* "a=1 b=2": names and values without blanks. */
static size_t parse_pairs(const char *text, struct label *pairs)
{
    struct span left = span_cstr(text);
    size_t n = 0;
    while (left.n > 0) {
        struct span value = span_split(&left, ' ');
        pairs[n].name = span_split(&value, '=');
        pairs[n++].value = value;
    }
    return n;
}

static struct labels labels_of(const char *text, struct label *pairs)
{
    struct labels l;
    assert_int_equal(labels_normalise(pairs, parse_pairs(text, pairs), &l, NULL), 0);
    return l;
}

/* A rule as text: "replace sources=a,b separator=- regex=x target=t replacement=r modulus=8". */
struct wish {
    struct relabel_wish w;
    struct span sources[SOURCES_MAX];
};

static void wish_of(const char *text, struct wish *ret)
{
    struct span left = span_cstr(text);
    struct label pairs[LABELS_MAX];
    *ret = (struct wish){0};
    assert_int_equal(relabel_action_of(span_split(&left, ' '), &ret->w.action), 0);
    size_t n = left.n > 0 ? parse_pairs(left.p, pairs) : 0;
    ret->w.sources = ret->sources;
    for (size_t i = 0; i < n; i++) {
        struct span name = pairs[i].name, value = pairs[i].value;
        if (span_eq(name, SPAN("sources"))) {
            while (value.n > 0)
                ret->sources[ret->w.n_sources++] = span_split(&value, ',');
        } else if (span_eq(name, SPAN("separator"))) {
            ret->w.separator = value;
            ret->w.has_separator = true;
        } else if (span_eq(name, SPAN("regex"))) {
            ret->w.regex = value;
            ret->w.has_regex = true;
        } else if (span_eq(name, SPAN("target"))) {
            ret->w.target = value;
        } else if (span_eq(name, SPAN("replacement"))) {
            ret->w.replacement = value;
            ret->w.has_replacement = true;
        } else {
            assert_true(span_eq(name, SPAN("modulus")));
            for (size_t j = 0; j < value.n; j++)
                ret->w.modulus = 10 * ret->w.modulus + (uint64_t)(value.p[j] - '0');
        }
    }
}

static struct relabel_list make(const char *const *texts, struct arena *a,
                                const struct relabel_rule **at)
{
    size_t n = 0;
    for (; n < RULES_MAX && texts[n]; n++) {
        struct wish wish;
        const char *field = "";
        struct err err = {.text = ""};
        wish_of(texts[n], &wish);
        if (relabel_make(&wish.w, a, &at[n], &field, &err) != 0)
            fail_msg("%s: %s: %s", texts[n], field, err.text);
    }
    return (struct relabel_list){at, n};
}

struct row {
    const char *from;
    const char *rules[RULES_MAX];
    const char *to; /* NULL: dropped */
};

static void check_row(const struct row *row)
{
    const struct relabel_rule *at[RULES_MAX];
    struct label pairs[LABELS_MAX], wanted[LABELS_MAX];
    struct labels got = {0};
    struct arena a;
    struct buf b;
    arena_init(&a, NULL);
    struct relabel_list rules = make(row->rules, &a, at);
    int r = relabel_apply(rules, labels_of(row->from, pairs), &a, &got);
    assert_row(row->rules[0], r == (row->to != NULL));
    if (row->to && !labels_eq(got, labels_of(row->to, wanted))) {
        buf_init(&b, 4096);
        assert_int_equal(labels_print_pairs(got, &b), 0);
        fail_msg("%s | %s: %.*s", row->from, row->rules[0], SPAN_ARG(buf_span(&b)));
    }
    relabel_done(rules);
    arena_done(&a);
}

static void test_actions(void **state)
{
    static const struct row rows[] = {
        {"a=1", {NULL}, "a=1"},
        {"a=1 b=2", {"replace target=c replacement=x"}, "a=1 b=2 c=x"},
        {"a=1 b=2", {"replace sources=a target=b"}, "a=1 b=1"},
        {"a=1 b=2", {"replace sources=a,b target=c"}, "a=1 b=2 c=1;2"},
        {"a=1 b=2", {"replace sources=a,b,z separator=-- target=c"}, "a=1 b=2 c=1--2--"},
        {"a=x9y",
         {"replace sources=a regex=x(\\d)y target=b replacement=<$1>$$${1}z$1z"},
         "a=x9y b=<9>$9z"},
        {"a=x9y", {"replace sources=a regex=(\\d) target=b"}, "a=x9y"}, /* anchored */
        {"a=x9y", {"replace sources=a regex=(?P<d>.)9. target=b replacement=${d}"}, "a=x9y b=x"},
        {"a=k,v", {"replace sources=a regex=(.*),(.*) target=m_$1 replacement=$2"}, "a=k,v m_k=v"},
        {"a=9", {"replace sources=a target=$1"}, "a=9"},                      /* no name */
        {"a=1 b=2", {"replace sources=z target=b"}, "a=1"},                   /* empty: removed */
        {"a=b b=2", {"replace sources=a target=$1 replacement="}, "a=b b=2"}, /* but not this way */
        {"a=1", {"keep sources=a regex=1|2"}, "a=1"},
        {"a=12", {"keep sources=a regex=1|2"}, NULL},
        {"a=1", {"keep sources=z regex=.+"}, NULL},
        {"a=1", {"drop sources=a regex=1"}, NULL},
        {"a=1", {"drop sources=a regex=2"}, "a=1"},
        {"a=1", {"drop sources=a"}, NULL},
        {"a=1", {"keep sources=z"}, "a=1"},
        {"a=1 b=1", {"keepequal sources=a target=b"}, "a=1 b=1"},
        {"a=1 b=2", {"keepequal sources=a target=b"}, NULL},
        {"a=1 b=1", {"dropequal sources=a target=b"}, NULL},
        {"a=1 b=2", {"dropequal sources=a target=b"}, "a=1 b=2"},
        {"a=", {"keepequal sources=a target=b"}, ""},
        {"a=foo", {"hashmod sources=a target=h modulus=1000"}, "a=foo h=696"},
        {"a=foo b=bar", {"hashmod sources=a,b target=h modulus=1000"}, "a=foo b=bar h=750"},
        {"__meta_a=1 __meta_b=2 c=3",
         {"labelmap regex=__meta_(.+)"},
         "__meta_a=1 __meta_b=2 a=1 b=2 c=3"},
        {"a1=1 a2=2", {"labelmap regex=a(.) replacement=x"}, "a1=1 a2=2 x=2"},
        {"a1=1 ab=2", {"labelmap regex=a(.)"}, "a1=1 ab=2 b=2"}, /* "1" is no name */
        {"a=1 ab=2 c=3", {"labeldrop regex=a.*"}, "c=3"},
        {"a=1 ab=2 c=3", {"labelkeep regex=a"}, "a=1"},
        {"a=xY", {"uppercase sources=a target=a"}, "a=XY"},
        {"a=xY b=Z", {"lowercase sources=a,b target=c"}, "a=xY b=Z c=xy;z"},
        {"a=1", {"uppercase sources=z target=a"}, ""},
        {"__address__=h:1 __scheme__=http",
         {"replace sources=__address__ regex=(.*):\\d+ target=instance",
          "REPLACE target=__scheme__ replacement=https", "keep sources=instance regex=h",
          "labelkeep regex=__scheme__|instance"},
         "__scheme__=https instance=h"},
        {"a=1", {"drop sources=a", "replace target=b replacement=c"}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

static void test_refused(void **state)
{
    static const struct {
        const char *rule, *field;
    } rows[] = {
        {"replace sources=a", "target_label"},
        {"replace sources=a target=a-b", "target_label"},
        {"replace sources=a target=1a", "target_label"},
        {"replace sources=a target=$", "target_label"},
        {"replace sources=a target=${1", "target_label"},
        {"replace sources=a target=a$-", "target_label"},
        {"replace sources=a-b target=b", "source_labels"},
        {"replace sources=a target=b regex=(", "regex"},
        {"replace sources=a target=b regex=(?=x)", "regex"},
        {"keep sources=a regex=[", "regex"},
        {"hashmod sources=a target=b", "modulus"},
        {"hashmod sources=a modulus=8", "target_label"},
        {"hashmod sources=a target=$1 modulus=8", "target_label"},
        {"lowercase sources=a", "target_label"},
        {"lowercase sources=a target=$1", "target_label"},
        {"keepequal sources=a target=$1", "target_label"},
        {"lowercase sources=a target=b replacement=c", "replacement"},
        {"labelmap regex=a replacement=a-b", "replacement"},
        {"labelmap regex=a replacement=", "replacement"},
        {"keepequal sources=a", "target_label"},
        {"keepequal sources=a target=b regex=c", "regex"},
        {"dropequal sources=a target=b separator=,", "separator"},
        {"dropequal sources=a target=b replacement=x", "replacement"},
        {"dropequal sources=a target=b modulus=1", "modulus"},
        {"labeldrop regex=a sources=b", "source_labels"},
        {"labeldrop regex=a target=b", "target_label"},
        {"labelkeep regex=a separator=,", "separator"},
        {"labelkeep regex=a replacement=x", "replacement"},
        {"labelkeep regex=a modulus=3", "modulus"},
    };
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct wish wish;
        const struct relabel_rule *rule = NULL;
        const char *field = "";
        struct err err = {.text = ""};
        wish_of(rows[i].rule, &wish);
        assert_row(rows[i].rule, relabel_make(&wish.w, &a, &rule, &field, &err) == -EINVAL);
        assert_row(rows[i].rule, !rule && err.text[0] != '\0');
        assert_span_equal(rows[i].rule, span_cstr(field), span_cstr(rows[i].field));
    }
    arena_done(&a);
}

/* What is the default may be said. */
static void test_defaults_said(void **state)
{
    static const char *const rows[] = {
        "labeldrop regex=a separator=; replacement=$1",
        "dropequal sources=a target=b separator=; replacement=$1",
        "lowercase sources=a target=b replacement=$1 separator=-",
        "keep sources=a target=not-looked-at",
        "replace target=a1$1_${2}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *const texts[RULES_MAX] = {rows[i]};
        const struct relabel_rule *at[RULES_MAX];
        struct arena a;
        arena_init(&a, NULL);
        relabel_done(make(texts, &a, at));
        arena_done(&a);
    }
}

static void test_actions_names(void **state)
{
    enum relabel_action a;
    (void)state;
    for (int i = 0; i < RELABEL_ACTION_COUNT_; i++) {
        assert_int_equal(relabel_action_of(span_cstr(relabel_action_name(i)), &a), 0);
        assert_int_equal(a, i);
    }
    assert_int_equal(relabel_action_of(SPAN("LabelMap"), &a), 0);
    assert_int_equal(a, RELABEL_LABEL_MAP);
    assert_int_equal(relabel_action_of(SPAN("label_map"), &a), -EINVAL);
    assert_int_equal(relabel_action_of(SPAN(""), &a), -EINVAL);
}

static void test_too_big(void **state)
{
    const char *texts[2] = {"replace sources=a target=a replacement=$1$1"};
    const struct relabel_rule *one[RULES_MAX], *many[40];
    static const struct label pairs[] = {{SPAN_INIT("a"), SPAN_INIT("x")}};
    struct labels got = {NULL, 7};
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    struct relabel_list rules = make(texts, &a, one);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = one[0];
    struct relabel_list all = {many, ARRAY_LEN(many)};
    assert_int_equal(relabel_apply(all, (struct labels){pairs, 1}, &a, &got), -E2BIG);
    assert_int_equal(got.n, 7);
    all.n = 10;
    assert_int_equal(relabel_apply(all, (struct labels){pairs, 1}, &a, &got), 1);
    assert_int_equal(got.at[0].value.n, 1024);
    relabel_done(rules);
    arena_done(&a);
}

static int attempt(void *ctx)
{
    static const char *const texts[] = {
        "replace sources=a,b regex=(.*);(.*) target=c_$1 replacement=$2",
        "uppercase sources=b target=d", "labelmap regex=(a)(.*) replacement=z$2",
        "hashmod sources=a,b target=h modulus=7"};
    const struct relabel_rule *at[ARRAY_LEN(texts)] = {NULL};
    struct label pairs[LABELS_MAX];
    struct labels l = labels_of("a=1 b=2", pairs), got = {NULL, 7};
    struct relabel_list rules = {at, 0};
    const char *field;
    struct arena a;
    int r = 0;
    (void)ctx;
    arena_init(&a, NULL);
    for (; rules.n < ARRAY_LEN(texts) && r == 0; rules.n += r == 0) {
        struct wish wish;
        wish_of(texts[rules.n], &wish);
        r = relabel_make(&wish.w, &a, &at[rules.n], &field, NULL);
        assert_true(r == 0 || !at[rules.n]);
    }
    if (r == 0)
        r = relabel_apply(rules, l, &a, &got);
    assert_int_equal(got.n, r == 1 ? 6 : 7);
    relabel_done(rules);
    arena_done(&a);
    return r == 1 ? 0 : r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_defaults_said), cmocka_unit_test(test_actions_names),
        cmocka_unit_test(test_too_big),       cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("scrape/relabel", tests, NULL, NULL);
}
