/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tempdir.h - a directory of one test, gone with everything in it afterwards.
 */
#ifndef TEMPDIR_H
#define TEMPDIR_H

struct tempdir {
    char path[64];
};

void tempdir_make(struct tempdir *t);
void tempdir_remove(struct tempdir *t);
/* "DIR/name" in one of four turns of a static buffer. */
const char *tempdir_file(const struct tempdir *t, const char *name);
/* Files in it whose names begin with prefix. */
int tempdir_count(const struct tempdir *t, const char *prefix);

#endif
