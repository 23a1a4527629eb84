/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/http1.c - see http1.h.
 *
 * Why so strict: a gateway that reads a message otherwise than its peers do lets requests be
 * smuggled through it. Whatever two implementations are known to read differently is refused.
 *
 * A head is cut into lines at CRLF, each line is checked byte by byte as the part it is, and the
 * few fields that decide framing and connection handling are noted on the way; the rules that need
 * several fields are applied once at the end.
 */
#include "wire/http1.h"

#include <errno.h>

#include "base/num.h"
#include "wire/scan.h"

const char *http1_error_text(enum http1_error e)
{
    static const char *const text[HTTP1_ERROR_COUNT_] = {
        [HTTP1_OK] = "no error",
        [HTTP1_BAD_LINE_END] = "a line does not end in CRLF",
        [HTTP1_BAD_CHAR] = "character that is not allowed",
        [HTTP1_BAD_REQUEST_LINE] = "malformed request line",
        [HTTP1_BAD_STATUS_LINE] = "malformed status line",
        [HTTP1_BAD_VERSION] = "HTTP version other than 1.0 and 1.1",
        [HTTP1_BAD_FIELD_NAME] = "malformed field name",
        [HTTP1_BAD_FIELD_VALUE] = "control character in a field value",
        [HTTP1_OBS_FOLD] = "folded field line",
        [HTTP1_TOO_MANY_FIELDS] = "too many fields",
        [HTTP1_BAD_LENGTH] = "invalid or repeated Content-Length",
        [HTTP1_BAD_CODING] = "Transfer-Encoding other than one \"chunked\"",
        [HTTP1_LENGTH_AND_CODING] = "Content-Length with Transfer-Encoding",
        [HTTP1_BAD_HOST] = "missing, repeated or invalid Host",
        [HTTP1_BAD_EXPECT] = "Expect other than 100-continue",
    };
    return (unsigned)e < HTTP1_ERROR_COUNT_ ? text[e] : "unknown error";
}

static ptrdiff_t refuse_head(enum http1_error e, enum http1_error *ret_error)
{
    *ret_error = e;
    return -EPROTO;
}

ptrdiff_t http1_find_end(struct span bytes, size_t *scanned, enum http1_error *ret_error)
{
    if (bytes.n == 0)
        return 0;
    const char *begin = bytes.p;
    const char *end = begin + bytes.n;
    const char *p = begin + *scanned;
    for (;;) {
        p = scan_find(SCAN_HEAD, p, end);
        if (p == end)
            break;
        if (*p != '\r')
            return refuse_head(*p == '\n' ? HTTP1_BAD_LINE_END : HTTP1_BAD_CHAR, ret_error);
        if (p + 1 == end)
            break; /* the cursor stays at the CR */
        if (p[1] != '\n')
            return refuse_head(HTTP1_BAD_LINE_END, ret_error);
        if (p == begin || p[-1] == '\n')
            return p + 2 - begin;
        p += 2;
    }
    *scanned = (size_t)(p - begin);
    return 0;
}

size_t http1_skip_empty(struct span bytes)
{
    size_t n = 0;
    while (n < 4 && bytes.n - n >= 2 && bytes.p[n] == '\r' && bytes.p[n + 1] == '\n')
        n += 2;
    return n;
}

/* Takes the next line off *head, without its CRLF. */
static enum http1_error take_line(struct span *head, struct span *ret_line)
{
    const char *end = head->p + head->n;
    const char *p = scan_find(SCAN_HEAD, head->p, end);
    if (p < end && *p == '\0')
        return HTTP1_BAD_CHAR;
    if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
        return HTTP1_BAD_LINE_END;
    *ret_line = span_take(head, (size_t)(p - head->p));
    span_take(head, 2);
    return HTTP1_OK;
}

/* Takes the token at the front of s and the sep behind it; false: it does not begin so. */
static bool take_token(struct span *s, char sep, struct span *ret)
{
    size_t n = 0;
    while (n < s->n && scan_is_token_char((unsigned char)s->p[n]))
        n++;
    if (n == 0 || n == s->n || s->p[n] != sep)
        return false;
    *ret = span_take(s, n);
    span_take(s, 1);
    return true;
}

