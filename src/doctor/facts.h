/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/facts.h - the files in which tools keep their settings, and what in them is about a server
 * or a key: one table.
 *
 * Role:      a row per file, a row per path in it (leaves.h); facts_collect reads all that are
 *            there.
 * Limits:    FACTS_MAX facts (more are left out), LEAVES_BYTES_MAX of a file.
 * Threading: pure but for reading the files.
 */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/span.h"

enum { FACTS_MAX = 512 };

enum fact_meaning {
    FACT_VARIABLE,  /* the last key is a variable that the tool has with this value */
    FACT_ASSIGNED,  /* "NAME=value" */
    FACT_URL,       /* a base URL; .as is the variable that it stands for, if any */
    FACT_KEY,       /* a key, likewise; "{env:NAME}" names a variable */
    FACT_KEY_NAME,  /* the name of the variable that has the key */
    FACT_PROVIDER,  /* which of several is in use */
    FACT_LOGIN,     /* somebody is logged in */
    FACT_KEY_FIRST, /* "apikey": keys go before logins */
    FACT_HELPER,    /* a program that tells the key */
    FACT_REJECTED,  /* the end of a key that was refused when the tool asked */
    FACT_APPROVED,  /* that was taken */
};

enum fact_tool { TOOL_CLAUDE, TOOL_CODEX, TOOL_OPENCODE, TOOL_AIDER, TOOL_DOTENV };

struct fact {
    enum fact_tool tool;
    const char *tool_name;
    struct span file; /* "~/.claude/settings.json" */
    enum fact_meaning meaning;
    struct span name;  /* of the variable; else the last key but one: the provider */
    struct span value; /* a secret, perhaps */
    bool is_forced;    /* the tool takes it whatever the environment says */
};
struct fact_file { /* that is not as it should be */
    struct span file;
    int line; /* 0: it cannot be read */
    int error;
};
struct facts {
    struct fact *at;
    size_t n;
    struct fact_file *broken;
    size_t n_broken, n_files; /* n_files: that are there */
};
/* get: the environment (CLAUDE_CONFIG_DIR, CODEX_HOME). -ENOMEM. */
int facts_collect(const char *home, const char *directory, const char *(*get)(const char *name),
                  struct arena *a, struct facts *ret) WARN_UNUSED;

#endif
