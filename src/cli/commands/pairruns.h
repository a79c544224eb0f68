/* Runs two commands several times, in turns, each under profwrap with a directory of its own.
 * Called by `profwrap compare --runs`. Tool code: it may print, and end the process. */
#ifndef PW_CLI_PAIRRUNS_H
#define PW_CLI_PAIRRUNS_H

#include <stddef.h>

struct pw_pairruns {
    char **argv[2]; /* the commands A and B, each with a NULL at its end */
    int pairs;
    const char *dir; /* is made; has a directory and a log of each run */
};

/* Runs A B, B A, A B, ...: so that neither is always the first. A command that has a word
 * `profwrap` runs as it is, any other as the program of `profwrap run`. Standard input is
 * /dev/null. The variables PROFWRAP_OUTPUT and PROFWRAP_QUIET are set. Prints a line after each
 * pair.
 *
 * Returns 0. When a run fails or leaves no profile, starts no further one and returns 1, with one
 * sentence in `problem`. On SIGINT, SIGTERM or SIGHUP, ends the run, and then this process by the
 * same signal. */
int pw_pairruns_run(const struct pw_pairruns *given, char *problem, size_t size);

/* Writes the directory of a run: DIR/a-1 of the first pair's A. Returns 0 or -ENAMETOOLONG. */
int pw_pairruns_dir(const char *dir, int side, int pair, char *out, size_t size);

#endif