/* Field values and reason phrases: visible characters, space, tab and anything beyond ASCII. */
static bool is_text(struct span s)
{
    return scan_find(SCAN_NO_TEXT, s.p, s.p + s.n) == s.p + s.n;
}

static bool is_visible_ascii(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= 0x20 || c >= 0x7f)
            return false;
    }
    return true;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* A port after the colon: 1 to 5 digits up to 65535. */
static bool is_port(struct span s)
{
    uint64_t port;
    return s.n <= 5 && num_parse_u64(s, &port) == 0 && port <= 65535;
}

/* uri-host [":" port] (RFC 3986), but no comma, which only a joined pair of Hosts contains. */
static bool is_host(struct span s)
{
    size_t i = 0;
    if (s.n > 0 && s.p[0] == '[') { /* an IPv6 literal */
        i = 1;
        while (i < s.n && (is_hex(s.p[i]) || s.p[i] == ':' || s.p[i] == '.'))
            i++;
        if (i == 1 || i == s.n || s.p[i] != ']')
            return false;
        i++;
    } else {
        while (i < s.n &&
               (is_alnum(s.p[i]) || (s.p[i] != '\0' && strchr("-._~%!$&'()*+;=", s.p[i]))))
            i++;
        if (i == 0)
            return false;
    }
    return i == s.n || (s.p[i] == ':' && is_port(span_from(s, i + 1)));
}

/* "HTTP/1.0" or "HTTP/1.1"; otherwise why not, `malformed` when it is no version at all. */
static enum http1_error parse_version(struct span s, enum http1_error malformed, int *ret_minor)
{
    if (!span_starts_with(s, SPAN("HTTP/")))
        return malformed;
    if (span_eq(s, SPAN("HTTP/1.1")))
        *ret_minor = 1;
    else if (span_eq(s, SPAN("HTTP/1.0")))
        *ret_minor = 0;
    else
        return HTTP1_BAD_VERSION;
    return HTTP1_OK;
}

/* Like span_split, but false when sep is not there. */
static bool take_until(struct span *s, char sep, struct span *ret)
{
    size_t n = span_find_char(*s, sep);
    if (n == s->n)
        return false;
    *ret = span_take(s, n);
    span_take(s, 1);
    return true;
}

static enum http1_error parse_request_line(struct span line, struct http1_head *h)
{
    if (!take_token(&line, ' ', &h->method) || !take_until(&line, ' ', &h->target) ||
        h->target.n == 0)
        return HTTP1_BAD_REQUEST_LINE;
    if (!is_visible_ascii(h->target))
        return HTTP1_BAD_CHAR;
    return parse_version(line, HTTP1_BAD_REQUEST_LINE, &h->minor);
}

static enum http1_error parse_status_line(struct span line, struct http1_head *h)
{
    struct span version;
    if (!take_until(&line, ' ', &version))
        return HTTP1_BAD_STATUS_LINE;
    enum http1_error e = parse_version(version, HTTP1_BAD_STATUS_LINE, &h->minor);
    if (e != HTTP1_OK)
        return e;
    uint64_t status;
    if (line.n < 3 || num_parse_u64((struct span){line.p, 3}, &status) != 0 || status < 100)
        return HTTP1_BAD_STATUS_LINE;
    h->status = (int)status;
    span_take(&line, 3);
    if (line.n > 0 && *span_take(&line, 1).p != ' ') /* "HTTP/1.1 200" without the space is seen */
        return HTTP1_BAD_STATUS_LINE;
    h->reason = line;
    return is_text(line) ? HTTP1_OK : HTTP1_BAD_CHAR;
}

/* What the fields seen so far say about framing and the connection. */
struct seen {
    unsigned n_length;
    unsigned n_coding;
    unsigned n_host;
    bool is_chunked;
    bool has_close;
    bool has_keep_alive;
    bool has_connection_upgrade;
    bool has_upgrade;
    bool is_bad_host;
    bool is_bad_expect;
    bool has_expect;
};

static enum http1_error note_length(struct http1_head *h, struct seen *seen, struct span value)
{
    if (seen->n_length++ > 0 || num_parse_u64(value, &h->content_length) != 0 ||
        h->content_length > INT64_MAX)
        return HTTP1_BAD_LENGTH;
    h->has_length = true;
    return HTTP1_OK;
}

