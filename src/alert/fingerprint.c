/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/fingerprint.h"

uint64_t alert_fingerprint_add(uint64_t h, struct span s)
{
    return fnv_byte(fnv_add(h, s), 0xff);
}

uint64_t alert_fingerprint(struct labels l)
{
    uint64_t h = ALERT_FINGERPRINT_NONE;
    for (size_t i = 0; i < l.n; i++)
        h = alert_fingerprint_add(alert_fingerprint_add(h, l.at[i].name), l.at[i].value);
    return h;
}

uint64_t alert_fingerprint_of(struct labels l, const struct span *names, size_t n)
{
    uint64_t h = ALERT_FINGERPRINT_NONE;
    for (size_t i = 0; i < n; i++)
        h = alert_fingerprint_add(alert_fingerprint_add(h, names[i]), labels_get(l, names[i]));
    return h;
}
