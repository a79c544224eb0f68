/* A run that `profwrap ask` and `profwrap mcp` answer questions about: its cluster file in memory
 * and the figures of it, which are read again when the file has changed. Tool code; prints nothing.
 */
#ifndef PW_CLI_ASKEDRUN_H
#define PW_CLI_ASKEDRUN_H

#include <sys/stat.h>

#include "cli/results/clusterpath.h"
#include "report/answers/answers.h"

struct pw_askedrun {
    const char *given;   /* a directory or cluster file, as the user named it */
    char file[PATH_MAX]; /* the cluster file */
    struct stat status;  /* of the file when it was read */
    struct pw_cluster *cluster;
    struct pw_figures *figures;
};

/* Reads the run, unless it is in memory and the file is as it was. Returns 0, or -errno with one
 * sentence in `problem`. Before the first call all members but `given` are 0. */
int pw_askedrun_open(struct pw_askedrun *run, char problem[PW_CLI_PROBLEM]);

void pw_askedrun_close(struct pw_askedrun *run);

/* The run as questions take it; it borrows from `run`. */
struct pw_asked pw_askedrun_asked(const struct pw_askedrun *run);

#endif
