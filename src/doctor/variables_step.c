/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/variables_step.c - the variables that clients read: each by itself, and pairs that
 * contradict.
 */
#include "doctor/doctor_private.h"

enum kind { URL, KEY };
static const struct {
    const char *name;
    enum kind kind;
    enum doctor_vendor vendor; /* of a key: whose, while base is not set */
    const char *base;
} variables[] = {
    {"OPENAI_BASE_URL", URL, VENDOR_UNKNOWN, NULL},
    {"OPENAI_API_BASE", URL, VENDOR_UNKNOWN, NULL},
    {"ANTHROPIC_BASE_URL", URL, VENDOR_UNKNOWN, NULL},
    {"OLLAMA_API_BASE", URL, VENDOR_UNKNOWN, NULL},
    {"AZURE_OPENAI_ENDPOINT", URL, VENDOR_UNKNOWN, NULL},
    {"OPENAI_API_KEY", KEY, VENDOR_OPENAI, "OPENAI_BASE_URL"},
    {"ANTHROPIC_API_KEY", KEY, VENDOR_ANTHROPIC, "ANTHROPIC_BASE_URL"},
    {"ANTHROPIC_AUTH_TOKEN", KEY, VENDOR_ANTHROPIC, "ANTHROPIC_BASE_URL"},
    {"CLAUDE_CODE_OAUTH_TOKEN", KEY, VENDOR_ANTHROPIC, NULL},
    {"OPENROUTER_API_KEY", KEY, VENDOR_OPENROUTER, NULL},
    {"GROQ_API_KEY", KEY, VENDOR_GROQ, NULL},
    {"GEMINI_API_KEY", KEY, VENDOR_GOOGLE, NULL},
    {"GOOGLE_API_KEY", KEY, VENDOR_GOOGLE, NULL},
    {"XAI_API_KEY", KEY, VENDOR_XAI, NULL},
};

enum when { BOTH, DIFFERENT };
static const struct {
    const char *a, *b;
    enum when when;
    enum doctor_cause cause;
    const char *text;
} pairs[] = {
    {"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", BOTH, CAUSE_KEY_AND_TOKEN, "are both set"},
    {"OPENAI_BASE_URL", "OPENAI_API_BASE", DIFFERENT, CAUSE_URLS_DIFFER, "name different servers"},
    {"CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", BOTH, CAUSE_OAUTH_AND_KEY, "are both set"},
    {"CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", BOTH, CAUSE_OAUTH_AND_KEY, "are both set"},
    {"GOOGLE_API_KEY", "GEMINI_API_KEY", DIFFERENT, CAUSE_KEYS_DIFFER, "are different keys"},
    {"CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BASE_URL", BOTH, CAUSE_URL_UNUSED,
     "are both set: Claude Code goes to Bedrock and not to the base URL"},
    {"CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_BASE_URL", BOTH, CAUSE_URL_UNUSED,
     "are both set: Claude Code goes to Vertex and not to the base URL"},
};

static bool is_in_use(const struct doctor *d, const char *name)
{
    return (d->base.name && strcmp(d->base.name, name) == 0) ||
           (d->key.name && strcmp(d->key.name, name) == 0);
}

static struct span without_slash(struct span s)
{
    while (s.n > 0 && s.p[s.n - 1] == '/')
        s.n--;
    return s;
}

static size_t check_pairs(struct doctor *d)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct span a = doctor_variable(d, pairs[i].a), b = doctor_variable(d, pairs[i].b);
        bool is_same = span_eq(without_slash(a), without_slash(b));

        if (a.n == 0 || b.n == 0 || (pairs[i].when == DIFFERENT && is_same))
            continue;
        doctor_add(d, pairs[i].cause, is_in_use(d, pairs[i].a) || is_in_use(d, pairs[i].b),
                   "%s and %s %s", pairs[i].a, pairs[i].b, pairs[i].text);
        n++;
    }
    return n;
}

/* Those in use were checked by the steps before. */
static bool check_one(struct doctor *d, size_t i)
{
    const char *name = variables[i].name;
    struct span value = doctor_variable(d, name);
    bool is_relayed = variables[i].base && doctor_variable(d, variables[i].base).n > 0;

    if (value.n == 0 || is_in_use(d, name))
        return false;
    if (variables[i].kind == URL)
        return doctor_check_url(d, name, value, false);
    return doctor_check_key(d, name, value, is_relayed ? VENDOR_UNKNOWN : variables[i].vendor,
                            false);
}

void doctor_step_variables(struct doctor *d)
{
    size_t n_odd = check_pairs(d), n_set = 0;

    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        n_set += doctor_variable(d, variables[i].name).n > 0;
        n_odd += check_one(d, i);
    }
    if (n_odd == 0)
        doctor_ok(d, "%zu of the variables that clients read %s set, and none contradicts another",
                  n_set, n_set == 1 ? "is" : "are");
}
