/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/span.h"
#include "base/stat.h"

/* Second number of /proc/self/statm: resident pages. */
static void sample_resident(void)
{
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    uint64_t pages;
    (void)span_split(&rest, ' ');
    if (num_parse_u64(span_split(&rest, ' '), &pages) == 0)
        stat_set(STAT_MEMORY_RESIDENT_BYTES, (int64_t)pages * sysconf(_SC_PAGESIZE));
}

static void sample_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int64_t n = 0;
    if (!d)
        return;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    stat_set(STAT_OPEN_DESCRIPTORS, n - 1); /* without the one that lists them */
}

void process_sample(void)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* stat_set looks and adds */
    pthread_mutex_lock(&one_at_a_time);
    sample_resident();
    sample_descriptors();
    stat_set(STAT_MEMORY_BLOCKS, mem_live_blocks());
    stat_set(STAT_MEMORY_ALLOCATIONS, (int64_t)mem_count_total().n_allocs);
    pthread_mutex_unlock(&one_at_a_time);
}

int process_start_thread(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *arg),
                         void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(ret, attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

void process_return_freed_memory(void)
{
    enum { PART_BYTES = 128 * KIB };
    (void)mallopt(M_MMAP_THRESHOLD, PART_BYTES); /* set, neither grows any more */
    (void)mallopt(M_TRIM_THRESHOLD, PART_BYTES);
}

static int forget_code_pages(struct dl_phdr_info *object, size_t size, void *arg)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    (void)arg;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W))
            continue;
        uintptr_t from = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
        uintptr_t to = (object->dlpi_addr + part->p_vaddr + part->p_memsz + page - 1) & ~(page - 1);
        (void)madvise((void *)from, to - from,
                      MADV_DONTNEED); /* a kernel that will not, need not */
    }
    return 0;
}

void process_forget_code_pages(void)
{
    (void)dl_iterate_phdr(forget_code_pages, NULL);
}

void process_name_thread(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name); /* a name of another is no harm */
}
