/* Remembers which file is being read, for signal handlers; see h5watch.h. */
#include "core/h5/h5watch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/log.h"

enum { FILES = 4, NAME = 4352, TICK_S = 5, MOST_TICKS = 2, STACK = 1 << 16 };

/* An open file and its name. When more than FILES are open, the names of the last ones are kept. */
struct named {
    hid_t file; /* 0: unused */
    char path[NAME];
};

/* A file-scope variable, because a signal handler gets no pointer of ours. */
static struct {
    struct named files[FILES];
    int next;
    const struct named *volatile now; /* the file that was read last; NULL before the first one */
    volatile sig_atomic_t open, touches;
    int ticks, touches_seen; /* counted by the timer's handler */
} watch;

static void add(char *line, size_t size, size_t *used, const char *text)
{
    for (; *text && *used < size; text++)
        line[(*used)++] = *text;
}

/* Prints and exits, by async-signal-safe functions only. */
__attribute__((noreturn)) static void give_up(const char *why)
{
    static char line[NAME + 256];
    size_t used = 0;
    add(line, sizeof(line) - 1, &used, "profwrap: ");
    add(line, sizeof(line) - 1, &used, watch.now ? watch.now->path : "a file");
    add(line, sizeof(line) - 1, &used, why);
    line[used++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
    _exit(1);
}

static void on_crash(int signal)
{
    if (!watch.now) { /* nothing was read yet, so no file is the cause */
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(signal, &standard, NULL);
        raise(signal);
        return;
    }
    give_up(" cannot be read: it is damaged in a way that makes the HDF5 library or this program"
            " crash (PROFWRAP_LOG=crash:1 leaves the crash to a debugger)");
}

static void on_tick(int signal)
{
    (void)signal;
    int moved = watch.touches != watch.touches_seen;
    watch.touches_seen = watch.touches;
    watch.ticks = moved || !watch.open ? 0 : watch.ticks + 1;
    if (watch.ticks >= MOST_TICKS)
        give_up(" cannot be read: it is damaged, and the HDF5 library does not finish reading it");
}

static void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

void pw_h5_watch_install(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct itimerval tick = {{TICK_S, 0}, {TICK_S, 0}};
    static char stack[STACK]; /* a damaged file can also make HDF5 recurse until the stack ends */
    handle(SIGPROF, on_tick, SA_RESTART);
    setitimer(ITIMER_PROF, &tick, NULL);
#ifndef __SANITIZE_ADDRESS__
    if (pw_log_wants(PW_LOG_CRASH, 1))
        return;
    stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        handle(crashes[i], on_crash, SA_ONSTACK);
#else
    (void)crashes, (void)stack, (void)on_crash; /* the sanitizer's report says more */
#endif
}

void pw_h5_watch_open(const char *path)
{
    struct named *named = &watch.files[watch.next];
    named->file = 0;
    snprintf(named->path, sizeof(named->path), "%s", path);
    watch.now = named;
    watch.open++;
    watch.touches++;
}

void pw_h5_watch_opened(hid_t file)
{
    if (file < 0) {
        watch.open--;
        return;
    }
    watch.files[watch.next].file = file;
    watch.next = (watch.next + 1) % FILES;
}

void pw_h5_watch_touch(hid_t file)
{
    watch.touches++;
    for (int i = 0; i < FILES; i++)
        if (watch.files[i].file == file)
            watch.now = &watch.files[i];
}

void pw_h5_watch_progress(void)
{
    watch.touches++;
}

void pw_h5_watch_closed(hid_t file)
{
    pw_h5_watch_touch(file);
    watch.open--;
}
