/* Answers about a job that still runs, of which there is no cluster file yet: the live figures of
 * its ranks, whatever the question. Used by `profwrap ask`, and by `profwrap mcp` through a process
 * of its own, because asking the ranks makes a file in their directory for a moment, as `profwrap
 * ctl status` does, and the server may make none. Tool code; ends no process. */
#ifndef PW_CLI_LIVEANSWER_H
#define PW_CLI_LIVEANSWER_H

#include <jansson.h>
#include <stddef.h>

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
