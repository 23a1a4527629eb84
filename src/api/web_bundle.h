/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/web_bundle.h - private to api/: the files of web/, as the build made them (cmake/Web.cmake).
 *
 * Role:      one row per file, compressed. A build without them (-DWEB=OFF) has none.
 * Threading: constant data.
 */
#ifndef API_WEB_BUNDLE_H
#define API_WEB_BUNDLE_H

#include <stddef.h>

struct web_file {
    const char *path; /* "/assets/app-HASH.js", "/index.en.html" */
    const char *content_type;
    const char *etag;  /* with its quotes */
    const char *bytes; /* gzip */
    size_t n;
};

extern const struct web_file web_bundle[];
extern const size_t web_bundle_n;

#endif
