/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile: adding, loading, removing; every mistake at its place; who may read the files;
 * writers at once; lack of memory.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "daemon/keyfile.h"
#include "memfail.h"

static char dir[64];
static char path[128];
static char pepper_path[160];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/keyfile-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/keys.json", dir);
    (void)snprintf(pepper_path, sizeof(pepper_path), "%s.pepper", path);
    return 0;
}

static int remove_dir(void **state)
{
    char lock[160];
    (void)state;
    (void)snprintf(lock, sizeof(lock), "%s.lock", path);
    (void)unlink(path);
    (void)unlink(pepper_path);
    (void)unlink(lock);
    return rmdir(dir); /* nothing else was left in it */
}

static const char *read_text(const char *from)
{
    static char text[64 * 1024];
    FILE *f = fopen(from, "rbe");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    return text;
}

static void write_text(const char *to, const char *text, mode_t mode)
{
    FILE *f = fopen(to, "wbe");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fchmod(fileno(f), mode), 0);
    (void)fclose(f);
}

static const char pepper_text[] =
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

static struct keyring *load(void)
{
    struct err_list errs;
    struct keyring *r = NULL;
    err_list_init(&errs);
    int error = keyfile_load(path, &r, &errs);
    if (error < 0)
        err_list_print(&errs, stderr);
    assert_int_equal(error, 0);
    return r;
}

static void add(const char *tenant, char *ret_key)
{
    struct keyring_key wanted = {.tenant = tenant, .note = ""};
    struct err_list errs;
    err_list_init(&errs);
    assert_int_equal(keyfile_add(path, &wanted, ret_key, &errs), 0);
    assert_int_equal(errs.n, 0);
}

static void added_keys_are_found(void **state)
{
    (void)state;
    static const char *const models[] = {"m-1", "llama-*", "with \"quotes\" \\ and \xc3\xa9"};
    static const struct keyring_label labels[] = {{"team", "search"}, {"cost_center", "4711 / x"}};
    struct keyring_key wanted = {.tenant = "acme \"inc\"",
                                 .note = "a note",
                                 .models = models,
                                 .n_models = ARRAY_LEN(models),
                                 .labels = labels,
                                 .n_labels = ARRAY_LEN(labels),
                                 .class = KEYRING_BATCH,
                                 .max_inflight = 4,
                                 .max_requests_per_minute = 600,
                                 .created_s = 1700000000,
                                 .expires_s = 1800000000};
    char first[KEYRING_KEY_LEN + 1], second[KEYRING_KEY_LEN + 1];
    struct err_list errs;
    const struct keyring_key *k = NULL;
    err_list_init(&errs);
    assert_int_equal(keyfile_add(path, &wanted, first, &errs), 0);
    add("other", second);
    assert_true(keyring_is_form(span_cstr(first)) && keyring_is_form(span_cstr(second)));
    assert_string_not_equal(first, second);
    struct keyring *ring = load();
    assert_int_equal(keyring_n(ring), 2);
    assert_int_equal(keyring_find(ring, span_cstr(first), 1800000000, &k), KEYRING_EXPIRED);
    assert_int_equal(keyring_find(ring, span_cstr(first), 1799999999, &k), KEYRING_FOUND);
    assert_string_equal(k->tenant, wanted.tenant);
    assert_string_equal(k->note, wanted.note);
    assert_int_equal(k->n_models, wanted.n_models);
    for (size_t i = 0; i < k->n_models; i++)
        assert_string_equal(k->models[i], models[i]);
    assert_int_equal(k->n_labels, wanted.n_labels);
    assert_string_equal(k->labels[1].name, "cost_center");
    assert_string_equal(k->labels[1].value, "4711 / x");
    assert_int_equal(k->class, KEYRING_BATCH);
    assert_int_equal(k->max_inflight, 4);
    assert_int_equal(k->max_requests_per_minute, 600);
    assert_int_equal(k->created_s, 1700000000);
    assert_int_equal(keyring_find(ring, span_cstr(second), 0, &k), KEYRING_FOUND);
    assert_string_equal(k->tenant, "other");
    keyring_unref(ring);
}

static void the_files_are_private_and_without_secrets(void **state)
{
    (void)state;
    char key[KEYRING_KEY_LEN + 1];
    struct stat st;
    mode_t before = umask(0);
    add("t", key);
    (void)umask(before);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(pepper_path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 65);
    assert_null(strstr(read_text(path), key + 13));
    assert_null(strstr(read_text(pepper_path), key + 13));
    assert_non_null(strstr(read_text(path), "\"tenant\":\"t\""));
}

