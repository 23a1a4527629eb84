/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mails: header fields that hold what they should whatever is put into them, parts that read back.
 */
#include "sample.h"

#include "alert/mail.h"
#include "alert/prose.h"
#include "memfail.h"

static const struct mail_address people[] = {
    {SPAN_INIT(""), SPAN_INIT("ann@example.com")},
    {SPAN_INIT("\xe5\xbc\xa0\xe4\xb8\x89"), SPAN_INIT("zhang@example.com")},
    {SPAN_INIT("O\"Neil"), SPAN_INIT("o@example.com")},
};

static struct mail mail_with(struct span subject)
{
    return (struct mail){.from = {SPAN_INIT("Gateway, the"), SPAN_INIT("gw@example.com")},
                         .to = people,
                         .n_to = ARRAY_LEN(people),
                         .subject = subject,
                         .text = SPAN("text"),
                         .html = SPAN("<p>html</p>"),
                         .now_ms = SAMPLE_NOW_MS,
                         .thread = SPAN("{}:{alertname=\"A\"}")};
}

static void a_mail_is_these_bytes(void **state)
{
    (void)state;
    struct buf out;
    struct mail m = mail_with(SPAN("[FIRING:1] HighTTFT (P1)"));
    buf_init(&out, 1 << 20);
    assert_int_equal(mail_write(&m, &out), 0);
    assert_span_equal(
        "mail", buf_span(&out),
        SPAN("From: \"Gateway, the\" <gw@example.com>\r\n"
             "To: ann@example.com,\r\n =?UTF-8?B?5byg5LiJ?= <zhang@example.com>,\r\n"
             " =?UTF-8?B?TyJOZWls?= <o@example.com>\r\n"
             "Subject: [FIRING:1] HighTTFT (P1)\r\n"
             "Date: Sun, 30 Nov 2025 04:30:00 +0000\r\n"
             "Message-ID: <8ec27a44a7ba6ab2.b859c6b4c88485d9.1764477000123@example.com>\r\n"
             "In-Reply-To: <8ec27a44a7ba6ab2.thread@example.com>\r\n"
             "References: <8ec27a44a7ba6ab2.thread@example.com>\r\n"
             "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
             "Content-Type: multipart/alternative; boundary=\"=_894fc85bdd61d238\"\r\n\r\n"
             "--=_894fc85bdd61d238\r\nContent-Type: text/plain; charset=utf-8\r\n"
             "Content-Transfer-Encoding: base64\r\n\r\ndGV4dA==\r\n"
             "--=_894fc85bdd61d238\r\nContent-Type: text/html; charset=utf-8\r\n"
             "Content-Transfer-Encoding: base64\r\n\r\nPHA+aHRtbDwvcD4=\r\n"
             "--=_894fc85bdd61d238--\r\n"));
    buf_done(&out);
}

static size_t count(struct span s, const char *what)
{
    size_t n = 0, at;
    while ((at = span_find(s, span_cstr(what))) < s.n) {
        n++;
        s = span_from(s, at + 1);
    }
    return n;
}

/* No text makes a header field or a body of its own, and no line is too long. */
static void nothing_breaks_out_of_a_header(void **state)
{
    (void)state;
    static const char *const subjects[] = {
        "a\r\nBcc: x@example.com\r\n\r\nbody",
        "a\nBcc: x@example.com",
        "a\rBcc: x@example.com",
        "a\xe2\x80\xa8"
        "Bcc: x",
        "=?UTF-8?B?QmNjOg==?=",
        "\xff\xfe\x01\x7f",
        "\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5"
        "\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5"
        "\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5",
        "",
    };
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
        struct buf out;
        struct mail m = mail_with(span_cstr(subjects[i]));
        m.thread = span_cstr(subjects[i]);
        buf_init(&out, 1 << 20);
        assert_int_equal(mail_write(&m, &out), 0);
        struct span all = buf_span(&out);
        struct span head = span_of(all.p, span_find(all, SPAN("\r\n\r\n")));
        assert_row(subjects[i], count(head, "\nBcc") == 0 && count(head, "\rBcc") == 0);
        assert_row(subjects[i], count(head, "\nSubject: ") == 1);
        assert_row(subjects[i], count(head, "\nContent-Type: multipart") == 1);
        for (size_t k = 0; k < all.n; k++) {
            unsigned char c = (unsigned char)all.p[k];
            assert_row(subjects[i], c < 0x7f && (c >= ' ' || c == '\r' || c == '\n'));
            assert_row(subjects[i], c != '\n' || (k > 0 && all.p[k - 1] == '\r'));
            assert_row(subjects[i], c != '\r' || (k + 1 < all.n && all.p[k + 1] == '\n'));
        }
        while (all.n > 0)
            assert_row(subjects[i], span_split(&all, '\n').n < 200);
        buf_done(&out);
    }
}

