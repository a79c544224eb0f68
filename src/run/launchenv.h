/* Passes settings from `profwrap LAUNCHER` to the ranks that its launcher starts, and lets it find
 * their directories later. Called by cmd_run.c and cmd_launch.c. Tool code; the program and the
 * merge must not inherit the variable (pw_launchenv_forget()). */
#ifndef PW_RUN_LAUNCHENV_H
#define PW_RUN_LAUNCHENV_H

#include "rank/run/identity.h"

/* The values from the environment. All are NULL and 0 when this process was not started under
 * `profwrap LAUNCHER`. */
struct pw_launchenv {
    char *name;  /* unique name of the launch */
    char *had;   /* the rank variables that its launcher had (rankenv.h) */
    char **argv; /* argv[0] and options of `profwrap run` */
    int argc;
    const char *output; /* directory in which it looks for rank files; set when the options are
                         * parsed */
};

/* Reads the variable. The strings are never freed, because options point to them. */
void pw_launchenv_read(struct pw_launchenv *out);

/* Removes the launch library and the variable from the environment, so that the program and its
 * children run as without them. */
void pw_launchenv_forget(void);

/* Adds both to the environment, for a launcher that is started next. `words` are options of
 * `profwrap run`. Returns 0 or -errno. */
int pw_launchenv_tell(const char *name, char *const *words, int count);

/* Called by a rank: marks the output directory as used by a rank of this launch. Returns 0 or
 * -errno. */
int pw_launchenv_mark(const char *dir, const char *name, const struct pw_identity *id);

/* Returns the number of ranks of the job in `dir` when this launch started its rank 0; 0 when it
 * started only other ranks, -ENOENT when it started none. */
int pw_launchenv_find(const char *dir, const char *name);

#endif
