/* Finds the terminal, and writes the line; see waitline.h. */
#include "cli/conclude/waitline.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"

enum { LINE = 78, PATIENCE_MS = 2000 };

/* The terminal behind a descriptor, as /proc shows it. */
static void name_terminal(const char *descriptor, char *path, size_t size)
{
    const ssize_t length = readlink(descriptor, path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    const int fd = path[0] == '/' ? open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0 || !isatty(fd))
        path[0] = '\0';
    if (fd >= 0)
        close(fd);
}

void pw_waitline_terminal(char *path, size_t size, int is_launcher_waiting)
{
    const char *kind = getenv("TERM");
    char launchers[64];
    path[0] = '\0';
    if (!kind || !kind[0] || strcmp(kind, "dumb") == 0)
        return;
    if (isatty(STDERR_FILENO))
        name_terminal("/proc/self/fd/2", path, size);
    else if (is_launcher_waiting && getenv("OMPI_COMM_WORLD_RANK")) {
        snprintf(launchers, sizeof(launchers), "/proc/%ld/fd/2", (long)getppid());
        name_terminal(launchers, path, size);
    }
}

void pw_waitline_begin(struct pw_waitline *line, const char *path, int ranks, int64_t now_ms)
{
    *line = (struct pw_waitline){.ranks = ranks, .begun_ms = now_ms};
    if (!path[0])
        return;
    line->files = calloc((size_t)ranks + 1, 1);
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    line->to = fd >= 0 && line->files ? fdopen(fd, "w") : NULL;
    if (!line->to && fd >= 0)
        close(fd);
}

void pw_waitline_text(const struct pw_waitline *line, int64_t waited_ms, char *out, size_t size)
{
    int closed = 0, first = -1;
    for (int r = 0; r < line->ranks; r++) {
        closed += line->files[r] == PW_WAITED_CLOSED;
        first = first < 0 && line->files[r] != PW_WAITED_CLOSED ? r : first;
    }
    struct pw_sentence s = pw_sentence_on(out, size);
    pw_sentence_add(&s, "closing files: %d of %d", closed, line->ranks);
    if (waited_ms < PATIENCE_MS || first < 0)
        return;
    pw_sentence_add(&s, "; waiting for rank %d%s", first,
                    line->files[first] == PW_WAITED_WRITTEN ? ", whose file is not closed yet"
                                                            : ", of which there is no file");
    if (line->ranks - closed > 1)
        pw_sentence_add(&s, " (and %d more)", line->ranks - closed - 1);
}

void pw_waitline_show(struct pw_waitline *line, int64_t now_ms)
{
    char text[160];
    if (!line->to)
        return;
    pw_waitline_text(line, now_ms - line->begun_ms, text, sizeof(text));
    fprintf(line->to, "\r%-*.*s", LINE, LINE, text);
    fflush(line->to);
    line->is_shown = 1;
}

void pw_waitline_end(struct pw_waitline *line)
{
    if (line->to) {
        if (line->is_shown)
            fprintf(line->to, "\r%*s\r", LINE, "");
        fclose(line->to);
    }
    free(line->files);
    *line = (struct pw_waitline){.to = NULL};
}
