/* A run that `profwrap ask` and `profwrap mcp` answer questions about. Of a run with a cluster
 * file, this is the file in memory and the figures of it, which are read again when the file has
 * changed. Of a job that still runs, it is the live figures of its ranks, whatever the question.
 * Tool code; prints nothing and ends no process. */
#ifndef PW_CLI_ASKEDRUN_H
#define PW_CLI_ASKEDRUN_H

#include <jansson.h>
#include <stddef.h>
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

/* ---- while it runs; `profwrap mcp` asks through a process of its own, because asking the ranks
 * makes a file in their directory for a moment, as `profwrap ctl status` does, and the server may
 * make none ---- */

/* Returns the answer to the question of that name; NULL when `dir` has a cluster file, no rank runs
 * in it, or none answers. Prints nothing. */
json_t *pw_liveanswer(const char *dir, const char *question);

/* The process that asks the ranks for a server that is confined. */
struct pw_livehelper {
    int to, from; /* pipes to and from it; -1: there is none */
};

/* Starts it, before the server is confined. It knows these directories, and ends when the server
 * does. For a job that has ended and was not merged, it also runs `profwrap merge`. */
void pw_livehelper_start(struct pw_livehelper *helper, const char *const *dirs, size_t n);

/* Returns pw_liveanswer() for dirs[run]; NULL also when the process has died. */
json_t *pw_livehelper_ask(const struct pw_livehelper *helper, size_t run, const char *question);

#endif
