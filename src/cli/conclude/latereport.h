/* The report on a job that nobody has merged: its processes were all killed, as batch systems do,
 * or another process of profwrap is just about to merge it. Called by `profwrap report` before it
 * is confined. Tool code. */
#ifndef PW_CLI_LATEREPORT_H
#define PW_CLI_LATEREPORT_H

/* Makes DIR/cluster.h5 when `dir` has files of ranks and no cluster.h5. Waits for a process that
 * concludes the job (pw_latereport_lock()); else recovers ranks whose collectors were killed, and
 * merges; `epoch` is that of the directory, "" when it was not asked for. Returns 0, also when
 * there is nothing to merge; after a message, -EBUSY when ranks still run, or -EIO. */
int pw_latereport_make(const char *dir, const char *epoch);

/* Shows pw_latereport_make() until this process ends that it concludes the job in `dir`. */
void pw_latereport_lock(const char *dir);

#endif
