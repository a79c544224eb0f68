/* Makes a rank file from a journal, by the intake that makes it while a program runs. */
#ifndef PW_RANK_COLLECT_JOURNALREPLAY_H
#define PW_RANK_COLLECT_JOURNALREPLAY_H

#include "rank/collect/collector.h"

struct pw_replay_job {
    const char *journal; /* its path */
    const char *dir;     /* where the rank's file is to be */
    int complete;        /* as in the file; 0: it is a snapshot of a run that goes on */
    int64_t cut_step;    /* the file ends where this step begins, if it was recorded; -1: nowhere */
};

/* `collectors`: the table that the journal was written with. 0, or -errno; then nothing is left. */
int pw_replay_journal(const struct pw_replay_job *job, const struct pw_collector *collectors);

#endif
