/* What `profwrap LAUNCHER` tells the ranks that its launcher starts, and how it finds them later.
 * Called by cmd_run.c and cmd_launch.c. Tool code; the program and the merge must not inherit the
 * variable (pw_launched_forget()). */
#ifndef PW_RUN_LAUNCHED_H
#define PW_RUN_LAUNCHED_H

#include "rank/run/identity.h"

/* Read from the environment. All NULL and 0 where this process was not started under
 * `profwrap LAUNCHER`. */
struct pw_launched {
    char *name;  /* of the launch */
    char *had;   /* the rank variables of its launcher: see rankenv.h */
    char **argv; /* options of `profwrap run`, behind an argv[0] */
    int argc;
    const char *output; /* where it looks for the ranks' files: set by who parses the options */
};

/* Reads the variable. What it points to is never freed: options point into it. */
void pw_launched_read(struct pw_launched *out);

/* Takes the launch library and the variable out of the environment: the program and its children
 * are to be as without them. */
void pw_launched_forget(void);

/* Puts both in, for a launcher that is started next: `words` are options of `profwrap run`. 0, or
 * -errno. */
int pw_launched_tell(const char *name, char *const *words, int count);

/* In an output directory, by a rank: it was started by this launch. 0 or -errno. */
int pw_launched_mark(const char *dir, const char *name, const struct pw_identity *id);

/* How many ranks the job in `dir` has if this launch started its rank 0; 0 when it started others
 * only, -ENOENT none. */
int pw_launched_find(const char *dir, const char *name);

#endif
