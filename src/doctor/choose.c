/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/choose.c - which API, base URL and key are tried: what was asked for, else what clients
 * find in the environment.
 */
#include "doctor/doctor_private.h"

static const struct doctor_api openai = {
    .name = "openai",
    .models = "/models",
    .chat = "/chat/completions",
    .prefix = "",
    .fields = "",
    .dialect = "openai-chat",
};
static const struct doctor_api anthropic = {
    .name = "anthropic",
    .models = "/models",
    .chat = "/messages",
    .prefix = "/v1",
    .key_field = "x-api-key",
    .fields = "anthropic-version: 2023-06-01\r\n",
    .dialect = "anthropic",
};

struct span doctor_variable(const struct doctor *d, const char *name)
{
    return span_cstr(d->ask->get(name));
}

/* The first of them that is set. */
static struct doctor_setting first_set(const struct doctor *d, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct span value = doctor_variable(d, names[i]);
        if (value.n > 0)
            return (struct doctor_setting){.value = value, .name = names[i]};
    }
    return (struct doctor_setting){.name = NULL};
}

/* --- base URL and API --- */

static void choose_base(struct doctor *d, bool is_anthropic)
{
    static const char *const names[] = {"OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL"};
    size_t n = ARRAY_LEN(names);

    if (d->ask->url.n > 0)
        d->base = (struct doctor_setting){d->ask->url, "the URL", true};
    else if (is_anthropic)
        d->base = first_set(d, names + n - 1, 1);
    else
        d->base = first_set(d, names, n);
    d->has_url = d->base.name && doctor_url_parse(d->base.value, &d->url) == CAUSE_NO_CAUSE;
}

static bool is_anthropics(const struct doctor *d)
{
    if (d->base.name && strcmp(d->base.name, "ANTHROPIC_BASE_URL") == 0)
        return true;
    return d->has_url && (doctor_vendor_of_host(d->url.host) == VENDOR_ANTHROPIC ||
                          span_ends_with(d->url.path, SPAN("/anthropic")));
}

/* A URL on the command line may be that of the server, whatever clients of the API want. */
static void forgive_argument(struct doctor *d)
{
    struct span v1 = SPAN("/v1");

    if (d->base.is_argument && d->has_url && d->api == &anthropic &&
        span_ends_with(d->url.path, v1))
        d->url.path.n -= v1.n;
}

/* --- key --- */

/* Where clients of a vendor look. */
static const char *const key_names[VENDOR_COUNT_] = {
    [VENDOR_OPENROUTER] = "OPENROUTER_API_KEY", [VENDOR_GROQ] = "GROQ_API_KEY",
    [VENDOR_GOOGLE] = "GEMINI_API_KEY",         [VENDOR_XAI] = "XAI_API_KEY",
    [VENDOR_HUGGING_FACE] = "HF_TOKEN",         [VENDOR_NVIDIA] = "NVIDIA_API_KEY",
    [VENDOR_PERPLEXITY] = "PERPLEXITY_API_KEY", [VENDOR_CEREBRAS] = "CEREBRAS_API_KEY",
    [VENDOR_FIREWORKS] = "FIREWORKS_API_KEY",   [VENDOR_DEEPSEEK] = "DEEPSEEK_API_KEY",
    [VENDOR_MISTRAL] = "MISTRAL_API_KEY",       [VENDOR_TOGETHER] = "TOGETHER_API_KEY",
};

static struct doctor_setting usual_key(const struct doctor *d, enum doctor_vendor host)
{
    static const char *const of_anthropic[] = {"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"};
    static const char *const of_openai[] = {"OPENAI_API_KEY"};
    struct doctor_setting key = {.name = NULL};

    if (d->api == &anthropic)
        return first_set(d, of_anthropic, ARRAY_LEN(of_anthropic));
    if (key_names[host])
        key = first_set(d, &key_names[host], 1);
    return key.name ? key : first_set(d, of_openai, ARRAY_LEN(of_openai));
}

/* A key that is plainly another vendor's goes to no stranger unless both were set up together. */
static bool is_to_be_withheld(const struct doctor *d, enum doctor_vendor host)
{
    enum doctor_vendor vendor = doctor_vendor_of_key(d->key.value);

    return d->base.is_argument && vendor != VENDOR_UNKNOWN && vendor != host &&
           !doctor_host_is_loopback(d->url.host);
}

static void choose_key(struct doctor *d)
{
    enum doctor_vendor host = d->has_url ? doctor_vendor_of_host(d->url.host) : VENDOR_UNKNOWN;

    if (d->ask->key_env.n > 0) {
        struct span name = arena_dup(d->arena, d->ask->key_env);
        d->is_out_of_memory |= !name.p;
        d->key.name = name.p;
        d->key.value = name.p ? doctor_variable(d, name.p) : (struct span){"", 0};
    } else {
        d->key = usual_key(d, host);
        d->key_is_withheld = d->key.name && d->has_url && is_to_be_withheld(d, host);
    }
    d->key_is_bearer =
        !d->api->key_field || (d->key.name && strcmp(d->key.name, "ANTHROPIC_AUTH_TOKEN") == 0);
}

void doctor_choose(struct doctor *d)
{
    bool is_anthropic =
        d->ask->is_anthropic || span_starts_with(d->ask->key_env, SPAN("ANTHROPIC_"));

    choose_base(d, is_anthropic);
    d->api = is_anthropic || is_anthropics(d) ? &anthropic : &openai;
    forgive_argument(d);
    choose_key(d);
}
