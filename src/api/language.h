/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/language.h - private to api/: the languages of pages for people, and their words.
 *
 * Role:      pages are filled from JSON; here is what its members and some of its values are
 *            called. What has no word is shown as it is.
 * Threading: constant data.
 */
#ifndef API_LANGUAGE_H
#define API_LANGUAGE_H

#include "base/jsonw.h"
#include "base/span.h"

enum language { LANGUAGE_EN, LANGUAGE_ZH, LANGUAGE_COUNT_ };

/* What an Accept-Language asks for; English when it asks for neither. */
enum language language_choose(struct span accept_language);

/* "en", "zh-CN": for the lang attribute. */
const char *language_tag(enum language l);

/* The word for a member ("in_flight"), or for one of its values ("state=serving"); else key. */
struct span language_word(enum language l, struct span key);

/* All words as the members of one object. */
void language_words(enum language l, struct jsonw *w);

#endif