static void note_connection(struct seen *seen, struct span value)
{
    seen->has_close |= http1_list_has(value, SPAN("close"));
    seen->has_keep_alive |= http1_list_has(value, SPAN("keep-alive"));
    seen->has_connection_upgrade |= http1_list_has(value, SPAN("upgrade"));
}

/* Remembers what the field means for framing; most names are told apart by their length. */
static enum http1_error note_field(struct http1_head *h, struct seen *seen,
                                   const struct http1_field *f)
{
    switch (f->name.n) {
    case 4:
        if (span_eq_nocase(f->name, SPAN("host"))) {
            seen->n_host++;
            seen->is_bad_host |= !is_host(f->value);
        }
        break;
    case 6:
        if (span_eq_nocase(f->name, SPAN("expect"))) {
            seen->has_expect = true;
            seen->is_bad_expect |= !span_eq_nocase(f->value, SPAN("100-continue"));
        }
        break;
    case 7:
        seen->has_upgrade |= span_eq_nocase(f->name, SPAN("upgrade"));
        break;
    case 10:
        if (span_eq_nocase(f->name, SPAN("connection")))
            note_connection(seen, f->value);
        break;
    case 14:
        if (span_eq_nocase(f->name, SPAN("content-length")))
            return note_length(h, seen, f->value);
        break;
    case 17:
        if (span_eq_nocase(f->name, SPAN("transfer-encoding"))) {
            seen->n_coding++;
            seen->is_chunked = span_eq_nocase(f->value, SPAN("chunked"));
        }
        break;
    default:
        break;
    }
    return HTTP1_OK;
}

static enum http1_error parse_field(struct span line, struct http1_field *ret)
{
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return HTTP1_OBS_FOLD;
    if (!take_token(&line, ':', &ret->name))
        return HTTP1_BAD_FIELD_NAME;
    ret->value = span_trim(line);
    return is_text(ret->value) ? HTTP1_OK : HTTP1_BAD_FIELD_VALUE;
}

/* All lines behind the first, to the empty one, which must be the last bytes of the head. */
static enum http1_error parse_fields(struct span head, struct http1_head *h, struct seen *seen)
{
    h->n_fields = 0;
    for (;;) {
        struct span line;
        enum http1_error e = take_line(&head, &line);
        if (e != HTTP1_OK)
            return e;
        if (line.n == 0)
            return head.n == 0 ? HTTP1_OK : HTTP1_BAD_LINE_END;
        if (h->n_fields == LIMIT_HEAD_FIELDS)
            return HTTP1_TOO_MANY_FIELDS;
        struct http1_field *f = &h->fields[h->n_fields++];
        e = parse_field(line, f);
        if (e == HTTP1_OK)
            e = note_field(h, seen, f);
        if (e != HTTP1_OK)
            return e;
    }
}

/* Rules over several fields that requests and responses share; sets framing as the fields say. */
static enum http1_error decide_framing(struct http1_head *h, const struct seen *seen)
{
    if (seen->n_coding > 0 && seen->n_length > 0)
        return HTTP1_LENGTH_AND_CODING;
    if (seen->n_coding > 0 && (seen->n_coding > 1 || !seen->is_chunked || h->minor == 0))
        return HTTP1_BAD_CODING;
    h->framing = HTTP1_BODY_NONE;
    if (seen->n_coding > 0)
        h->framing = HTTP1_BODY_CHUNKED;
    else if (seen->n_length > 0)
        h->framing = HTTP1_BODY_LENGTH;
    h->keep_alive = !seen->has_close && (h->minor == 1 || seen->has_keep_alive);
    h->has_upgrade = seen->has_connection_upgrade && seen->has_upgrade;
    return HTTP1_OK;
}

/* Everything but fields[]: those are set as they are read, and 4 KiB need no clearing. */
static void clear_head(struct http1_head *h)
{
    h->method = h->target = h->reason = (struct span){"", 0};
    h->status = 0;
    h->minor = 0;
    h->framing = HTTP1_BODY_NONE;
    h->content_length = 0;
    h->has_length = h->keep_alive = h->expects_continue = h->has_upgrade = false;
    h->n_fields = 0;
}

