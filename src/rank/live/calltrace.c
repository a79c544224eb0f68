/* Stops a process by ptrace, unwinds its threads by elfutils' libdwfl, and continues it; then looks
 * up the names. See calltrace.h.
 *
 * Uses PTRACE_SEIZE and PTRACE_INTERRUPT, not PTRACE_ATTACH: they send no signal, so if the tracer
 * is killed, the process continues instead of staying stopped. */
#include "rank/live/calltrace.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "rank/file/callstacks.h"
#include "rank/ring/tick.h"

/* ---- names of C++ ---- */

enum { NAME = 512, LONG_LIST = 24 };

typedef char *demangler(const char *name, char *out, size_t *size, int *status);

static demangler *find_demangler(void)
{
    static demangler *found;
    static bool is_tried;
    if (is_tried)
        return found;
    is_tried = true;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&found, &symbol, sizeof(found));
    return found;
}

/* The end of the bracket that begins at `at`: behind it, or the end of the text. */
static const char *behind(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '<' || *at == '(';
        depth -= (*at == '>' && at[-1] != '-') || *at == ')';
        if (depth == 0)
            return at + 1;
    }
    return at;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

const char *pw_demangle_shorten(const char *name, char *out, size_t size)
{
    static const char anonymous[] = "(anonymous namespace)", word[] = "operator";
    size_t used = 0;
    for (const char *at = name; *at && used + sizeof(anonymous) < size;) {
        if (begins(at, anonymous)) {
            used += (size_t)snprintf(out + used, size - used, "%s", anonymous);
            at += sizeof(anonymous) - 1;
        } else if (begins(at, word)) { /* its brackets are its name */
            const size_t length = sizeof(word) - 1 + strcspn(at + sizeof(word) - 1, "(") +
                                  (begins(at + sizeof(word) - 1, "()") ? 2 : 0);
            used += (size_t)snprintf(out + used, size - used, "%.*s", (int)length, at);
            break;
        } else if (*at == '(') {
            break;
        } else if (*at == '<' && behind(at) - at > LONG_LIST) {
            used += (size_t)snprintf(out + used, size - used, "<...>");
            at = behind(at);
        } else {
            out[used++] = *at++;
        }
    }
    out[used < size ? used : size - 1] = '\0';
    return out;
}

void pw_demangle(char *text, size_t size)
{
    char mangled[NAME], rest[NAME], brief[NAME];
    const size_t length = strcspn(text, " +@");
    demangler *demangle = text[0] == '_' && text[1] == 'Z' ? find_demangler() : NULL;
    int status = -1;
    if (!demangle || length >= sizeof(mangled) || strlen(text + length) >= sizeof(rest))
        return;
    memcpy(mangled, text, length);
    mangled[length] = '\0';
    strcpy(rest, text + length);
    char *name = demangle(mangled, NULL, NULL, &status);
    if (status == 0 && name) {
        pw_demangle_shorten(name, brief, sizeof(brief));
        if (strlen(brief) + strlen(rest) < size && !strchr(brief, ';'))
            sprintf(text, "%s%s", brief, rest);
    }
    free(name);
}

/* How long to wait for a thread to stop. A thread in uninterruptible sleep does not stop. */
#define PATIENCE_NS ((int64_t)500000000)

enum { FRAME_TEXT = 512 };

struct thread {
    pid_t tid;
    bool is_seized, is_stopped;
    int signal; /* a signal that the thread was about to get; delivered when it continues */
    size_t n;
    Dwarf_Addr pc[PW_LIVE_FRAMES]; /* innermost first; within the calling instruction */
};

struct trace {
    pid_t pid;
    Dwfl *dwfl;
    struct thread *threads; /* [PW_LIVE_THREADS] */
    size_t n;
    int64_t stopped_ns;
};

/* ---- stopping ---- */

/* The number after "NAME:" in /proc/PID/status; -1 when it cannot be read. */
static long read_status(pid_t pid, const char *name)
{
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    size_t length = strlen(name);
    while (file && value < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = strtol(line + length + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static bool is_known(const struct trace *trace, pid_t tid)
{
    for (size_t i = 0; i < trace->n; i++)
        if (trace->threads[i].tid == tid)
            return true;
    return false;
}

/* Seizes threads that are not seized yet. Returns their number, or -errno when the first thread
 * cannot be seized. */
static int seize_new(struct trace *trace)
{
    char path[64];
    int found = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)trace->pid);
    DIR *stream = opendir(path);
    if (!stream)
        return -errno;
    for (struct dirent *e = readdir(stream); e; e = readdir(stream)) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid <= 0 || trace->n == PW_LIVE_THREADS || is_known(trace, tid))
            continue;
        if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
            if (errno == ESRCH)
                continue; /* the thread has just ended */
            found = -errno;
            break;
        }
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        trace->threads[trace->n++] = (struct thread){.tid = tid, .is_seized = true};
        found++;
    }
    closedir(stream);
    return found;
}

/* Waits for the thread to stop. Does not reap its end, which belongs to the process's parent. */
static void await_stop(struct thread *thread, int64_t until_ns)
{
    const struct timespec pause = {.tv_nsec = 50000};
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL) == 0) {
        if (info.si_pid) {
            int event = info.si_status >> 8;
            thread->is_stopped = true;
            thread->signal = event ? 0 : info.si_status & 0x7f;
            return;
        }
        if (pw_local_ns() > until_ns)
            return;
        nanosleep(&pause, NULL);
    }
}

