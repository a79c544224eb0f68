/* A line on the user's terminal while the files of a job's ranks are waited for: how many are
 * closed, and after 2 s for which rank it waits. Used by conclude.c. Without a terminal, nothing is
 * written. The line is cleared at the end, so that it is no part of the output. */
#ifndef PW_CLI_WAITLINE_H
#define PW_CLI_WAITLINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Has the path of the terminal for a merge whose standard error is a pipe of mpirun. */
#define PW_PROGRESS_TERMINAL "PROFWRAP_PROGRESS_TERMINAL"

enum pw_waited { PW_WAITED_NONE, PW_WAITED_WRITTEN, PW_WAITED_CLOSED };

struct pw_waitline {
    FILE *to; /* NULL: nothing is shown */
    int ranks;
    uint8_t *files; /* [ranks] enum pw_waited; NULL: nothing is shown */
    int64_t begun_ms;
    int is_shown;
};

/* Writes the path of the terminal of this process to `path`; or, if the launcher waits for it, that
 * of the mpirun that started it. "" when there is none, or one that cannot move its cursor. */
void pw_waitline_terminal(char *path, size_t size, int is_launcher_waiting);

/* Begins on the terminal at `path`; "": shows nothing. */
void pw_waitline_begin(struct pw_waitline *line, const char *path, int ranks, int64_t now_ms);

/* Shows what `files` has. */
void pw_waitline_show(struct pw_waitline *line, int64_t now_ms);

/* Clears the line. */
void pw_waitline_end(struct pw_waitline *line);

/* Writes the line to `out`, as it is after `waited_ms`. */
void pw_waitline_text(const struct pw_waitline *line, int64_t waited_ms, char *out, size_t size);

#endif
