/* Reserves a rank's place in the output directory of a job that has no unique name. Called by
 * cmd_run.c. Tool code.
 *
 * Most launchers give each job a unique name. Some give only an address and a port (Kubernetes'
 * PyTorchJob), a name that the user chose (torchrun --rdzv-id), or no name. Then a later job can
 * have the same name, and the ranks of one job are identified by their output directory: each rank
 * takes its place in the directory, and no rank can take a place twice. */
#ifndef PW_RANK_RUN_CLAIM_H
#define PW_RANK_RUN_CLAIM_H

#include <stdint.h>

#include "rank/run/identity.h"

/* Takes the place of this rank in `dir`, which is marked with the job's name. Returns 0, or
 *   -EEXIST  when the directory belongs to another job: this rank's place is taken, the job was
 *            merged, or another rank there was killed or ended long ago
 *   -EPROTO  when the directory belongs to this job, but another rank has a different job size;
 *            *other is that size, or 0 when an earlier rank already got this error
 *   -errno   for any other error. */
int pw_claim_take(const char *dir, const struct pw_identity *id, int *other);

#endif
