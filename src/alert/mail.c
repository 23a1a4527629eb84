/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/mail.h"

#include "base/fnv.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "alert/prose.h"

enum { LINE_CHARS = 76, WORD_BYTES = 42, HEAD_MAX = 1 << 16 };

/* --- addresses --- */

static bool is_address_char(char c)
{
    return (unsigned char)c > ' ' && (unsigned char)c < 0x7f && !strchr("<>()[],;:\\\"", c);
}

bool mail_address_parse(struct span text, struct mail_address *ret)
{
    struct mail_address a = {SPAN(""), span_trim(text)};
    size_t at = span_find_char(a.address, '<');
    if (at < a.address.n) {
        if (!span_ends_with(a.address, SPAN(">")))
            return false;
        a.name = span_trim(span_of(a.address.p, at));
        a.address = span_trim(span_of(a.address.p + at + 1, a.address.n - at - 2));
        if (a.name.n > 1 && a.name.p[0] == '"' && a.name.p[a.name.n - 1] == '"')
            a.name = span_of(a.name.p + 1, a.name.n - 2);
    }
    for (size_t i = 0; i < a.address.n; i++)
        if (!is_address_char(a.address.p[i]))
            return false;
    for (size_t i = 0; i < a.name.n; i++)
        if ((unsigned char)a.name.p[i] < ' ' || a.name.p[i] == 0x7f)
            return false;
    if (a.address.n == 0 || a.address.n > 254 || a.address.p[0] == '-')
        return false;
    *ret = a;
    return true;
}

/* --- header fields --- */

static bool is_plain(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || (unsigned char)s.p[i] >= 0x7f)
            return false;
    return span_find(s, SPAN("=?")) == s.n;
}

/* Whether it can stand between quotes as it is. */
static bool is_quotable(struct span s)
{
    return span_find_char(s, '"') == s.n && span_find_char(s, '\\') == s.n;
}

/* RFC 2047: words of whole characters, each on a line of its own. */
static int put_encoded(struct span s, struct buf *out)
{
    int r = 0;
    for (bool is_first = true; s.n > 0 && r == 0; is_first = false) {
        struct span word = prose_cut_bytes(s, WORD_BYTES);
        if (word.n == 0)
            word = span_of(s.p, 1);
        s = span_from(s, word.n);
        r = buf_append(out, is_first ? SPAN("=?UTF-8?B?") : SPAN("\r\n =?UTF-8?B?"));
        if (r == 0)
            r = prose_base64(word, out);
        if (r == 0)
            r = buf_append(out, SPAN("?="));
    }
    return r;
}

/* A text in a header field, on one line whatever it holds. */
static int put_text(struct span s, bool is_quoted, struct buf *out)
{
    struct buf clean;
    buf_init(&clean, HEAD_MAX);
    int r = prose_clean(prose_cut(s, 300), false, &clean);
    struct span text = span_trim(buf_span(&clean));
    if (r < 0)
        ;
    else if (!is_plain(text) || (is_quoted && !is_quotable(text)))
        r = put_encoded(text, out);
    else if (!is_quoted)
        r = buf_append(out, text);
    else
        r = buf_printf(out, "\"%.*s\"", SPAN_ARG(text));
    buf_done(&clean);
    return r;
}

static int put_address(const struct mail_address *a, struct buf *out)
{
    if (a->name.n == 0)
        return buf_append(out, a->address);
    int r = put_text(a->name, true, out);
    return r < 0 ? r : buf_printf(out, " <%.*s>", SPAN_ARG(a->address));
}

static int put_addresses(const struct mail *m, struct buf *out)
{
    int r = buf_append(out, SPAN("From: "));
    if (r == 0)
        r = put_address(&m->from, out);
    for (size_t i = 0; i < m->n_to && r == 0; i++) {
        r = buf_append(out, i == 0 ? SPAN("\r\nTo: ") : SPAN(",\r\n "));
        if (r == 0)
            r = put_address(&m->to[i], out);
    }
    return r < 0 ? r : buf_append(out, SPAN("\r\n"));
}

static int put_date(int64_t ms, struct buf *out)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t s = (time_t)(ms / 1000);
    struct tm t;
    if (!gmtime_r(&s, &t))
        return -ERANGE;
    return buf_printf(out, "Date: %s, %02d %s %d %02d:%02d:%02d +0000\r\n", days[t.tm_wday],
                      t.tm_mday, months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

static struct span domain(const struct mail *m)
{
    struct span d = span_from(m->from.address, span_find_char(m->from.address, '@') + 1);
    return d.n > 0 ? d : SPAN("inferometer.invalid");
}

/* All mails of a thread answer one that was never sent, which is what groups them. */
static int put_thread(const struct mail *m, struct buf *out)
{
    uint64_t thread = fnv_add(FNV_START, m->thread), content = fnv_add(thread, m->text);
    struct span d = domain(m);
    return buf_printf(out,
                      "Message-ID: <%016" PRIx64 ".%016" PRIx64 ".%" PRId64 "@%.*s>\r\n"
                      "In-Reply-To: <%016" PRIx64 ".thread@%.*s>\r\n"
                      "References: <%016" PRIx64 ".thread@%.*s>\r\n",
                      thread, content, m->now_ms, SPAN_ARG(d), thread, SPAN_ARG(d), thread,
                      SPAN_ARG(d));
}

static int put_head(const struct mail *m, uint64_t boundary, struct buf *out)
{
    int r = put_addresses(m, out);
    if (r == 0)
        r = buf_append(out, SPAN("Subject: "));
    if (r == 0)
        r = put_text(m->subject, false, out);
    if (r == 0)
        r = buf_append(out, SPAN("\r\n"));
    if (r == 0)
        r = put_date(m->now_ms, out);
    if (r == 0)
        r = put_thread(m, out);
    return r < 0 ? r
                 : buf_printf(out,
                              "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                              "Content-Type: multipart/alternative; "
                              "boundary=\"=_%016" PRIx64 "\"\r\n\r\n",
                              boundary);
}

/* --- parts --- */

static int put_wrapped(struct span s, struct buf *out)
{
    enum { LINE_BYTES = LINE_CHARS / 4 * 3 };
    int r = 0;
    while (s.n > 0 && r == 0) {
        r = prose_base64(span_take(&s, s.n < LINE_BYTES ? s.n : LINE_BYTES), out);
        if (r == 0)
            r = buf_append(out, SPAN("\r\n"));
    }
    return r;
}

/* base64 has no '_', so that no part can hold the boundary. */
static int put_part(const char *type, struct span s, uint64_t boundary, struct buf *out)
{
    int r = buf_printf(out,
                       "--=_%016" PRIx64 "\r\nContent-Type: %s; charset=utf-8\r\n"
                       "Content-Transfer-Encoding: base64\r\n\r\n",
                       boundary, type);
    return r < 0 ? r : put_wrapped(s, out);
}

int mail_write(const struct mail *m, struct buf *out)
{
    uint64_t boundary = fnv_add(fnv_add(FNV_START, m->html), m->text);
    int r = put_head(m, boundary, out);
    if (r == 0)
        r = put_part("text/plain", m->text, boundary, out);
    if (r == 0)
        r = put_part("text/html", m->html, boundary, out);
    return r < 0 ? r : buf_printf(out, "--=_%016" PRIx64 "--\r\n", boundary);
}