static void removed_keys_are_unknown(void **state)
{
    (void)state;
    char keys[3][KEYRING_KEY_LEN + 1];
    char tenant[KEYRING_NAME_MAX];
    const struct keyring_key *k;
    struct err_list errs;
    err_list_init(&errs);
    add("a", keys[0]);
    add("b", keys[1]);
    add("c", keys[2]);
    assert_int_equal(keyfile_remove(path, span_of(keys[1] + 4, 8), tenant, &errs), 0);
    assert_string_equal(tenant, "b");
    struct keyring *ring = load();
    assert_int_equal(keyring_n(ring), 2);
    assert_int_equal(keyring_find(ring, span_cstr(keys[0]), 0, &k), KEYRING_FOUND);
    assert_int_equal(keyring_find(ring, span_cstr(keys[1]), 0, &k), KEYRING_UNKNOWN);
    assert_int_equal(keyring_find(ring, span_cstr(keys[2]), 0, &k), KEYRING_FOUND);
    keyring_unref(ring);
    char wrong[KEYRING_ID_LEN + 1];
    (void)span_copy(span_of(keys[0] + 4, 8), wrong, sizeof(wrong));
    wrong[3] = '0'; /* no id has one */
    assert_int_equal(keyfile_remove(path, span_cstr(wrong), tenant, &errs), -ENOENT);
    assert_non_null(strstr(errs.items[0].err.text, wrong));
    assert_non_null(strstr(errs.items[0].err.hint, "did you mean"));
    assert_int_equal(keyfile_remove(path, SPAN("nothing like it"), tenant, &errs), -ENOENT);
    assert_non_null(strstr(errs.items[1].err.hint, "key list"));
    for (int i = 0; i < 3; i += 2)
        assert_int_equal(keyfile_remove(path, span_of(keys[i] + 4, 8), tenant, &errs), 0);
    ring = load(); /* nobody may, and that is no mistake */
    assert_int_equal(keyring_n(ring), 0);
    keyring_unref(ring);
}

static void removing_makes_no_file(void **state)
{
    (void)state;
    char tenant[KEYRING_NAME_MAX] = "untouched";
    struct err_list errs;
    err_list_init(&errs);
    assert_int_equal(keyfile_remove(path, SPAN("abcdefgh"), tenant, &errs), -ENOENT);
    assert_string_equal(tenant, "untouched");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(errs.n, 1);
}

/* --- mistakes --- */

#define HASH          "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ROW           "{\"id\":\"abcdefgh\",\"hash\":\"" HASH "\",\"tenant\":\"t\""
#define FILE_OF(rows) "{\"version\":1,\"keys\":[\n" rows "]}"

