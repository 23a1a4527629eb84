/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scrape files, and files with groups of targets: every text is either accepted or has at least one
 * mistake with a place inside of it; what is accepted has all that a collector relies on, and its
 * targets are made or refused with a reason. The first byte chooses the kind of file.
 * fuzz-links: collect
 */
#include <errno.h>

#include "collect/target.h"
#include "pieces.h"

static struct err_list errs;

static void check_mistakes(struct span text)
{
    int n_lines = 1;

    for (size_t i = 0; i < text.n; i++)
        n_lines += text.p[i] == '\n' || text.p[i] == '\r' || (unsigned char)text.p[i] >= 0x80;
    FUZZ_CHECK(errs.n > 0);
    for (size_t i = 0; i < errs.n; i++) {
        FUZZ_CHECK(errs.items[i].err.text[0] != '\0');
        FUZZ_CHECK(errs.items[i].line >= 0 && errs.items[i].line <= n_lines + 1);
    }
}

static void check_target(const struct scrape_job *j, struct span address, struct labels group)
{
    struct err err = {.text = ""};
    struct web_request q;
    struct target *t;
    int r = target_new(j, address, group, (struct labels){NULL, 0}, &t, &err);

    FUZZ_CHECK(r == 0 || r == 1 || (r == -EINVAL && err.text[0]));
    if (r != 0)
        return;
    FUZZ_CHECK(span_starts_with(target_url(t), SPAN("http")));
    FUZZ_CHECK(labels_get(target_labels(t), SPAN("instance")).n > 0);
    FUZZ_CHECK(target_interval_ms(t) > 0 && target_offset_ms(t) < target_interval_ms(t));
    FUZZ_CHECK(target_timeout_ms(t) > 0 && target_timeout_ms(t) <= target_interval_ms(t));
    if (j->auth.password_file.n == 0 && j->auth.credentials_file.n == 0)
        FUZZ_CHECK(target_request(t, &q, &err) == 0 && q.timeout_ms > 0);
    (void)target_free(t);
}

static void check_job(const struct scrape_job *j)
{
    FUZZ_CHECK(j->name.n > 0 && j->path.n > 0);
    FUZZ_CHECK(span_eq(j->scheme, SPAN("http")) || span_eq(j->scheme, SPAN("https")));
    FUZZ_CHECK(j->timeout_ms > 0 && j->timeout_ms <= j->interval_ms);
    for (size_t i = 0; i < j->n_files; i++)
        FUZZ_CHECK(j->files[i].n > 0 && j->files[i].refresh_ms > 0);
    for (size_t i = 0; i < j->n_dns; i++)
        FUZZ_CHECK(j->dns[i].n > 0 && j->dns[i].refresh_ms > 0);
    for (size_t i = 0; i < j->n_groups; i++)
        for (size_t k = 0; k < j->groups[i].n; k++)
            check_target(j, j->groups[i].addresses[k], j->groups[i].labels);
}

static void read_file(struct span text)
{
    struct scrape_file *f = NULL;
    int r = scrape_file_read(text, "f", &f, &errs);

    FUZZ_CHECK(r == 0 ? f && errs.n == 0 : r == -EINVAL && !f);
    if (!f) {
        check_mistakes(text);
        return;
    }
    for (size_t i = 0; i < f->n; i++)
        check_job(&f->jobs[i]);
    scrape_file_unref(f);
}

static void read_groups(struct span text)
{
    struct scrape_group *groups = NULL;
    struct arena a;
    size_t n = 0;

    arena_init(&a, NULL);
    int r = jobfile_groups_read(text, "g", &a, &groups, &n, &errs);
    FUZZ_CHECK(r == 0 ? errs.n == 0 : r == -EINVAL);
    if (r < 0)
        check_mistakes(text);
    for (size_t i = 0; i < n && r == 0; i++)
        for (size_t k = 0; k < groups[i].labels.n; k++)
            FUZZ_CHECK(labels_is_label_name(groups[i].labels.at[k].name));
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text;

    if (size > 20000) /* slow for nothing */
        return 0;
    err_list_init(&errs);
    if (pieces_choice(data, size, &text) % 2 == 0)
        read_file(text);
    else
        read_groups(text);
    return 0;
}
