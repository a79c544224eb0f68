/* Makes rank files from the journals that killed collectors left. Called by `profwrap recover`, by
 * a collector that took over, at the end of a run for the ranks of this machine, and by snapshots
 * of running jobs. Tool code; changes nothing of a rank whose program still runs. */
#ifndef PW_RANK_COLLECT_RECOVER_H
#define PW_RANK_COLLECT_RECOVER_H

#include "rank/collect/collector.h"

/* Makes DIR/rank-NNNNN.h5 from the rank's journal and, where they are still there, its rings; then
 * removes both. Done twice it is as if done once; a file that is complete is never touched.
 * `collectors`: the table that the journal was written with.
 *
 * 0; -ENOENT when there is no journal; -EBUSY when the rank is still being recorded; -EBADMSG when
 * the journal's begin is damaged or another version wrote it; -ESRCH when it is another rank's;
 * -EEXIST when the rank has a file that is not complete, beside its journal; else what kept the
 * file from being written: the journal then stays. */
int pw_recover_rank(const char *dir, int rank, const struct pw_collector *collectors);

/* Whether the rank's journal was written on the machine of this clock domain: only there are its
 * rings. A journal that cannot be read belongs to no machine. */
int pw_recover_is_of(const char *dir, int rank, uint64_t clock_domain);

/* Makes a rank file from a journal, by the intake that makes it while a program runs. */

struct pw_replay_job {
    const char *journal; /* its path */
    const char *dir;     /* where the rank's file is to be */
    int complete;        /* as in the file; 0: it is a snapshot of a run that goes on */
    int64_t cut_step;    /* the file ends where this step begins, if it was recorded; -1: nowhere */
};

/* `collectors`: the table that the journal was written with. 0, or -errno; then nothing is left. */
int pw_replay_journal(const struct pw_replay_job *job, const struct pw_collector *collectors);

#endif