static int stop(struct trace *trace)
{
    int64_t until = pw_local_ns() + PATIENCE_NS;
    /* Repeat until there is no new thread: threads that still run may create others. */
    for (;;) {
        size_t first = trace->n;
        int found = seize_new(trace);
        for (size_t i = first; i < trace->n; i++)
            await_stop(&trace->threads[i], until);
        if (found <= 0)
            return found;
    }
}

/* Continues the threads. A thread that has not stopped yet will stop later and stay stopped, so
 * wait for it first. */
static void detach(struct trace *trace)
{
    for (size_t i = 0; i < trace->n; i++) {
        struct thread *thread = &trace->threads[i];
        if (!thread->is_stopped)
            await_stop(thread, pw_local_ns() + PATIENCE_NS);
        if (thread->is_stopped)
            ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
    }
}

/* ---- unwinding ---- */

static int note_frame(Dwfl_Frame *frame, void *arg)
{
    struct thread *thread = arg;
    Dwarf_Addr pc;
    bool is_interrupted;
    if (thread->n == PW_LIVE_FRAMES || !dwfl_frame_pc(frame, &pc, &is_interrupted))
        return DWARF_CB_ABORT;
    thread->pc[thread->n++] = is_interrupted ? pc : pc - 1;
    return DWARF_CB_OK;
}

/* Reads the unwind tables of a file before the process is stopped. */
static int read_module(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                       void *arg)
{
    GElf_Addr bias;
    Dwarf_Addr cfi_bias;
    (void)user, (void)name, (void)base, (void)arg;
    if (dwfl_module_getelf(module, &bias))
        dwfl_module_eh_cfi(module, &cfi_bias);
    return DWARF_CB_OK;
}

static int unwind(struct trace *trace)
{
    int64_t began = pw_local_ns();
    int err = stop(trace);
    if (!err && dwfl_linux_proc_attach(trace->dwfl, trace->pid, true) != 0)
        err = -EIO;
    for (size_t i = 0; !err && i < trace->n; i++)
        if (trace->threads[i].is_stopped)
            dwfl_getthread_frames(trace->dwfl, trace->threads[i].tid, note_frame,
                                  &trace->threads[i]);
    detach(trace);
    trace->stopped_ns = pw_local_ns() - began;
    return err;
}

/* ---- names ---- */

static void describe(const struct trace *trace, Dwarf_Addr pc, char text[FRAME_TEXT])
{
    const char *path = NULL, *name = NULL;
    Dwfl_Module *module = dwfl_addrmodule(trace->dwfl, pc);
    GElf_Addr bias = 0;
    if (module) {
        name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &path, NULL);
        dwfl_module_getelf(module, &bias);
    }
    const struct pw_symbol_place place = {module, pc, path ? path : name ? name : "", pc - bias};
    pw_symbols_write(&place, text, FRAME_TEXT);
    pw_demangle(text, FRAME_TEXT);
}

static char *describe_thread(const struct trace *trace, const struct thread *thread)
{
    char *all = malloc(thread->n * FRAME_TEXT + 1);
    size_t used = 0;
    if (!all)
        return NULL;
    all[0] = '\0';
    for (size_t i = thread->n; i-- > 0;) {
        char text[FRAME_TEXT];
        describe(trace, thread->pc[i], text);
        used += (size_t)sprintf(all + used, "%s%s", used ? ";" : "", text);
    }
    return all;
}

static void keep_stacks(const struct trace *trace, struct pw_live *live)
{
    live->stacks = calloc(trace->n + 1, sizeof(*live->stacks));
    for (size_t i = 0; live->stacks && i < trace->n; i++) {
        char *text = describe_thread(trace, &trace->threads[i]);
        if (text)
            live->stacks[live->nstacks++] =
                (struct pw_live_stack){.tid = trace->threads[i].tid, .text = text};
    }
    live->stopped_ns = trace->stopped_ns;
}

static void explain(struct pw_live *live, int err)
{
    if (err == -EPERM || err == -EACCES)
        snprintf(live->stack_problem, sizeof(live->stack_problem),
                 "tracing is not permitted here (kernel.yama.ptrace_scope, or a container without "
                 "CAP_SYS_PTRACE)");
    else
        snprintf(live->stack_problem, sizeof(live->stack_problem), "%.120s", strerror(-err));
}

void pw_calltrace_take(pid_t pid, struct pw_live *live)
{
    static char *debug_path; /* NULL: elfutils' own default */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .debuginfo_path = &debug_path,
    };
    struct trace trace = {.pid = pid};
    long tracer = read_status(pid, "TracerPid");
    if (tracer > 0) {
        snprintf(live->stack_problem, sizeof(live->stack_problem),
                 "process %ld traces the program already, a debugger perhaps", tracer);
        return;
    }
    unsetenv("DEBUGINFOD_URLS"); /* do not wait for servers of debug information during a hang */
    trace.dwfl = dwfl_begin(&callbacks);
    trace.threads = calloc(PW_LIVE_THREADS, sizeof(*trace.threads));
    int err = trace.dwfl && trace.threads ? 0 : -ENOMEM;
    if (!err && dwfl_linux_proc_report(trace.dwfl, pid) != 0)
        err = -ESRCH;
    if (!err) {
        dwfl_report_end(trace.dwfl, NULL, NULL);
        dwfl_getmodules(trace.dwfl, read_module, NULL, 0);
        err = unwind(&trace);
    }
    if (err)
        explain(live, err);
    else
        keep_stacks(&trace, live);
    dwfl_end(trace.dwfl);
    free(trace.threads);
}
