/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/check_steps.c - one URL or one key, wherever it stands: the steps "base URL" and "API
 * key", and what those for variables and files call for each of theirs.
 */
#include "doctor/doctor_private.h"

/* --- URLs --- */

static const char *const url_words[CAUSE_COUNT_] = {
    [CAUSE_URL_SCHEME] = "does not begin with http:// or https://",
    [CAUSE_URL_BAD] = "has no usable host or port",
    [CAUSE_URL_STRAY] = "has a space, an invisible character or a line end in it",
    [CAUSE_URL_QUOTES] = "has quotation marks in its value",
    [CAUSE_URL_DOUBLED_V1] = "has the version twice at its end",
    [CAUSE_URL_ENDPOINT] = "ends in an endpoint, not before it",
    [CAUSE_URL_QUERY] = "has a query or fragment",
    [CAUSE_URL_LISTEN] = "names an address to listen on as the host",
    [CAUSE_URL_SLASH] = "ends in a slash",
};

bool doctor_check_url(struct doctor *d, const char *where, struct span value, bool is_in_use)
{
    struct doctor_url u;
    enum doctor_cause cause = doctor_url_parse(value, &u);

    if (cause == CAUSE_NO_CAUSE)
        cause = doctor_url_oddity(&u);
    else if (doctor_vendor_of_key(value) != VENDOR_UNKNOWN || span_starts_with(value, SPAN("sk-")))
        cause = CAUSE_URL_IS_KEY;
    if (cause == CAUSE_NO_CAUSE)
        return false;
    if (cause == CAUSE_URL_IS_KEY)
        doctor_add(d, cause, is_in_use, "%s is no URL but %.*s", where,
                   SPAN_ARG(doctor_masked(d, value)));
    else
        doctor_add(d, cause, is_in_use, "%s %s", where, url_words[cause]);
    return true;
}

void doctor_step_url(struct doctor *d)
{
    const struct doctor_url *u = &d->url;

    if (!d->base.name) {
        doctor_add(d, CAUSE_URL_NONE, true,
                   "none was given, and neither OPENAI_BASE_URL nor ANTHROPIC_BASE_URL is set");
        return;
    }
    /* On the command line a slash at the end does no harm. */
    if (d->base.is_argument && d->has_url && doctor_url_oddity(u) == CAUSE_URL_SLASH) {
        doctor_ok(d, "%.*s, port %d", SPAN_ARG(u->host), u->port);
        return;
    }
    if (!doctor_check_url(d, d->base.name, d->base.value, true))
        doctor_ok(d, "%s: %s to %.*s, port %d, path \"%.*s\"", d->base.name,
                  u->is_tls ? "https" : "http", SPAN_ARG(u->host), u->port, SPAN_ARG(u->path));
}

/* --- keys --- */

static const char *const key_words[CAUSE_COUNT_] = {
    [CAUSE_KEY_NEWLINE] = "has a line end or control character in it",
    [CAUSE_KEY_STRAY] = "has spaces or characters in it that no key has",
    [CAUSE_KEY_QUOTES] = "has quotation marks in its value",
    [CAUSE_KEY_BEARER] = "begins with \"Bearer\"",
    [CAUSE_KEY_UNEXPANDED] = "holds the name of a variable instead of a key",
    [CAUSE_KEY_PLACEHOLDER] = "looks like a placeholder",
    [CAUSE_KEY_IS_LOGIN] = "holds the token of a login, not an API key",
    [CAUSE_KEY_IS_URL] = "holds a URL instead of a key",
};

/* Another vendor's key is wrong for sure where the server is a known vendor's; else it may be one
 * that a relay takes. */
static bool check_vendor(struct doctor *d, const char *where, struct span value,
                         enum doctor_vendor wanted, bool is_in_use)
{
    enum doctor_vendor vendor = doctor_vendor_of_key(value);
    struct span shown;

    if (vendor == VENDOR_UNKNOWN || vendor == wanted)
        return false;
    shown = doctor_masked(d, value);
    if (wanted != VENDOR_UNKNOWN)
        doctor_add(d, CAUSE_KEY_VENDOR, is_in_use, "%s (%.*s) is a key of %s, not of %s", where,
                   SPAN_ARG(shown), doctor_vendor_name(vendor), doctor_vendor_name(wanted));
    else if (is_in_use)
        doctor_suspect(d, CAUSE_KEY_VENDOR,
                       "%s (%.*s) is a key of %s, and the server is not theirs", where,
                       SPAN_ARG(shown), doctor_vendor_name(vendor));
    return wanted != VENDOR_UNKNOWN;
}

bool doctor_check_key(struct doctor *d, const char *where, struct span value,
                      enum doctor_vendor wanted, bool is_in_use)
{
    enum doctor_cause cause = doctor_key_oddity(value);

    if (cause == CAUSE_NO_CAUSE && strcmp(where, "ANTHROPIC_API_KEY") == 0 &&
        span_starts_with(value, SPAN("sk-ant-oat")))
        cause = CAUSE_KEY_IS_LOGIN;
    if (cause == CAUSE_NO_CAUSE)
        return check_vendor(d, where, value, wanted, is_in_use);
    if (cause != CAUSE_KEY_PLACEHOLDER)
        doctor_add(d, cause, is_in_use, "%s (%.*s) %s", where, SPAN_ARG(doctor_masked(d, value)),
                   key_words[cause]);
    else if (is_in_use)
        doctor_suspect(d, cause, "%s (%zu characters) %s", where, value.n, key_words[cause]);
    return cause != CAUSE_KEY_PLACEHOLDER;
}

/* Whose key is wanted: the server's; without a URL clients go to the vendor of the API. */
static enum doctor_vendor wanted_vendor(const struct doctor *d)
{
    if (d->has_url)
        return doctor_vendor_of_host(d->url.host);
    if (d->base.name || d->ask->key_env.n > 0)
        return VENDOR_UNKNOWN;
    return d->api->key_field ? VENDOR_ANTHROPIC : VENDOR_OPENAI;
}

void doctor_step_key(struct doctor *d)
{
    enum doctor_vendor host = wanted_vendor(d);

    if (d->key.name && d->key.value.n == 0) {
        doctor_add(d, CAUSE_KEY_UNSET, true, "%s is %s", d->key.name,
                   d->ask->get(d->key.name) ? "empty" : "not set");
        return;
    }
    if (!d->key.name) {
        doctor_suspect(d, CAUSE_KEY_NONE, "there is no key: %s is not set",
                       d->api->key_field ? "neither ANTHROPIC_AUTH_TOKEN nor ANTHROPIC_API_KEY"
                                         : "OPENAI_API_KEY");
        doctor_ok(d, "none is set; requests go without one");
        return;
    }
    if (d->key_is_withheld) {
        doctor_suspect(d, CAUSE_KEY_NONE,
                       "%s (%.*s) is a key of %s and was not sent to this server", d->key.name,
                       SPAN_ARG(doctor_masked(d, d->key.value)),
                       doctor_vendor_name(doctor_vendor_of_key(d->key.value)));
        doctor_ok(d, "%s is another vendor's and is not sent here; --key-env %s sends it",
                  d->key.name, d->key.name);
        return;
    }
    if (!doctor_check_key(d, d->key.name, d->key.value, host, true))
        doctor_ok(d, "%s: %.*s", d->key.name, SPAN_ARG(doctor_masked(d, d->key.value)));
}
