/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of name servers: read without a step outside, or refused. The first byte chooses the
 * type. fuzz-links: collect
 */
#include <errno.h>

#include "collect/dns.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span answer;
    enum scrape_dns_type type = (enum scrape_dns_type)(pieces_choice(data, size, &answer) % 4);
    struct dns_record *records = NULL;
    struct arena a;
    size_t n = 0;

    if (size > 65000)
        return 0;
    unsigned char *copy = mem_must(mem_alloc(answer.n + 1)); /* exact: a step outside is seen */
    memcpy(copy, answer.p, answer.n);
    arena_init(&a, NULL);
    int r = dns_answer_read(copy, (int)answer.n, type, &a, &records, &n);
    FUZZ_CHECK(r == 0 || r == -EBADMSG);
    for (size_t i = 0; i < n && r == 0; i++)
        FUZZ_CHECK(records[i].target.n > 0 && strlen(records[i].target.p) == records[i].target.n);
    arena_done(&a);
    mem_free(copy);
    return 0;
}
