/* Runs pystack and reads its output; see pystack.h. */
#include "rank/live/pystack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"

#define PATIENCE_NS (4 * (int64_t)1000000000)

enum { MOST_OUTPUT = 1 << 20, MOST_FRAMES = 1 << 15, FRAME_TEXT = 512 };

/* ---- finding and starting it ---- */

/* Whether the program runs Python: its file, or a library of it, is the interpreter. */
static bool is_python(pid_t pid)
{
    char path[64], line[PATH_MAX + 128];
    bool is = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !is && fgets(line, sizeof(line), file)) {
        const char *slash = strrchr(line, '/');
        is = slash && (strncmp(slash, "/libpython", 10) == 0 || strncmp(slash, "/python", 7) == 0);
    }
    if (file)
        fclose(file);
    return is;
}

/* Finds pystack in the directory of the interpreter, as the program was called. */
static bool find_beside(pid_t pid, char path[PATH_MAX])
{
    char name[64], command[PATH_MAX / 2];
    snprintf(name, sizeof(name), "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(name, "re");
    const size_t n = file ? fread(command, 1, sizeof(command) - 1, file) : 0;
    if (file)
        fclose(file);
    command[n] = '\0';
    char *slash = strrchr(command, '/');
    if (command[0] != '/' || !slash)
        return false;
    *slash = '\0';
    snprintf(path, PATH_MAX, "%s/pystack", command);
    return access(path, X_OK) == 0;
}

static bool find_in_path(char path[PATH_MAX])
{
    const char *at = getenv("PATH");
    while (at && *at) {
        const size_t length = strcspn(at, ":");
        snprintf(path, PATH_MAX, "%.*s/pystack", (int)length, at);
        if (length && access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* In the child: a grandchild becomes pystack, whose parent becomes the guard, which waits for all
 * children. */
static void run_pystack(const char *path, pid_t pid, int output)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", (int)pid);
    setpgid(0, 0);
    if (fork() != 0)
        _exit(0);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    unsetenv("LD_PRELOAD");
    unsetenv("LD_AUDIT");
    execl(path, path, "remote", "--no-color", "--no-block", number, (char *)NULL);
    _exit(127);
}

void pw_pystack_start(struct pw_pystack *p, pid_t pid, int64_t now_ns)
{
    char path[PATH_MAX];
    int ends[2];
    *p = (struct pw_pystack){.fd = -1, .until_ns = now_ns + PATIENCE_NS};
    if (!is_python(pid))
        return;
    if (!find_beside(pid, path) && !find_in_path(path)) {
        snprintf(p->problem, sizeof(p->problem),
                 "pystack is not installed: pip install pystack, beside the program's Python");
        return;
    }
    p->output = malloc(MOST_OUTPUT);
    if (!p->output || pipe2(ends, O_CLOEXEC)) {
        snprintf(p->problem, sizeof(p->problem), "%s", strerror(errno));
        return;
    }
    const pid_t child = fork();
    if (child == 0)
        run_pystack(path, pid, ends[1]);
    close(ends[1]);
    if (child > 0) {
        setpgid(child, child);
        waitpid(child, NULL, 0);
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    p->group = child;
    p->fd = ends[0];
}

int pw_pystack_poll(struct pw_pystack *p, int64_t now_ns)
{
    ssize_t n = 0;
    if (p->fd < 0)
        return 1;
    do {
        n = read(p->fd, p->output + p->used, MOST_OUTPUT - 1 - p->used);
        p->used += n > 0 ? (size_t)n : 0;
    } while (n > 0 && p->used < MOST_OUTPUT - 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR) && now_ns < p->until_ns)
        return 0;
    if (n != 0) { /* it has not ended */
        kill(-p->group, SIGKILL);
        if (n < 0)
            snprintf(p->problem, sizeof(p->problem), "pystack took longer than %d s",
                     (int)(PATIENCE_NS / 1000000000));
    }
    close(p->fd);
    p->fd = -1;
    p->group = 0;
    return 1;
}

void pw_pystack_finish(struct pw_pystack *p, struct pw_live *live)
{
    if (p->output) {
        p->output[p->used] = '\0';
        if (pw_pystack_merge(p->output, live) == 0 && !p->problem[0])
            snprintf(p->problem, sizeof(p->problem), "pystack said: %.*s",
                     (int)strcspn(p->output, "\n") < 120 ? (int)strcspn(p->output, "\n") : 120,
                     p->output);
    }
    snprintf(live->python_problem, sizeof(live->python_problem), "%s", p->problem);
    free(p->output);
    p->output = NULL;
}

/* ---- its output ---- */

/* The thread of a line such as "Traceback for thread 12620 (python3) [Has the GIL] (most recent
 * call last):"; -1 for other lines. */
static long thread_of(const char *line)
{
    static const char begin[] = "Traceback for thread ";
    return strncmp(line, begin, sizeof(begin) - 1) == 0 ? strtol(line + sizeof(begin) - 1, NULL, 10)
                                                        : -1;
}

/* A frame, and where it is for people. */
struct frame {
    char text[FRAME_TEXT],
        place[PW_LIVE_PLACE]; /* "reduce (train.py:88)", "train.py:88 (reduce)" */
    bool is_of_library;       /* not of the user's own code */
};

/* "/profwrap/_" is a module of profwrap's own, which may be outside the interpreter's folders. */
static bool is_of_library(const char *path)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                        "/lib64/python3",  "<frozen ",        "/profwrap/_"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(path, parts[i]))
            return true;
    return false;
}

/* Reads the line `    (Python) File "/home/me/train.py", line 88, in reduce`. Returns false for
 * other lines. */
static bool read_frame(const char *line, size_t length, struct frame *out)
{
    static const char begin[] = "(Python) File \"", middle[] = "\", line ", then[] = ", in ";
    char text[2 * FRAME_TEXT];
    if (length >= sizeof(text))
        return false;
    memcpy(text, line, length);
    text[length] = '\0';
    char *path = strstr(text, begin), *number = path ? strstr(path, middle) : NULL;
    char *name = number ? strstr(number, then) : NULL;
    if (!name)
        return false;
    *number = *name = '\0';
    path += sizeof(begin) - 1;
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path, *function = name + sizeof(then) - 1;
    const long at = strtol(number + sizeof(middle) - 1, NULL, 10);
    snprintf(out->text, sizeof(out->text), "%.200s (%.200s:%ld)", function, file, at);
    snprintf(out->place, sizeof(out->place), "%.110s:%ld (%.110s)", file, at, function);
    out->is_of_library = is_of_library(path);
    for (char *c = out->text; *c; c++)
        *c = *c == ';' ? ',' : *c; /* it separates frames */
    return true;
}

/* The frames of a stack that are inside the interpreter's innermost evaluation of a function: what
 * Python has called. "" when it is in Python itself. */
static const char *below_python(const char *frames)
{
    const char *inside = frames;
    for (const char *at = frames; *at; at += at[0] == ';') {
        const size_t length = strcspn(at, ";");
        if (strncmp(at, "_PyEval_", 8) == 0 || strncmp(at, "PyEval_", 7) == 0)
            inside = at[length] ? at + length + 1 : at + length;
        at += length;
    }
    return inside == frames ? "" : inside;
}

static struct pw_live_stack *stack_of(struct pw_live *live, long tid)
{
    for (size_t i = 0; i < live->nstacks; i++)
        if (live->stacks[i].tid == tid)
            return &live->stacks[i];
    struct pw_live_stack *stacks =
        live->nstacks < PW_LIVE_THREADS
            ? realloc(live->stacks, (live->nstacks + 1) * sizeof(*stacks))
            : NULL;
    if (!stacks)
        return NULL;
    live->stacks = stacks;
    stacks[live->nstacks] = (struct pw_live_stack){.tid = (int32_t)tid, .text = strdup("")};
    return stacks[live->nstacks].text ? &stacks[live->nstacks++] : NULL;
}

/* What has been read of a thread. */
struct reading {
    char *frames, place[PW_LIVE_PLACE], state[160];
    size_t used;
    bool has_own; /* `place` is in the user's own code */
    long tid;     /* -1: no thread yet */
};

/* Replaces the interpreter's frames by Python's. */
static void put_frames(struct pw_live *live, const struct reading *r)
{
    struct pw_live_stack *stack = stack_of(live, r->tid);
    if (!stack || !r->frames[0])
        return;
    const char *inside = below_python(stack->text);
    const size_t size = strlen(r->frames) + strlen(inside) + 2;
    char *text = malloc(size);
    if (!text)
        return;
    snprintf(text, size, "%s%s%s", r->frames, inside[0] ? ";" : "", inside);
    free(stack->text);
    stack->text = text;
    snprintf(stack->place, sizeof(stack->place), "%s", r->place);
    stack->has_gil = strstr(r->state, "Has the GIL") != NULL;
    stack->collects = strstr(r->state, "Garbage") != NULL;
}

static void add_frame(struct reading *r, const struct frame *frame)
{
    if (r->used + sizeof(frame->text) + 2 >= MOST_FRAMES)
        return;
    r->used += (size_t)snprintf(r->frames + r->used, MOST_FRAMES - r->used, "%s%s",
                                r->used ? ";" : "", frame->text);
    if (frame->is_of_library && r->has_own)
        return;
    r->has_own = !frame->is_of_library;
    memcpy(r->place, frame->place, sizeof(r->place));
}

size_t pw_pystack_merge(const char *output, struct pw_live *live)
{
    struct reading r = {.frames = malloc(MOST_FRAMES), .tid = -1};
    struct frame frame;
    size_t n = 0;
    for (const char *line = output; r.frames && *line;) {
        const size_t length = strcspn(line, "\n");
        const long next = thread_of(line);
        if (next >= 0) {
            if (r.tid >= 0)
                put_frames(live, &r);
            r = (struct reading){.frames = r.frames, .tid = next};
            r.frames[0] = '\0';
            n++;
            snprintf(r.state, sizeof(r.state), "%.*s", (int)(length < 150 ? length : 150), line);
        } else if (r.tid >= 0 && read_frame(line, length, &frame)) {
            add_frame(&r, &frame);
        }
        line += length + (line[length] == '\n');
    }
    if (r.tid >= 0)
        put_frames(live, &r);
    free(r.frames);
    return n;
}