static const struct bad_file {
    const char *text;
    int line, column; /* 0: of the whole file */
    const char *told;
} bad_files[] = {
    {"", 1, 1, "ends too early"},
    {"{\"version\":1,\"keys\":[", 1, 22, "ends too early"},
    {FILE_OF(ROW), 2, 104, "no JSON"},
    {FILE_OF(ROW "}") "x", 2, 107, "no JSON"},
    {"{\"version\":1,\n \"keys\":[,]}", 2, 10, "no JSON"},
    {"[]", 1, 1, "no key file"},
    {"\"x\"", 1, 1, "no key file"},
    {"{}", 1, 1, "no key file"},
    {"{\"keys\":[]}", 1, 1, "no key file"},
    {"{\"version\":1}", 1, 1, "no key file"},
    {"{\"version\":2,\"keys\":[]}", 1, 12, "not 1"},
    {"{\"version\":\"1\",\"keys\":[]}", 1, 12, "not 1"},
    {"{\"version\":1,\"keys\":{}}", 1, 21, "one list"},
    {"{\"version\":1,\"keys\":[],\"keys\":[]}", 1, 31, "one list"},
    {"{\"version\":1,\"keys\":[],\"key\":[]}", 1, 24, "something else"},
    {FILE_OF("1"), 2, 1, "an object"},
    {FILE_OF("[]"), 2, 1, "an object"},
    {FILE_OF("{}"), 2, 1, "has no \"id\""},
    {FILE_OF("{\"id\":\"abcdefgh\",\"tenant\":\"t\"}"), 2, 1, "has no \"hash\""},
    {FILE_OF(ROW ",\"modles\":[]}"), 2, 105, "no \"modles\""},
    {FILE_OF(ROW ",\"tenant\":\"u\"}"), 2, 114, "stands twice"},
    {FILE_OF(ROW ",\"models\":\"a\"}"), 2, 114, "list of model names"},
    {FILE_OF(ROW ",\"models\":[1]}"), 2, 114, "list of model names"},
    {FILE_OF(ROW ",\"models\":[[\"a\"]]}"), 2, 114, "list of model names"},
    {FILE_OF(ROW ",\"models\":{\"a\":1}}"), 2, 114, "list of model names"},
    {FILE_OF(ROW ",\"models\":[\"a\\u0000b\"]}"), 2, 114, "list of model names"},
    {FILE_OF(ROW ",\"models\":[\"a*b\"]}"), 2, 1, "may only stand at the end"},
    {FILE_OF(ROW ",\"labels\":[]}"), 2, 114, "names and texts"},
    {FILE_OF(ROW ",\"labels\":{\"a\":1}}"), 2, 114, "names and texts"},
    {FILE_OF(ROW ",\"labels\":{\"A\":\"1\"}}"), 2, 1, "no name for a label"},
    {FILE_OF(ROW ",\"labels\":{\"a\":\"1\",\"a\":\"2\"}}"), 2, 1, "stands twice"},
    {FILE_OF(ROW ",\"class\":\"fast\"}"), 2, 113, "\"interactive\" or \"batch\""},
    {FILE_OF(ROW ",\"class\":1}"), 2, 113, "\"interactive\" or \"batch\""},
    {FILE_OF(ROW ",\"max_inflight\":-1}"), 2, 120, "whole number"},
    {FILE_OF(ROW ",\"max_inflight\":1.5}"), 2, 120, "whole number"},
    {FILE_OF(ROW ",\"max_requests_per_minute\":1e10}"), 2, 131, "whole number"},
    {FILE_OF(ROW ",\"created\":\"now\"}"), 2, 115, "a time"},
    {FILE_OF(ROW ",\"expires\":[1]}"), 2, 115, "a time"},
    {FILE_OF(ROW ",\"note\":{}}"), 2, 112, "a text"},
    {FILE_OF("{\"id\":\"abc\"}"), 2, 1, "has no \"hash\""},
    {FILE_OF("{\"id\":\"abcdefghi\"}"), 2, 7, "8 characters"},
    {FILE_OF("{\"id\":\"ABCDEFGH\",\"hash\":\"" HASH "\",\"tenant\":\"t\"}"), 2, 1, "an id is"},
    {FILE_OF("{\"hash\":\"0123\"}"), 2, 9, "64 hexadecimal"},
    {FILE_OF(ROW "},\n" ROW "}"), 0, 0, "stands twice"},
};

static void mistakes_have_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_files); i++) {
        const struct bad_file *b = &bad_files[i];
        struct keyring *ring = NULL;
        struct err_list errs;
        char name[512];
        err_list_init(&errs);
        write_text(path, b->text, 0600);
        write_text(pepper_path, pepper_text, 0600);
        int r = keyfile_load(path, &ring, &errs);
        const struct err_item *e = &errs.items[0];
        (void)snprintf(name, sizeof(name), "%zu %.300s: %d:%d %.90s", i, b->text, e->line,
                       e->column, errs.n > 0 ? e->err.text : "");
        assert_row(name, r == -EINVAL && !ring);
        assert_row(name, errs.n >= 1);
        assert_row(name, strstr(e->err.text, b->told) != NULL);
        assert_row(name, e->line == b->line && e->column == b->column);
        assert_row(name, e->where == path);
        char key[KEYRING_KEY_LEN + 1] = "untouched"; /* and no edit makes it worse */
        struct keyring_key wanted = {.tenant = "t", .note = ""};
        assert_row(name, keyfile_add(path, &wanted, key, &errs) == -EINVAL);
        assert_row(name, strcmp(read_text(path), b->text) == 0 && strcmp(key, "untouched") == 0);
    }
}

