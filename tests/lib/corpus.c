/* SPDX-License-Identifier: Apache-2.0 */
#include "corpus.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness.h"

struct span corpus_read(const char *path)
{
    struct span nothing = {0};
    struct stat st;
    FILE *f = fopen(path, "rbe");
    if (!f)
        return nothing;
    char *p = NULL;
    size_t n = 0;
    if (fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode)) {
        size_t size = (size_t)st.st_size;
        p = malloc(size + 1);
        assert_non_null(p);
        n = fread(p, 1, size, f);
        p[n] = '\0';
    }
    (void)fclose(f); /* read only */
    return span_of(p, n);
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name);
    size_t n_suffix = suffix ? strlen(suffix) : 0;
    return n >= n_suffix && (n_suffix == 0 || strcmp(name + n - n_suffix, suffix) == 0);
}

/* A string that must be freed; the test ends when there is no memory for it. */
static char *join(const char *dir, const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

int corpus_each(const char *dir, const char *suffix,
                void (*visit)(void *ctx, const char *path, struct span content), void *ctx)
{
    const char *shared = getenv("INFEROMETER_SHARED");
    struct dirent **entries;
    int n_visited = 0;
    char *top = join(shared ? shared : "../shared", dir);
    int n = scandir(top, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.' && has_suffix(name, suffix)) {
            char *path = join(top, name);
            struct span content = corpus_read(path);
            if (content.p) {
                visit(ctx, path, content);
                n_visited++;
            }
            free((void *)(uintptr_t)content.p);
            free(path);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    free(top);
    return n_visited;
}