/* First line and fields. */
static enum http1_error parse_head(struct span head, struct http1_head *h, struct seen *seen,
                                   enum http1_error (*parse_first)(struct span,
                                                                   struct http1_head *))
{
    struct span line = {"", 0};
    clear_head(h);
    enum http1_error e = head.n > 0 ? take_line(&head, &line) : HTTP1_BAD_LINE_END;
    if (e == HTTP1_OK)
        e = parse_first(line, h);
    if (e == HTTP1_OK)
        e = parse_fields(head, h, seen);
    if (e == HTTP1_OK)
        e = decide_framing(h, seen);
    return e;
}

enum http1_error http1_parse_request(struct span head, struct http1_head *ret)
{
    struct seen seen = {.n_length = 0};
    enum http1_error e = parse_head(head, ret, &seen, parse_request_line);
    if (e != HTTP1_OK)
        return e;
    if (seen.n_host > 1 || seen.is_bad_host || (seen.n_host == 0 && ret->minor == 1))
        return HTTP1_BAD_HOST;
    if (seen.is_bad_expect)
        return HTTP1_BAD_EXPECT;
    ret->expects_continue = seen.has_expect && ret->minor == 1; /* RFC 9110, 10.1.1 */
    return HTTP1_OK;
}

enum http1_error http1_parse_response(struct span head, bool method_was_head,
                                      struct http1_head *ret)
{
    struct seen seen = {.n_length = 0};
    enum http1_error e = parse_head(head, ret, &seen, parse_status_line);
    if (e != HTTP1_OK)
        return e;
    if (method_was_head || ret->status < 200 || ret->status == 204 || ret->status == 304) {
        ret->framing = HTTP1_BODY_NONE;
    } else if (ret->framing == HTTP1_BODY_NONE) {
        ret->framing = HTTP1_BODY_UNTIL_CLOSE;
        ret->keep_alive = false;
    }
    return HTTP1_OK;
}

const struct http1_field *http1_field_find(const struct http1_head *h, struct span name)
{
    for (size_t i = 0; i < h->n_fields; i++) {
        if (span_eq_nocase(h->fields[i].name, name))
            return &h->fields[i];
    }
    return NULL;
}

struct span http1_field_value(const struct http1_head *h, struct span name)
{
    const struct http1_field *f = http1_field_find(h, name);
    return f ? f->value : (struct span){NULL, 0};
}

bool http1_list_has(struct span value, struct span token)
{
    while (value.n > 0) {
        if (span_eq_nocase(span_trim(span_split(&value, ',')), token))
            return true;
    }
    return false;
}

bool http1_is_nominated(const struct http1_head *h, struct span name)
{
    for (size_t i = 0; i < h->n_fields; i++) {
        const struct http1_field *f = &h->fields[i];
        if (f->name.n == 10 && span_eq_nocase(f->name, SPAN("connection")) &&
            http1_list_has(f->value, name))
            return true;
    }
    return false;
}

bool http1_is_hop_by_hop(struct span name)
{
    static const struct span names[] = {
        SPAN_INIT("connection"),
        SPAN_INIT("keep-alive"),
        SPAN_INIT("proxy-connection"),
        SPAN_INIT("te"),
        SPAN_INIT("trailer"),
        SPAN_INIT("transfer-encoding"),
        SPAN_INIT("upgrade"),
        SPAN_INIT("proxy-authenticate"),
        SPAN_INIT("proxy-authorization"),
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (span_eq_nocase(name, names[i]))
            return true;
    }
    return false;
}

const char *http1_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } table[] = {
        {100, "Continue"},
        {101, "Switching Protocols"},
        {102, "Processing"},
        {103, "Early Hints"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {203, "Non-Authoritative Information"},
        {204, "No Content"},
        {205, "Reset Content"},
        {206, "Partial Content"},
        {300, "Multiple Choices"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {305, "Use Proxy"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {407, "Proxy Authentication Required"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {424, "Failed Dependency"},
        {425, "Too Early"},
        {426, "Upgrade Required"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {451, "Unavailable For Legal Reasons"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
        {511, "Network Authentication Required"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (table[i].status == status)
            return table[i].reason;
    }
    return "";
}
