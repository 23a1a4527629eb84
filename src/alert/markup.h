/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/markup.h - the same text in the markup of each kind of receiver.
 *
 * Role:      labels and annotations come from requests and from rule files of any origin: here they
 *            lose what a chat or a mail program would take for a mention, a link, an image or a tag
 *            of its own. What merely looks bold is left to look bold where a markup has no escape.
 * Threading: pure.
 */
#ifndef ALERT_MARKUP_H
#define ALERT_MARKUP_H

#include "alert/prose.h"

struct markup {
    const char *bold, *bold_end;
    const char *line_end; /* between two lines of one paragraph */
    /* Appends a text that was cleaned (prose_clean). */
    int (*put)(const struct markup *m, struct span s, struct buf *out);
    /* A link; url was checked (markup_is_link). */
    int (*link)(const struct markup *m, struct span words, struct span url, struct buf *out);
};

extern const struct markup markup_plain;
extern const struct markup markup_dingtalk; /* CommonMark */
extern const struct markup markup_wecom;    /* a small part of it, without escapes */
extern const struct markup markup_slack;    /* mrkdwn */
extern const struct markup markup_html;

/* Cleans s (prose_clean) and puts it. */
int markup_text(const struct markup *m, struct span s, bool keeps_lines,
                struct buf *out) WARN_UNUSED;

/* Whether url may become a link: http, https, and nothing that could end it early. */
bool markup_is_link(struct span url);

#endif
