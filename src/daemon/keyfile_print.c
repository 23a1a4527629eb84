/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile_print.c - rows as the key file's text, and hexadecimal digits both ways.
 */
#include <string.h>

#include "base/jsonw.h"
#include "daemon/keyfile_json.h"

/* --- hexadecimal --- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool keyfile_hex_parse(struct span text, unsigned char *dst, size_t n)
{
    if (text.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = hex_of(text.p[2 * i]);
        int low = hex_of(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        dst[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

void keyfile_hex_format(const unsigned char *bytes, size_t n, char *dst)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        dst[2 * i] = digits[bytes[i] >> 4];
        dst[2 * i + 1] = digits[bytes[i] & 15];
    }
    dst[2 * n] = '\0';
}

/* --- printing --- */

static void print_row(const struct keyring_key *k, struct jsonw *w)
{
    char hash[2 * KEYRING_HASH_BYTES + 1];
    keyfile_hex_format(k->hash, sizeof(k->hash), hash);
    jsonw_begin_object(w);
    jsonw_put_cstr(w, "id", k->id);
    jsonw_put_cstr(w, "hash", hash);
    jsonw_put_cstr(w, "tenant", k->tenant);
    jsonw_key(w, "models");
    jsonw_begin_array(w);
    for (size_t i = 0; i < k->n_models; i++)
        jsonw_cstr(w, k->models[i]);
    jsonw_end_array(w);
    jsonw_key(w, "labels");
    jsonw_begin_object(w);
    for (size_t i = 0; i < k->n_labels; i++) {
        jsonw_key(w, k->labels[i].name); /* keyring_check lets nothing pass that needs escapes */
        jsonw_cstr(w, k->labels[i].value);
    }
    jsonw_end_object(w);
    jsonw_put_cstr(w, "class", keyring_class_name(k->class));
    jsonw_put_u64(w, "max_inflight", k->max_inflight);
    jsonw_put_u64(w, "max_requests_per_minute", k->max_requests_per_minute);
    jsonw_put_i64(w, "created", k->created_s);
    jsonw_put_i64(w, "expires", k->expires_s);
    jsonw_put_cstr(w, "note", k->note);
    jsonw_end_object(w);
}

int keyfile_json_print(const struct keyring_key *keys, size_t n, struct buf *out)
{
    int r = buf_printf(out, "{\"version\": %d, \"keys\": [", KEYFILE_VERSION);
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct jsonw w; /* a key a line: for people, and for their diff */
        jsonw_init(&w, out);
        r = buf_append(out, i > 0 ? SPAN(",\n") : SPAN("\n"));
        if (r == 0)
            print_row(&keys[i], &w);
        if (r == 0)
            r = jsonw_error(&w);
    }
    return r < 0 ? r : buf_append(out, SPAN("\n]}\n"));
}