static void addresses_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *address;
    } rows[] = {
        {"a@b", "", "a@b"},
        {" Ann Lee <ann@example.com> ", "Ann Lee", "ann@example.com"},
        {"\"Lee, Ann\" <ann@example.com>", "Lee, Ann", "ann@example.com"},
        {"<a@b>", "", "a@b"},
        {"root", "", "root"},
        {"", NULL, NULL},
        {"a b", NULL, NULL},
        {"a@b\r\nRCPT TO:<x>", NULL, NULL},
        {"Ann <a@b> x", NULL, NULL},
        {"Ann <a b>", NULL, NULL},
        {"Ann <>", NULL, NULL},
        {"-oQ/tmp", NULL, NULL},
        {"a,b", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct mail_address a;
        assert_row(rows[i].text,
                   mail_address_parse(span_cstr(rows[i].text), &a) == (rows[i].address != NULL));
        if (!rows[i].address)
            continue;
        assert_span_equal(rows[i].text, a.name, span_cstr(rows[i].name));
        assert_span_equal(rows[i].text, a.address, span_cstr(rows[i].address));
    }
}

static void a_mail_for_the_receiver(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    struct alert_message m = sample_evil(&s.arena);
    sample_render(
        &s, &receiver_email,
        "{receiver: {to: 'a@b, C <c@d>', smarthost: 'mail.example:465', auth_username: u, "
        "auth_password: p}, global: {smtp_from: 'Gw <gw@example.com>', "
        "smtp_require_tls: false, smtp_auth_password: other, smtp_smarthost: 'x:25'}}",
        &m);
    assert_span_equal("url", s.request.url, SPAN("smtps://mail.example:465"));
    assert_span_equal("shown", s.request.shown, SPAN("smtps://mail.example:465"));
    assert_span_equal("from", s.request.from, SPAN("gw@example.com"));
    assert_span_equal("user", s.request.user, SPAN("u"));
    assert_span_equal("password", s.request.password, SPAN("p"));
    assert_int_equal(s.request.n_to, 2);
    assert_span_equal("to", s.request.to[1], SPAN("c@d"));
    assert_false(s.request.needs_tls);
    assert_true(span_find(s.request.body, SPAN("Bcc")) == s.request.body.n);
    assert_true(span_find(s.request.body, SPAN("<script>")) == s.request.body.n);
    sample_teardown(&s);
}

static void tls_from_the_start_may_be_said_for_all(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    struct alert_message m = sample_evil(&s.arena);
    sample_render(&s, &receiver_email,
                  "{receiver: {to: a@b}, global: {smtp_from: g@b, smtp_smarthost: 'x:2465', "
                  "smtp_force_implicit_tls: true}}",
                  &m);
    assert_span_equal("url", s.request.url, SPAN("smtps://x:2465"));
    sample_teardown(&s);
}

static int write_one(void *ctx)
{
    struct buf out;
    struct mail m = mail_with(span_cstr(ctx));
    buf_init(&out, 1 << 20);
    int r = mail_write(&m, &out);
    buf_done(&out);
    return r;
}

static void without_memory_no_mail_is_made(void **state)
{
    (void)state;
    char subject[] = "\xe5\xbc\xa0 subject";
    assert_true(memfail_each(write_one, subject) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mail_is_these_bytes),
        cmocka_unit_test(nothing_breaks_out_of_a_header),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(a_mail_for_the_receiver),
        cmocka_unit_test(tls_from_the_start_may_be_said_for_all),
        cmocka_unit_test(without_memory_no_mail_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
