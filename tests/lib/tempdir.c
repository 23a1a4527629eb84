/* SPDX-License-Identifier: Apache-2.0 */
#include "tempdir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

void tempdir_make(struct tempdir *t)
{
    snprintf(t->path, sizeof(t->path), "/tmp/inferometer-test-XXXXXX");
    assert_non_null(mkdtemp(t->path));
}

static void remove_all(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char name[512];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (lstat(name, &st) == 0 && S_ISDIR(st.st_mode))
            remove_all(name);
        else
            unlink(name);
    }
    closedir(dir);
    rmdir(path);
}

void tempdir_remove(struct tempdir *t)
{
    remove_all(t->path);
    t->path[0] = '\0';
}

const char *tempdir_file(const struct tempdir *t, const char *name)
{
    static char names[4][512];
    static unsigned turn;
    char *at = names[turn++ % 4];
    snprintf(at, sizeof(names[0]), "%s/%s", t->path, name);
    return at;
}

int tempdir_count(const struct tempdir *t, const char *prefix)
{
    int n = 0;
    DIR *dir = opendir(t->path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return n;
}
