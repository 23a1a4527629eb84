/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/facts.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "doctor/leaves.h"

struct place {
    const char *path; /* as leaves_is takes it */
    enum fact_meaning meaning;
    const char *as; /* the variable that it stands for; NULL: the key says, or none */
};

static const struct place claude_settings[] = {
    {"env.*", FACT_VARIABLE, NULL},
    {"apiKeyHelper", FACT_HELPER, NULL},
    {NULL, 0, NULL},
};
static const struct place claude_state[] = {
    {"oauthAccount.accountUuid", FACT_LOGIN, NULL},
    {"claudeAiOauth.accessToken", FACT_LOGIN, NULL},
    {"customApiKeyResponses.rejected.[]", FACT_REJECTED, NULL},
    {"customApiKeyResponses.approved.[]", FACT_APPROVED, NULL},
    {NULL, 0, NULL},
};
static const struct place codex_config[] = {
    {"model_provider", FACT_PROVIDER, NULL},
    {"preferred_auth_method", FACT_KEY_FIRST, NULL},
    {"forced_login_method", FACT_KEY_FIRST, NULL},
    {"openai_base_url", FACT_URL, "OPENAI_BASE_URL"},
    {"model_providers.*.base_url", FACT_URL, NULL},
    {"model_providers.*.env_key", FACT_KEY_NAME, NULL},
    {NULL, 0, NULL},
};
static const struct place codex_auth[] = {
    {"OPENAI_API_KEY", FACT_KEY, "OPENAI_API_KEY"},
    {"tokens.access_token", FACT_LOGIN, NULL},
    {NULL, 0, NULL},
};
static const struct place opencode_config[] = {
    {"provider.*.options.baseURL", FACT_URL, NULL},
    {"provider.*.options.apiKey", FACT_KEY, NULL},
    {NULL, 0, NULL},
};
static const struct place aider_config[] = {
    {"openai-api-base", FACT_URL, "OPENAI_API_BASE"},
    {"openai-api-key", FACT_KEY, "OPENAI_API_KEY"},
    {"anthropic-api-key", FACT_KEY, "ANTHROPIC_API_KEY"},
    {"set-env.[]", FACT_ASSIGNED, NULL},
    {"set-env", FACT_ASSIGNED, NULL},
    {NULL, 0, NULL},
};
static const struct place dotenv[] = {
    {"*", FACT_VARIABLE, NULL},
    {NULL, 0, NULL},
};

enum where { HOME, DIRECTORY, ROOT };
static const struct file_row {
    enum fact_tool tool;
    const char *tool_name;
    enum where where;
    const char *env; /* variable that names another directory in place of `below` */
    const char *below, *name;
    enum leaves_format format;
    const struct place *places;
    bool is_forced;
} rows[] = {
    {TOOL_CLAUDE, "Claude Code", ROOT, NULL, "/etc/claude-code", "managed-settings.json",
     LEAVES_JSON, claude_settings, true},
    {TOOL_CLAUDE, "Claude Code", HOME, "CLAUDE_CONFIG_DIR", ".claude", "settings.json", LEAVES_JSON,
     claude_settings, true},
    {TOOL_CLAUDE, "Claude Code", HOME, "CLAUDE_CONFIG_DIR", ".claude", "settings.local.json",
     LEAVES_JSON, claude_settings, true},
    {TOOL_CLAUDE, "Claude Code", DIRECTORY, NULL, ".claude", "settings.json", LEAVES_JSON,
     claude_settings, true},
    {TOOL_CLAUDE, "Claude Code", DIRECTORY, NULL, ".claude", "settings.local.json", LEAVES_JSON,
     claude_settings, true},
    {TOOL_CLAUDE, "Claude Code", HOME, "CLAUDE_CONFIG_DIR", ".claude", ".credentials.json",
     LEAVES_JSON, claude_state, true},
    {TOOL_CLAUDE, "Claude Code", HOME, "CLAUDE_CONFIG_DIR", "", ".claude.json", LEAVES_JSON,
     claude_state, true},
    {TOOL_CODEX, "Codex", HOME, "CODEX_HOME", ".codex", "config.toml", LEAVES_TOML, codex_config,
     true},
    {TOOL_CODEX, "Codex", HOME, "CODEX_HOME", ".codex", "auth.json", LEAVES_JSON, codex_auth, true},
    {TOOL_OPENCODE, "opencode", HOME, NULL, ".config/opencode", "opencode.json", LEAVES_JSONC,
     opencode_config, true},
    {TOOL_OPENCODE, "opencode", HOME, NULL, ".config/opencode", "opencode.jsonc", LEAVES_JSONC,
     opencode_config, true},
    {TOOL_OPENCODE, "opencode", DIRECTORY, NULL, "", "opencode.json", LEAVES_JSONC, opencode_config,
     true},
    {TOOL_AIDER, "aider", HOME, NULL, "", ".aider.conf.yml", LEAVES_YAML, aider_config, true},
    {TOOL_AIDER, "aider", DIRECTORY, NULL, "", ".aider.conf.yml", LEAVES_YAML, aider_config, true},
    {TOOL_DOTENV, "tools that read .env", DIRECTORY, NULL, "", ".env", LEAVES_ENV, dotenv, false},
};

