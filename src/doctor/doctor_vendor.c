/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doctor_vendor.h"

#include "base/attr.h"
#include "doctor/doctor_url.h"

struct mark {
    struct span text;
    enum doctor_vendor vendor;
};

const char *doctor_vendor_name(enum doctor_vendor v)
{
    static const char *const names[VENDOR_COUNT_] = {
        "unknown",   "OpenAI",       "Anthropic", "OpenRouter", "Groq",      "Google",
        "xAI",       "Hugging Face", "NVIDIA",    "Perplexity", "Replicate", "Cerebras",
        "Fireworks", "GitHub",       "AWS",       "DeepSeek",   "Mistral",   "Together",
    };

    return names[v];
}

/* The longer beginning before the shorter one. */
static const struct mark of_keys[] = {
    {SPAN_INIT("sk-ant-"), VENDOR_ANTHROPIC},  {SPAN_INIT("sk-or-"), VENDOR_OPENROUTER},
    {SPAN_INIT("sk-proj-"), VENDOR_OPENAI},    {SPAN_INIT("sk-svcacct-"), VENDOR_OPENAI},
    {SPAN_INIT("sk-admin-"), VENDOR_OPENAI},   {SPAN_INIT("gsk_"), VENDOR_GROQ},
    {SPAN_INIT("AIza"), VENDOR_GOOGLE},        {SPAN_INIT("xai-"), VENDOR_XAI},
    {SPAN_INIT("hf_"), VENDOR_HUGGING_FACE},   {SPAN_INIT("nvapi-"), VENDOR_NVIDIA},
    {SPAN_INIT("pplx-"), VENDOR_PERPLEXITY},   {SPAN_INIT("r8_"), VENDOR_REPLICATE},
    {SPAN_INIT("csk-"), VENDOR_CEREBRAS},      {SPAN_INIT("fw_"), VENDOR_FIREWORKS},
    {SPAN_INIT("ghp_"), VENDOR_GITHUB},        {SPAN_INIT("gho_"), VENDOR_GITHUB},
    {SPAN_INIT("github_pat_"), VENDOR_GITHUB}, {SPAN_INIT("AKIA"), VENDOR_AWS},
};

/* The domain, and what is below it. */
static const struct mark of_hosts[] = {
    {SPAN_INIT("openai.com"), VENDOR_OPENAI},
    {SPAN_INIT("anthropic.com"), VENDOR_ANTHROPIC},
    {SPAN_INIT("openrouter.ai"), VENDOR_OPENROUTER},
    {SPAN_INIT("groq.com"), VENDOR_GROQ},
    {SPAN_INIT("googleapis.com"), VENDOR_GOOGLE},
    {SPAN_INIT("x.ai"), VENDOR_XAI},
    {SPAN_INIT("huggingface.co"), VENDOR_HUGGING_FACE},
    {SPAN_INIT("nvidia.com"), VENDOR_NVIDIA},
    {SPAN_INIT("perplexity.ai"), VENDOR_PERPLEXITY},
    {SPAN_INIT("replicate.com"), VENDOR_REPLICATE},
    {SPAN_INIT("cerebras.ai"), VENDOR_CEREBRAS},
    {SPAN_INIT("fireworks.ai"), VENDOR_FIREWORKS},
    {SPAN_INIT("github.ai"), VENDOR_GITHUB},
    {SPAN_INIT("amazonaws.com"), VENDOR_AWS},
    {SPAN_INIT("deepseek.com"), VENDOR_DEEPSEEK},
    {SPAN_INIT("mistral.ai"), VENDOR_MISTRAL},
    {SPAN_INIT("together.xyz"), VENDOR_TOGETHER},
    {SPAN_INIT("together.ai"), VENDOR_TOGETHER},
};

enum doctor_vendor doctor_vendor_of_key(struct span key)
{
    for (size_t i = 0; i < ARRAY_LEN(of_keys); i++)
        if (span_starts_with(key, of_keys[i].text))
            return of_keys[i].vendor;
    return VENDOR_UNKNOWN;
}

enum doctor_vendor doctor_vendor_of_host(struct span host)
{
    for (size_t i = 0; i < ARRAY_LEN(of_hosts); i++) {
        struct span domain = of_hosts[i].text;

        if (host.n < domain.n || !span_eq_nocase(span_from(host, host.n - domain.n), domain))
            continue;
        if (host.n == domain.n || host.p[host.n - domain.n - 1] == '.')
            return of_hosts[i].vendor;
    }
    return VENDOR_UNKNOWN;
}

/* --- as it stands --- */

static bool has_control(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return true;
    return false;
}

/* Blanks, and what is not ASCII: with keys copied from web pages invisible characters come. */
static bool has_stray(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == ' ' || s.p[i] == '\t' || (unsigned char)s.p[i] > '~')
            return true;
    return false;
}

static bool is_placeholder(struct span key)
{
    static const struct span words[] = {
        SPAN_INIT("EMPTY"),   SPAN_INIT("none"),      SPAN_INIT("null"),       SPAN_INIT("dummy"),
        SPAN_INIT("test"),    SPAN_INIT("changeme"),  SPAN_INIT("your"),       SPAN_INIT("sk-xxx"),
        SPAN_INIT("xxx"),     SPAN_INIT("sk-..."),    SPAN_INIT("sk-your"),    SPAN_INIT("<"),
        SPAN_INIT("sk-test"), SPAN_INIT("undefined"), SPAN_INIT("not-needed"), SPAN_INIT("..."),
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (key.n >= words[i].n && span_eq_nocase(span_of(key.p, words[i].n), words[i]))
            return true;
    return false;
}

enum doctor_cause doctor_key_oddity(struct span key)
{
    static const struct span bearer = SPAN_INIT("Bearer ");

    if (has_control(key))
        return CAUSE_KEY_NEWLINE;
    if (doctor_has_quotes(key))
        return CAUSE_KEY_QUOTES;
    if (span_find(key, SPAN("://")) < key.n)
        return CAUSE_KEY_IS_URL;
    if (key.n > bearer.n && span_eq_nocase(span_of(key.p, bearer.n), bearer))
        return CAUSE_KEY_BEARER;
    if (has_stray(key))
        return CAUSE_KEY_STRAY;
    if (span_starts_with(key, SPAN("$")) || span_find(key, SPAN("{env:")) < key.n ||
        (key.n > 2 && key.p[0] == '%' && key.p[key.n - 1] == '%'))
        return CAUSE_KEY_UNEXPANDED;
    return is_placeholder(key) ? CAUSE_KEY_PLACEHOLDER : CAUSE_NO_CAUSE;
}
