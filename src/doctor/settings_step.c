/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/settings_step.c - what settings files say, beside the environment.
 */
#include <errno.h>

#include "doctor/doctor_private.h"
#include "doctor/facts.h"

enum { KEY_TAIL = 20 }; /* so much of a key Claude Code remembers */

struct look {
    struct doctor *d;
    const struct facts *facts;
    size_t n_odd;
};

static const struct fact *find(const struct look *l, enum fact_tool tool, enum fact_meaning meaning,
                               const char *name)
{
    for (size_t i = 0; i < l->facts->n; i++) {
        const struct fact *f = &l->facts->at[i];

        if (f->tool == tool && f->meaning == meaning &&
            (!name || span_eq(f->name, span_cstr(name))))
            return f;
    }
    return NULL;
}

/* --- one setting --- */

/* Variables that are about a server or its key. */
static bool is_about_servers(struct span name)
{
    return span_starts_with(name, SPAN("OPENAI_")) || span_starts_with(name, SPAN("ANTHROPIC_")) ||
           span_ends_with(name, SPAN("_API_KEY")) || span_ends_with(name, SPAN("_BASE_URL"));
}

static bool is_url_name(struct span name)
{
    return span_ends_with(name, SPAN("_BASE_URL")) || span_ends_with(name, SPAN("_API_BASE"));
}

static bool is_key_name(struct span name)
{
    return span_ends_with(name, SPAN("_API_KEY")) || span_ends_with(name, SPAN("_AUTH_TOKEN"));
}

/* The file says one thing, the shell another. */
static void compare(struct look *l, const struct fact *f, struct span name, struct span value)
{
    struct doctor *d = l->d;
    struct span text = arena_dup(d->arena, name), there;

    if (!text.p) {
        d->is_out_of_memory = true;
        return;
    }
    there = doctor_variable(d, text.p);
    if (there.n == 0 || span_eq(there, value))
        return;
    l->n_odd++;
    doctor_add(d, f->is_forced ? CAUSE_SETTINGS_OVERRIDE : CAUSE_SETTINGS_DIFFER, false,
               "%.*s is set to something else in %.*s than in the environment; %s %s",
               SPAN_ARG(name), SPAN_ARG(f->file), f->tool_name,
               f->is_forced ? "takes that of the file" : "may take either");
}

static void check_value(struct look *l, const struct fact *f, struct span name, struct span value,
                        bool is_url)
{
    struct span where = doctor_text(l->d, "%.*s%s%.*s", SPAN_ARG(name), name.n > 0 ? " in " : "",
                                    SPAN_ARG(f->file));

    if (is_url)
        l->n_odd += doctor_check_url(l->d, where.p, value, false);
    else
        l->n_odd += doctor_check_key(l->d, where.p, value, VENDOR_UNKNOWN, false);
}

static void check_variable(struct look *l, const struct fact *f, struct span name,
                           struct span value)
{
    if (!is_about_servers(name) || value.n == 0)
        return;
    compare(l, f, name, value);
    if (is_url_name(name) || is_key_name(name))
        check_value(l, f, name, value, is_url_name(name));
}

/* The variable of that name has to be there. */
static void check_named(struct look *l, const struct fact *f, struct span name)
{
    struct span text = arena_dup(l->d->arena, name);

    l->d->is_out_of_memory |= !text.p;
    if (!text.p || doctor_variable(l->d, text.p).n > 0)
        return;
    l->n_odd++;
    doctor_add(l->d, CAUSE_SETTINGS_ENV_UNSET, false,
               "%.*s takes the key of \"%.*s\" from %.*s, which is not set", SPAN_ARG(f->file),
               SPAN_ARG(f->name), SPAN_ARG(name));
}

static bool is_in_use(const struct look *l, const struct fact *f)
{
    const struct fact *provider = find(l, f->tool, FACT_PROVIDER, NULL);

    return f->tool != TOOL_CODEX || (provider && span_eq(provider->value, f->name));
}

static void check_key_fact(struct look *l, const struct fact *f)
{
    static const struct span env = SPAN_INIT("{env:");

    if (span_starts_with(f->value, env)) {
        struct span name = span_from(f->value, env.n);
        check_named(l, f, span_of(name.p, span_find_char(name, '}')));
        return;
    }
    if (span_find(f->value, SPAN("{file:")) < f->value.n)
        return;
    check_value(l, f, f->name, f->value, false);
    if (is_key_name(f->name))
        compare(l, f, f->name, f->value);
}

static void check_fact(struct look *l, const struct fact *f)
{
    struct span rest = f->value;

    switch (f->meaning) {
    case FACT_VARIABLE:
        check_variable(l, f, f->name, f->value);
        break;
    case FACT_ASSIGNED: {
        struct span name = span_split(&rest, '=');
        check_variable(l, f, span_trim(name), span_trim(rest));
        break;
    }
    case FACT_URL:
        check_value(l, f, f->name, f->value, true);
        if (is_url_name(f->name))
            compare(l, f, f->name, f->value);
        break;
    case FACT_KEY:
        check_key_fact(l, f);
        break;
    case FACT_KEY_NAME:
        if (is_in_use(l, f))
            check_named(l, f, f->value);
        break;
    default: /* those that are looked at together */
        break;
    }
}

/* --- Claude Code: what of file, variable and login counts --- */

/* A variable as Claude Code has it: files go before the environment. */
static struct span claude_has(const struct look *l, const char *name, struct span *ret_where)
{
    const struct fact *f = find(l, TOOL_CLAUDE, FACT_VARIABLE, name);