static void all_mistakes_are_told(void **state)
{
    (void)state;
    struct keyring *ring = NULL;
    struct err_list errs;
    err_list_init(&errs);
    write_text(path, FILE_OF("{\"id\":1},\n" ROW ",\"note\":1,\"class\":2},\n{\"tenannt\":\"\"}"),
               0600);
    write_text(pepper_path, pepper_text, 0600);
    assert_int_equal(keyfile_load(path, &ring, &errs), -EINVAL);
    assert_int_equal(errs.n, 4);
    assert_int_equal(errs.items[0].line, 2);
    assert_int_equal(errs.items[1].line, 3);
    assert_int_equal(errs.items[2].line, 3);
    assert_int_equal(errs.items[3].line, 4);
    assert_non_null(strstr(errs.items[3].err.hint, "did you mean \"tenant\""));
}

/* More than are kept, without taking for ever over it. */
static void too_many_mistakes(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct keyring *ring = NULL;
    struct err_list errs;
    struct buf text;
    buf_init(&text, 1 * MIB);
    err_list_init(&errs);
    assert_int_equal(buf_append(&text, SPAN("{\"version\":1,\"keys\":[1")), 0);
    for (int i = 1; i < N; i++)
        assert_int_equal(buf_append(&text, SPAN(",\n1")), 0);
    assert_int_equal(buf_append(&text, span_of("]}", 3)), 0); /* with its end */
    write_text(path, buf_span(&text).p, 0600);
    write_text(pepper_path, pepper_text, 0600);
    assert_int_equal(keyfile_load(path, &ring, &errs), -EINVAL);
    assert_int_equal(errs.n + errs.n_dropped, N);
    buf_done(&text);
}

static void unfit_wishes_are_refused(void **state)
{
    (void)state;
    struct keyring_key wanted = {.tenant = "", .note = ""};
    char key[KEYRING_KEY_LEN + 1] = "untouched";
    struct err_list errs;
    err_list_init(&errs);
    assert_int_equal(keyfile_add(path, &wanted, key, &errs), -EINVAL);
    assert_non_null(strstr(errs.items[0].err.text, "tenant"));
    assert_string_equal(key, "untouched");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(pepper_path, F_OK), -1);
}

/* --- who may read --- */

static int load_code(struct err_list *errs)
{
    struct keyring *ring = NULL;
    err_list_init(errs);
    int r = keyfile_load(path, &ring, errs);
    assert_true((r == 0) == (ring != NULL));
    keyring_unref(ring);
    return r;
}

static void readable_files_are_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0604, 0602, 0640, 0660, 0644, 0666, 0601, 0755};
    char key[KEYRING_KEY_LEN + 1];
    struct err_list errs;
    add("t", key);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(load_code(&errs), -EPERM);
        assert_non_null(strstr(errs.items[0].err.hint, "chmod 600"));
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(chmod(pepper_path, modes[i]), 0);
        assert_int_equal(load_code(&errs), -EPERM);
        assert_non_null(strstr(errs.items[0].err.hint, ".pepper"));
        assert_int_equal(chmod(pepper_path, 0600), 0);
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(load_code(&errs), 0);
}

