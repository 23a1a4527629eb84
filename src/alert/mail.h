/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/mail.h - a mail as it goes over the wire (RFC 5322, MIME): header fields that nothing can
 * break out of, text and HTML side by side, both base64.
 *
 * Threading: pure.
 */
#ifndef ALERT_MAIL_H
#define ALERT_MAIL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/* "Name <a@b>" or "a@b". */
struct mail_address {
    struct span name, address;
};

struct mail {
    struct mail_address from;
    const struct mail_address *to;
    size_t n_to;
    struct span subject; /* UTF-8 */
    struct span text, html;
    int64_t now_ms;
    struct span thread; /* what mails of one thread have in common; any bytes */
};

/* False: nothing that could be an address. Both parts are of text. */
bool mail_address_parse(struct span text, struct mail_address *ret) WARN_UNUSED;

int mail_write(const struct mail *m, struct buf *out) WARN_UNUSED;

#endif