    *ret_where = f ? f->file : SPAN("the environment");
    return f ? f->value : doctor_variable(l->d, name);
}

static bool is_listed(const struct look *l, enum fact_meaning meaning, struct span key)
{
    struct span tail = span_from(key, key.n > KEY_TAIL ? key.n - KEY_TAIL : 0);

    for (size_t i = 0; i < l->facts->n; i++)
        if (l->facts->at[i].meaning == meaning && span_eq(l->facts->at[i].value, tail))
            return true;
    return false;
}

static void check_claude_login(struct look *l, struct span key, struct span token)
{
    const struct fact *login = find(l, TOOL_CLAUDE, FACT_LOGIN, NULL);
    struct span where, base = claude_has(l, "ANTHROPIC_BASE_URL", &where);
    struct doctor_url u;

    if (key.n > 0 && is_listed(l, FACT_REJECTED, key)) {
        l->n_odd++;
        doctor_add(l->d, CAUSE_KEY_REJECTED, false,
                   "ANTHROPIC_API_KEY is set, and Claude Code was once told not to use that key%s",
                   login ? ": it uses the login instead" : "");
    } else if (login && key.n > 0 && token.n == 0 && !is_listed(l, FACT_APPROVED, key)) {
        l->n_odd++;
        doctor_add(l->d, CAUSE_LOGIN_OVERRIDES, false,
                   "Claude Code is logged in (%.*s), and ANTHROPIC_API_KEY is set, too",
                   SPAN_ARG(login->file));
    } else if (login && key.n == 0 && token.n == 0 && base.n > 0 &&
               doctor_url_parse(base, &u) == CAUSE_NO_CAUSE &&
               doctor_vendor_of_host(u.host) != VENDOR_ANTHROPIC) {
        l->n_odd++;
        doctor_add(
            l->d, CAUSE_LOGIN_TO_OTHER, false,
            "ANTHROPIC_BASE_URL (%.*s) is another server, there is no key for it, and Claude "
            "Code is logged in (%.*s)",
            SPAN_ARG(where), SPAN_ARG(login->file));
    }
}

static void check_claude(struct look *l)
{
    struct span of_key, of_token;
    struct span key = claude_has(l, "ANTHROPIC_API_KEY", &of_key);
    struct span token = claude_has(l, "ANTHROPIC_AUTH_TOKEN", &of_token);
    const struct fact *helper = find(l, TOOL_CLAUDE, FACT_HELPER, NULL);

    if (key.n > 0 && token.n > 0 && !span_eq(of_key, of_token)) {
        l->n_odd++;
        doctor_add(l->d, CAUSE_KEY_AND_TOKEN, false,
                   "ANTHROPIC_API_KEY (%.*s) and ANTHROPIC_AUTH_TOKEN (%.*s) are both set",
                   SPAN_ARG(of_key), SPAN_ARG(of_token));
    }
    if (helper && (key.n > 0 || token.n > 0)) {
        l->n_odd++;
        doctor_add(l->d, CAUSE_HELPER_AND_KEY, false,
                   "apiKeyHelper is set in %.*s, and so is %s: the variable is used",
                   SPAN_ARG(helper->file),
                   token.n > 0 ? "ANTHROPIC_AUTH_TOKEN" : "ANTHROPIC_API_KEY");
    }
    check_claude_login(l, key, token);
}

/* --- Codex --- */

static void check_codex(struct look *l)
{
    const struct fact *login = find(l, TOOL_CODEX, FACT_LOGIN, NULL);
    const struct fact *first = find(l, TOOL_CODEX, FACT_KEY_FIRST, NULL);
    const struct fact *provider = find(l, TOOL_CODEX, FACT_PROVIDER, NULL);

    if (!login || doctor_variable(l->d, "OPENAI_API_KEY").n == 0)
        return;
    if ((first && (span_eq(first->value, SPAN("apikey")) || span_eq(first->value, SPAN("api")))) ||
        (provider && !span_eq(provider->value, SPAN("openai"))))
        return;
    l->n_odd++;
    doctor_add(l->d, CAUSE_LOGIN_OVERRIDES, false,
               "Codex is logged in (%.*s) and uses that, not OPENAI_API_KEY",
               SPAN_ARG(login->file));
}

void doctor_step_settings(struct doctor *d)
{
    struct facts facts;
    struct look l = {.d = d, .facts = &facts};

    if (facts_collect(d->ask->home, d->ask->directory, d->ask->get, d->arena, &facts) < 0) {
        d->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < facts.n_broken; i++) {
        const struct fact_file *f = &facts.broken[i];

        l.n_odd++;
        if (f->error == -EINVAL)
            doctor_add(d, CAUSE_SETTINGS_BROKEN, false, "%.*s: line %d cannot be read",
                       SPAN_ARG(f->file), f->line);
        else
            doctor_add(d, CAUSE_SETTINGS_BROKEN, false, "%.*s: %s", SPAN_ARG(f->file),
                       err_str(f->error));
    }
    for (size_t i = 0; i < facts.n; i++)
        check_fact(&l, &facts.at[i]);
    check_claude(&l);
    check_codex(&l);
    if (l.n_odd == 0)
        doctor_ok(d, "%zu file%s looked at, and nothing speaks against the environment",
                  facts.n_files, facts.n_files == 1 ? " was" : "s were");
}
