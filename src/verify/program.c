/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/span.h"

enum { OUTPUT_MAX = 1024 * 1024, LOOK_US = 5000, WORDS_MAX = 300 };

/* --- start --- */

/* What runs beside us needs no keys: all of it is on loopback. */
static const char *const variables[] = {"PATH",
                                        "HOME",
                                        "LANG",
                                        "LC_ALL",
                                        "TZ",
                                        "TMPDIR",
                                        "LD_LIBRARY_PATH",
                                        "ASAN_OPTIONS",
                                        "LSAN_OPTIONS",
                                        "UBSAN_OPTIONS",
                                        "TSAN_OPTIONS",
                                        NULL};

/* In the child: everything that may fail ends it with 127, which its parent sees soon enough. */
static void become(const struct verify_program *p, const char *path, const char *const *args,
                   pid_t parent)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    char self[] = "/proc/self/exe", name[] = "inferometer";
    char *few[ARRAY_LEN(variables)];
    char *argv[VERIFY_ARGS_MAX + 2] = {path ? (char *)(uintptr_t)path : name};
    sigset_t none;
    int in = open("/dev/null", O_RDONLY);
    int out = open(p->out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int log = open(p->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    for (size_t i = 0; i < VERIFY_ARGS_MAX && args[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)args[i];
    if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(127);
    if (in < 0 || out < 0 || log < 0 || dup2(in, STDIN_FILENO) < 0 ||
        dup2(out, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        _exit(127);
    (void)close_range(STDERR_FILENO + 1, ~0U, 0);
    (void)sigaction(SIGPIPE, &usual, NULL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)environment_pick(variables, few, ARRAY_LEN(few));
    (void)execve(path ? path : self, argv, few);
    _exit(127);
}

int verify_program_start(struct verify_program *p, const char *name, const char *dir,
                         const char *path, const char *const *args, struct err *reterr)
{
    pid_t parent = getpid();
    int n_out = snprintf(p->out, sizeof(p->out), "%s/%s.out", dir, name);
    int n_log = snprintf(p->log, sizeof(p->log), "%s/%s.log", dir, name);

    p->name = name;
    p->pid = 0;
    if (n_out >= (int)sizeof(p->out) || n_log >= (int)sizeof(p->log))
        return err_set(reterr, -ENAMETOOLONG, "\"%.300s\" is too long", dir);
    p->pid = fork();
    if (p->pid == 0)
        become(p, path, args, parent);
    if (p->pid > 0) {
        (void)setpgid(p->pid, p->pid); /* the child does it, too: whoever comes first */
        return 0;
    }
    p->pid = 0;
    return err_set(reterr, -errno, "%s could not be started: %s", name, err_str(-errno));
}

bool verify_program_find(const char *command, char *dst, size_t cap)
{
    const char *path = getenv("PATH");
    struct span rest = span_cstr(path ? path : "/usr/local/bin:/usr/bin:/bin");

    while (rest.n > 0) {
        struct span dir = span_split(&rest, ':');
        int n = snprintf(dst, cap, "%.*s/%s", SPAN_ARG(dir), command);
        if (dir.n > 0 && n > 0 && (size_t)n < cap && access(dst, X_OK) == 0)
            return true;
    }
    return false;
}

/* --- what it says --- */

int verify_program_output(const struct verify_program *p, struct buf *out)
{
    return file_read(p->out, OUTPUT_MAX, out);
}

bool verify_program_word(const struct verify_program *p, const char *behind, char *dst, size_t cap)
{
    struct buf text;
    struct span s;
    bool is_there = false;

    buf_init(&text, OUTPUT_MAX + 1);
    if (verify_program_output(p, &text) == 0) {
        s = buf_span(&text);
        s = span_from(s, span_find(s, span_cstr(behind)) + strlen(behind));
        size_t n = 0;
        while (n < s.n && !strchr(" \r\n", s.p[n]))
            n++;
        is_there = n > 0 && n < s.n && n < cap; /* its end was written, too */
        if (is_there)
            (void)span_copy(span_of(s.p, n), dst, cap);
    }
    buf_done(&text);
    return is_there;
}

static bool is_hint(struct span line)
{
    return line.n == 0 || line.p[0] == ' ' || line.p[0] == '\t' ||
           span_starts_with(line, SPAN("hint: "));
}

/* The last line of its log that is neither empty nor a hint; of a Go program that
 * panicked the reason, not the end of the stack. */
void verify_program_last_words(const struct verify_program *p, char *dst, size_t cap)
{
    struct buf text;
    struct span rest, line = SPAN("");

    buf_init(&text, OUTPUT_MAX + 1);
    if (file_read(p->log, OUTPUT_MAX, &text) == 0) {
        rest = buf_span(&text);
        while (rest.n > 0) {
            struct span next = span_split(&rest, '\n');
            if (!is_hint(next))
                line = next;
            if (span_starts_with(next, SPAN("panic: ")))
                break;
        }
    }
    (void)span_copy(line, dst, cap);
    buf_done(&text);
}

/* What it started itself goes with it: its group is there until it is reaped. */
static int reap(struct verify_program *p)
{
    int status = 0;

    (void)kill(-p->pid, SIGKILL);
    (void)waitpid(p->pid, &status, 0);
    p->pid = 0;
    return status;
}

static bool has_ended(const struct verify_program *p)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

bool verify_program_is_over(struct verify_program *p, struct err *reterr)
{
    char words[WORDS_MAX];
    int status;

    if (p->pid <= 0 || !has_ended(p))
        return false;
    status = reap(p);
    verify_program_last_words(p, words, sizeof(words));
    if (words[0] != '\0')
        (void)err_set(reterr, -ECHILD, "%s ended: %s", p->name, words);
    else if (WIFEXITED(status))
        (void)err_set(reterr, -ECHILD, "%s ended with status %d", p->name, WEXITSTATUS(status));
    else
        (void)err_set(reterr, -ECHILD, "%s was killed by signal %d", p->name, WTERMSIG(status));
    return true;
}

/* --- the end --- */

void verify_program_stop(struct verify_program *p, int64_t patience_ms)
{
    mono_t until = mono_add(clock_mono(), patience_ms * NS_PER_MS);

    if (p->pid <= 0)
        return;
    (void)kill(-p->pid, SIGTERM);
    while (!has_ended(p) && mono_diff(clock_mono(), until) <= 0)
        (void)usleep(LOOK_US);
    (void)reap(p);
}
