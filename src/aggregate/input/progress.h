/* Shows the progress of the merge on the user's terminal: share, events per second and time left.
 * merge_main.c finds the terminal, job.c begins and ends, and the readers of tables add their rows.
 * Only process 0 writes, and only to a terminal. */
#ifndef PW_AGGREGATE_INPUT_PROGRESS_H
#define PW_AGGREGATE_INPUT_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

struct pw_progress {
    FILE *to;            /* NULL: nothing is shown */
    int64_t events;      /* events of the job */
    int64_t done, total; /* rows that this process has read, and will have read at the end */
    int64_t begun_ns, shown_ns;
};

/* Looks for a terminal: standard error, or, as mpirun makes that a pipe, the terminal of mpirun. To
 * be called by one process, before it confines itself (cli/confine.h). */
void pw_progress_find_terminal(void);

/* Begins to show progress, if there is a terminal. */
void pw_progress_begin(struct pw_progress *progress);

/* Adds `rows` that were read, and shows the progress at most 5 times a second. */
void pw_progress_add(struct pw_progress *progress, int64_t rows);

/* Clears the line. */
void pw_progress_end(struct pw_progress *progress);

/* Writes "[#####...............] 25 %, 3.2 million events/s, 12 s left" to `out`; `elapsed_ns` >
 * 0. */
void pw_progress_line(const struct pw_progress *progress, int64_t elapsed_ns, char *out,
                      size_t size);

#endif