struct collecting {
    struct facts *facts;
    struct arena *arena;
    const struct file_row *row;
    struct span file; /* as shown */
    size_t cap, cap_broken;
    bool is_out_of_memory;
};

/* --- one file --- */

static void add(struct collecting *c, const struct place *p, struct span name, struct span value)
{
    struct facts *f = c->facts;
    struct fact *room;

    if (f->n == FACTS_MAX)
        return;
    room = arena_grow(c->arena, f->at, f->n, 1, &c->cap, sizeof(*room));
    name = arena_dup(c->arena, name);
    value = arena_dup(c->arena, value);
    if (!room || !name.p || !value.p) {
        c->is_out_of_memory = true;
        return;
    }
    f->at = room;
    room[f->n++] = (struct fact){
        .tool = c->row->tool,
        .tool_name = c->row->tool_name,
        .file = c->file,
        .meaning = p->meaning,
        .name = name,
        .value = value,
        .is_forced = c->row->is_forced,
    };
}

static void on_leaf(void *ctx, const struct span *path, size_t n, struct span value)
{
    struct collecting *c = ctx;

    if (value.n == 0 || span_eq(value, SPAN("null")))
        return;
    for (const struct place *p = c->row->places; p->path; p++) {
        struct span name = {"", 0};

        if (!leaves_is(p->path, path, n))
            continue;
        if (p->as)
            name = span_cstr(p->as);
        else if (p->meaning == FACT_VARIABLE)
            name = path[n - 1];
        else if (n == 3 || n == 4) /* of a provider */
            name = path[1];
        add(c, p, name, value);
        return;
    }
}

static void add_broken(struct collecting *c, int line, int error)
{
    struct facts *f = c->facts;
    struct fact_file *room =
        arena_grow(c->arena, f->broken, f->n_broken, 1, &c->cap_broken, sizeof(*room));

    if (!room) {
        c->is_out_of_memory = true;
        return;
    }
    f->broken = room;
    room[f->n_broken++] = (struct fact_file){.file = c->file, .line = line, .error = error};
}

static void read_one(struct collecting *c, const char *path)
{
    struct buf text;
    int line = 0, r;

    buf_init(&text, LEAVES_BYTES_MAX + 1);
    r = file_read(path, LEAVES_BYTES_MAX, &text);
    if (r != -ENOENT && r != -ENOTDIR && r != -ENOMEM)
        c->facts->n_files++;
    if (r == 0)
        r = leaves_read(c->row->format, buf_span(&text), on_leaf, c, &line);
    if (r == -ENOMEM)
        c->is_out_of_memory = true;
    else if (r < 0 && r != -ENOENT && r != -ENOTDIR)
        add_broken(c, line, r);
    buf_done(&text);
}

/* --- all files --- */

static void read_row(struct collecting *c, const char *base, const char *shown,
                     const char *(*get)(const char *name))
{
    const char *other = c->row->env ? get(c->row->env) : NULL;
    const char *below = c->row->below;
    const char *slash = below[0] != '\0' ? "/" : "";
    char path[1024], text[1024];
    int n, m;

    if (other && other[0] != '\0') {
        n = snprintf(path, sizeof(path), "%s/%s", other, c->row->name);
        m = snprintf(text, sizeof(text), "%s", path);
    } else {
        n = snprintf(path, sizeof(path), "%s%s%s/%s", base, c->row->where == ROOT ? "" : slash,
                     below, c->row->name);
        m = snprintf(text, sizeof(text), "%s%s%s/%s", shown, c->row->where == ROOT ? "" : slash,
                     below, c->row->name);
    }
    if (n >= (int)sizeof(path) || m >= (int)sizeof(text))
        return;
    c->file = arena_dup(c->arena, span_cstr(text));
    c->is_out_of_memory |= !c->file.p;
    if (!c->is_out_of_memory)
        read_one(c, path);
}

int facts_collect(const char *home, const char *directory, const char *(*get)(const char *name),
                  struct arena *a, struct facts *ret)
{
    struct facts facts = {.at = NULL};
    struct collecting c = {.facts = &facts, .arena = a};
    bool is_same = home && directory && strcmp(home, directory) == 0;

    for (size_t i = 0; i < ARRAY_LEN(rows) && !c.is_out_of_memory; i++) {
        c.row = &rows[i];
        if (rows[i].where == HOME && home)
            read_row(&c, home, "~", get);
        else if (rows[i].where == DIRECTORY && directory &&
                 (!is_same || rows[i].tool == TOOL_DOTENV || rows[i].tool == TOOL_OPENCODE))
            read_row(&c, directory, ".", get);
        else if (rows[i].where == ROOT)
            read_row(&c, "", "", get);
    }
    if (c.is_out_of_memory)
        return -ENOMEM;
    *ret = facts;
    return 0;
}
