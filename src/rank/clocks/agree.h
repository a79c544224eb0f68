/* The collectors' agreement on whether clocks are synchronised over MPI. Called by the collectors,
 * at MPI_Init of their applications and while they wait for it. Tool code; does not wait: the
 * caller polls.
 *
 * Either all ranks take part in the synchronisation over MPI, or none. When the application of a
 * rank enters MPI_Init with a probe, the rank's collector creates a file in the output directory.
 * When rank 0's collector sees the files of all ranks, it decides "yes". A collector that has
 * waited too long decides "no". The decision is a symbolic link. On every file system, NFS
 * included, creating a link is atomic, and fails when the link exists. So there is only one
 * decision. */
#ifndef PW_RANK_CLOCKS_AGREE_H
#define PW_RANK_CLOCKS_AGREE_H

#include <stdint.h>

#include "rank/ring/segment.h"

struct pw_agreement {
    char dir[4096];
    int rank, size;
    int64_t registered_ns; /* local time, 0 before */
    int next_unseen;       /* rank 0: all ranks below this number have registered */
};

void pw_agree_init(struct pw_agreement *agreement, const char *dir, int rank, int size);

/* Checks for the decision once, without waiting; registers this rank at the first call. Returns the
 * decision, or PW_SYNC_UNDECIDED. */
enum pw_sync_decision pw_agree_poll(struct pw_agreement *agreement);

/* Decides "no", unless there is a decision, because this rank cannot take part. */
void pw_agree_refuse(struct pw_agreement *agreement);

/* Removes this rank's registration, and the decision when `last`. */
void pw_agree_fini(struct pw_agreement *agreement, int last);

#endif