static void missing_files(void **state)
{
    (void)state;
    char key[KEYRING_KEY_LEN + 1];
    struct err_list errs;
    assert_int_equal(load_code(&errs), -ENOENT);
    assert_non_null(strstr(errs.items[0].err.hint, "inferometer key add --file"));
    add("t", key);
    assert_int_equal(unlink(pepper_path), 0);
    assert_int_equal(load_code(&errs), -ENOENT);
    assert_non_null(strstr(errs.items[0].err.text, "pepper"));
    struct keyring_key wanted = {.tenant = "t", .note = ""};
    assert_true(keyfile_add(path, &wanted, key, &errs) < 0); /* no second pepper for old hashes */
    assert_int_equal(access(pepper_path, F_OK), -1);
    write_text(pepper_path, "00\n", 0600);
    assert_int_equal(load_code(&errs), -EINVAL);
    assert_non_null(strstr(errs.items[0].err.text, "64 hexadecimal"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(load_code(&errs), -EINVAL);
    assert_non_null(strstr(errs.items[0].err.text, "no regular file"));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load_code(&errs), -EINVAL); /* and does not wait */
}

/* Another pepper is another gateway: its keys are unknown here. */
static void a_pepper_that_stays_is_used(void **state)
{
    (void)state;
    char key[KEYRING_KEY_LEN + 1];
    const struct keyring_key *k;
    write_text(pepper_path, pepper_text, 0600);
    add("t", key);
    assert_string_equal(read_text(pepper_path), pepper_text);
    struct keyring *ring = load();
    assert_int_equal(keyring_find(ring, span_cstr(key), 0, &k), KEYRING_FOUND);
    keyring_unref(ring);
}

/* --- changes --- */

static void changes_are_seen(void **state)
{
    (void)state;
    char key[KEYRING_KEY_LEN + 1];
    struct keyfile_mark none, first, again, second, third;
    keyfile_look(path, &none);
    add("t", key);
    keyfile_look(path, &first);
    keyfile_look(path, &again);
    assert_false(keyfile_is_same(&none, &first));
    assert_true(keyfile_is_same(&first, &again));
    add("t", key);
    keyfile_look(path, &second);
    assert_false(keyfile_is_same(&first, &second));
    assert_int_equal(unlink(pepper_path), 0);
    keyfile_look(path, &third);
    assert_false(keyfile_is_same(&second, &third));
}

enum { WRITERS = 6, EACH = 10 };

/* Reads while others write: there is always a whole file. */
static int read_meanwhile(void)
{
    struct err_list errs;
    struct keyring *ring = NULL;
    err_list_init(&errs);
    if (keyfile_load(path, &ring, &errs) < 0)
        return 1;
    keyring_unref(ring);
    return 0;
}

static int write_some(int number)
{
    char tenant[16];
    (void)snprintf(tenant, sizeof(tenant), "t%d", number);
    for (int i = 0; i < EACH; i++) {
        struct keyring_key wanted = {.tenant = tenant, .note = ""};
        char key[KEYRING_KEY_LEN + 1];
        struct err_list errs;
        err_list_init(&errs);
        if (keyfile_add(path, &wanted, key, &errs) < 0)
            return 1;
    }
    return 0;
}

static void writers_at_once_lose_nothing(void **state)
{
    (void)state;
    char key[KEYRING_KEY_LEN + 1];
    pid_t pids[WRITERS];
    int n_running = WRITERS;
    add("first", key);
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(write_some(i));
    }
    while (n_running > 0) {
        int status;
        assert_int_equal(read_meanwhile(), 0);
        pid_t pid = waitpid(-1, &status, WNOHANG);
        assert_true(pid >= 0);
        if (pid > 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            n_running--;
        }
    }
    struct keyring *ring = load();
    assert_int_equal(keyring_n(ring), 1 + WRITERS * EACH);
    keyring_unref(ring);
}

/* --- lack of memory --- */

static int load_once(void *ctx)
{
    struct err_list errs;
    (void)ctx;
    return load_code(&errs);
}

static int add_once(void *ctx)
{
    struct keyring_key wanted = {.tenant = "t", .note = ""};
    char key[KEYRING_KEY_LEN + 1] = "untouched";
    struct err_list errs;
    (void)ctx;
    err_list_init(&errs);
    int r = keyfile_add(path, &wanted, key, &errs);
    assert_true(r == 0 || (strcmp(key, "untouched") == 0 && errs.n == 1));
    return r;
}

static int remove_once(void *ctx)
{
    char tenant[KEYRING_NAME_MAX];
    struct err_list errs;
    err_list_init(&errs);
    return keyfile_remove(path, span_of((const char *)ctx + 4, 8), tenant, &errs);
}

static void without_memory(void **state)
{
    (void)state;
    char key[KEYRING_KEY_LEN + 1];
    add("t", key);
    assert_true(memfail_each(load_once, NULL) > 5);
    assert_true(memfail_each(add_once, NULL) > 5);
    assert_true(memfail_each(remove_once, key) > 5);
    struct keyring *ring = load();
    assert_int_equal(keyring_n(ring), 1);
    keyring_unref(ring);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(added_keys_are_found),
        IN_DIR(the_files_are_private_and_without_secrets),
        IN_DIR(removed_keys_are_unknown),
        IN_DIR(removing_makes_no_file),
        IN_DIR(mistakes_have_places),
        IN_DIR(all_mistakes_are_told),
        IN_DIR(too_many_mistakes),
        IN_DIR(unfit_wishes_are_refused),
        IN_DIR(readable_files_are_refused),
        IN_DIR(missing_files),
        IN_DIR(a_pepper_that_stays_is_used),
        IN_DIR(changes_are_seen),
        IN_DIR(writers_at_once_lose_nothing),
        IN_DIR(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
