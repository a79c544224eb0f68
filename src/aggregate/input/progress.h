/* How far the merge is, on the terminal of the person who waits for it: share, events per second
 * and time left. merge_main.c finds the terminal, job.c begins and ends, and what reads rows adds
 * them. Only process 0 writes, and only to a terminal. */
#ifndef PW_AGGREGATE_INPUT_PROGRESS_H
#define PW_AGGREGATE_INPUT_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

struct pw_progress {
    FILE *to;            /* NULL: nothing is shown */
    int64_t events;      /* of the job */
    int64_t done, total; /* rows that this process has read, and will have when all is done */
    int64_t begun_ns, shown_ns;
};

/* Looks for a terminal: standard error, or, under mpirun, which puts a pipe before it, that of
 * mpirun. Only for one process, and before it gives up access to others (cli/confine.h). */
void pw_progress_find_terminal(void);

/* Where there is none, nothing is shown. */
void pw_progress_begin(struct pw_progress *progress);

/* Shows it, at most 5 times a second. `rows` have been read. */
void pw_progress_add(struct pw_progress *progress, int64_t rows);

/* Wipes the line. */
void pw_progress_end(struct pw_progress *progress);

/* "[#####...............] 25 %, 3.2 million events/s, 12 s left"; `elapsed_ns` > 0. */
void pw_progress_line(const struct pw_progress *progress, int64_t elapsed_ns, char *out,
                      size_t size);

#endif
