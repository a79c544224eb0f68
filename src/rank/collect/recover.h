/* Makes rank files from the journals that killed collectors left. Called by `profwrap recover`, by
 * a collector that took over, at the end of a run for the ranks of this machine, and by snapshots
 * of running jobs. Tool code; changes nothing of a rank whose program still runs. */
#ifndef PW_RANK_COLLECT_RECOVER_H
#define PW_RANK_COLLECT_RECOVER_H

#include "rank/collect/module.h"

/* Makes DIR/rank-NNNNN.h5 from the rank's journal and from its rings, if they still exist; then
 * removes both. A second call changes nothing, and a complete file is never changed. `modules`:
 * the table that the journal was written with. Returns 0; -ENOENT when there is no journal; -EBUSY
 * when the rank is still being recorded; -EBADMSG when the journal's begin is damaged or another
 * version wrote it; -ESRCH when it belongs to another rank; -EEXIST when the rank also has a file
 * that is not complete; or the -errno because of which the file could not be written: then the
 * journal stays. */
int pw_recover_rank(const char *dir, int rank, const struct pw_module *modules);

/* Whether the rank's journal was written on the host of this clock domain. The rank's rings can
 * only be on that host. False when the journal cannot be read. */
int pw_recover_is_of(const char *dir, int rank, uint64_t clock_domain);

/* ---- makes a rank file from a journal, by the same intake as while a program runs ---- */

struct pw_replay_job {
    const char *journal; /* its path */
    const char *dir;     /* directory of the new rank file */
    int complete;        /* as in the file; 0: it is a snapshot of a running job */
    int64_t cut_step;    /* the file ends where this step begins, if the step was recorded; -1: no
                          * cut */
};

/* `modules`: the table that the journal was written with. Returns 0, or -errno; then there is no
 * file. */
int pw_replay_journal(const struct pw_replay_job *job, const struct pw_module *modules);

#endif
