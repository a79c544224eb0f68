/* Counts rows and draws the line on the terminal; see progress.h. */
#include "aggregate/input/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 20, LINE = 78, EVERY_MS = 200 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Opens the terminal that the end of a job has found, or that of the mpirun that started this
 * process. NULL when there is none. */
static FILE *open_launchers_terminal(void)
{
    char path[4096];
    const char *given = getenv("PROFWRAP_PROGRESS_TERMINAL");
    if (!given && !getenv("OMPI_COMM_WORLD_RANK"))
        return NULL;
    if (given)
        snprintf(path, sizeof(path), "%s", given);
    else
        snprintf(path, sizeof(path), "/proc/%ld/fd/2", (long)getppid());
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && isatty(fd))
        return fdopen(fd, "w");
    if (fd >= 0)
        close(fd);
    return NULL;
}

static FILE *terminal;

void pw_progress_find_terminal(void)
{
    terminal = isatty(STDERR_FILENO) ? stderr : open_launchers_terminal();
}

void pw_progress_begin(struct pw_progress *p)
{
    p->to = terminal;
    p->begun_ns = p->shown_ns = now_ns();
}

static void write_left(double seconds, char *out, size_t size)
{
    long left = (long)(seconds + 0.5);
    if (left < 100)
        snprintf(out, size, "%ld s", left);
    else if (left < 6000)
        snprintf(out, size, "%ld min %02ld s", left / 60, left % 60);
    else
        snprintf(out, size, "%ld h %02ld min", left / 3600, left / 60 % 60);
}

void pw_progress_line(const struct pw_progress *p, int64_t elapsed_ns, char *out, size_t size)
{
    double share = p->total > 0 ? (double)p->done / (double)p->total : 0;
    share = share < 1 ? share : 1;
    double seconds = (double)elapsed_ns * 1e-9;
    char bar[WIDTH + 1], left[48] = "?";
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < (int)(share * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    if (share > 0)
        write_left(seconds * (1 - share) / share, left, sizeof(left));
    snprintf(out, size, "[%s] %d %%, %.1f million events/s, %s left", bar, (int)(100 * share),
             share * (double)p->events / seconds * 1e-6, left);
}

void pw_progress_add(struct pw_progress *p, int64_t rows)
{
    p->done += rows;
    if (!p->to)
        return;
    int64_t now = now_ns();
    if (now - p->shown_ns < EVERY_MS * (int64_t)1000000)
        return;
    char line[128];
    p->shown_ns = now;
    pw_progress_line(p, now - p->begun_ns, line, sizeof(line));
    fprintf(p->to, "\rmerging %-*s", LINE - 8, line);
    fflush(p->to);
}

void pw_progress_end(struct pw_progress *p)
{
    if (p->to && p->shown_ns != p->begun_ns) {
        fprintf(p->to, "\r%*s\r", LINE, "");
        fflush(p->to);
    }
    if (p->to && p->to != stderr)
        fclose(p->to);
    p->to = NULL;
}
