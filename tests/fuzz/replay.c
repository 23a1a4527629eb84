/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - runs a fuzz target over the empty input and every file of the directories named on
 * the command line, so that what fuzzing once found stays fixed under every compiler.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return 0;
    uint8_t *data = NULL;
    size_t n = 0;
    size_t cap = 0;
    size_t r = 1; /* fread on a directory reads nothing */
    while (r > 0) {
        if (n == cap) {
            cap = cap > 0 ? cap * 2 : 4096;
            data = realloc(data, cap);
            if (!data)
                abort();
        }
        r = fread(data + n, 1, cap - n, f);
        n += r;
    }
    (void)fclose(f);
    /* An allocation of exactly n bytes: a sanitizer then sees a read behind the end. */
    uint8_t *exact = realloc(data, n > 0 ? n : 1);
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    return 1;
}

int main(int argc, char **argv)
{
    int n_files = 0;
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct dirent **entries;
        int n = scandir(argv[i], &entries, NULL, alphasort);
        for (int j = 0; j < n; j++) {
            char *path;
            if (entries[j]->d_name[0] != '.') {
                if (asprintf(&path, "%s/%s", argv[i], entries[j]->d_name) < 0)
                    abort();
                n_files += run_file(path);
                free(path);
            }
            free(entries[j]);
        }
        if (n >= 0)
            free(entries);
    }
    printf("%d inputs\n", n_files);
    return 0;
}
