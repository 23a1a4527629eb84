/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/markup.h"

#include "alert/options.h"

enum { TEXT_MAX = 1 << 20 };

/* What one byte is replaced by, given the text and where it stands; NULL: it stays. */
typedef const char *(*replace_fn)(struct span s, size_t i);

static int replace(struct span s, replace_fn with, const char *line_end, struct buf *out)
{
    size_t start = 0;
    int r = 0;
    for (size_t i = 0; i < s.n && r == 0; i++) {
        const char *instead = s.p[i] == '\n' ? line_end : with(s, i);
        if (!instead)
            continue;
        r = buf_append(out, span_of(s.p + start, i - start));
        if (r == 0)
            r = buf_append(out, span_cstr(instead));
        start = i + 1;
    }
    return r < 0 ? r : buf_append(out, span_from(s, start));
}

static char next(struct span s, size_t i)
{
    return span_at(s, i + 1);
}

static bool is_line_start(struct span s, size_t i)
{
    while (i > 0 && s.p[i - 1] == ' ')
        i--;
    return i == 0 || s.p[i - 1] == '\n';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

bool markup_is_link(struct span url)
{
    if (!options_is_http_url(url) || url.n > 2000)
        return false;
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] >= 0x7f || strchr("<>()[]|\"'`\\*", url.p[i]))
            return false;
    return true;
}

int markup_text(const struct markup *m, struct span s, bool keeps_lines, struct buf *out)
{
    struct buf clean;
    buf_init(&clean, TEXT_MAX);
    int r = prose_clean(prose_cut_bytes(s, TEXT_MAX / 4), keeps_lines, &clean);
    if (r == 0)
        r = m->put(m, buf_span(&clean), out);
    buf_done(&clean);
    return r;
}

/* --- plain --- */

static int plain_put(const struct markup *m, struct span s, struct buf *out)
{
    (void)m;
    return buf_append(out, s);
}

static int plain_link(const struct markup *m, struct span words, struct span url, struct buf *out)
{
    (void)m;
    return buf_printf(out, "%.*s: %.*s", SPAN_ARG(words), SPAN_ARG(url));
}

const struct markup markup_plain = {"", "", "\n", plain_put, plain_link};

/* --- markdown: links, images and tags are broken in a way that needs no escape, since clients do
 * not agree on those --- */

static const char *break_tags(struct span s, size_t i)
{
    char c = s.p[i], behind = next(s, i);
    if (c == '<' && (is_word(behind) || (behind != '\0' && strchr("/!?@#", behind))))
        return "\xef\xbc\x9c"; /* full width */
    if (c == '>' && is_line_start(s, i))
        return "\xef\xbc\x9e";
    if (c == ']' && behind != '\0' && strchr("([:", behind))
        return "\xef\xbc\xbd";
    return NULL;
}

static int wecom_put(const struct markup *m, struct span s, struct buf *out)
{
    return replace(s, break_tags, m->line_end, out);
}

static const char *escape_markdown(struct span s, size_t i)
{
    switch (s.p[i]) {
    case '\\':
        return "\\\\";
    case '*':
        return "\\*";
    case '`':
        return "\\`";
    case '~':
        return next(s, i) == '~' || (i > 0 && s.p[i - 1] == '~') ? "\\~" : NULL;
    case '_': /* within a word it is a letter */
        return i > 0 && is_word(s.p[i - 1]) && is_word(next(s, i)) ? NULL : "\\_";
    case '#':
        return is_line_start(s, i) ? "\\#" : NULL;
    default:
        return break_tags(s, i);
    }
}

static int dingtalk_put(const struct markup *m, struct span s, struct buf *out)
{
    return replace(s, escape_markdown, m->line_end, out);
}

static int markdown_link(const struct markup *m, struct span words, struct span url,
                         struct buf *out)
{
    (void)m;
    return buf_printf(out, "[%.*s](%.*s)", SPAN_ARG(words), SPAN_ARG(url));
}

const struct markup markup_dingtalk = {"**", "**", "  \n", dingtalk_put, markdown_link};
const struct markup markup_wecom = {"**", "**", "\n", wecom_put, markdown_link};

/* --- Slack --- */

static const char *escape_slack(struct span s, size_t i)
{
    switch (s.p[i]) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    default:
        return NULL;
    }
}

static int slack_put(const struct markup *m, struct span s, struct buf *out)
{
    return replace(s, escape_slack, m->line_end, out);
}

static int slack_link(const struct markup *m, struct span words, struct span url, struct buf *out)
{
    int r = buf_append(out, SPAN("<"));
    if (r == 0)
        r = m->put(m, url, out);
    return r < 0 ? r : buf_printf(out, "|%.*s>", SPAN_ARG(words));
}

const struct markup markup_slack = {"*", "*", "\n", slack_put, slack_link};

/* --- HTML --- */

static const char *escape_html(struct span s, size_t i)
{
    switch (s.p[i]) {
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return escape_slack(s, i);
    }
}

static int html_put(const struct markup *m, struct span s, struct buf *out)
{
    return replace(s, escape_html, m->line_end, out);
}

static int html_link(const struct markup *m, struct span words, struct span url, struct buf *out)
{
    int r = buf_append(out, SPAN("<a href=\""));
    if (r == 0)
        r = m->put(m, url, out);
    return r < 0 ? r : buf_printf(out, "\">%.*s</a>", SPAN_ARG(words));
}

const struct markup markup_html = {"<b>", "</b>", "<br>\n", html_put, html_link};
