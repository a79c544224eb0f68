/* A rank's place in an output directory whose job has no name that is its own.
 *
 * A launcher gives most jobs a name that no other job has. Where there is only an address and a
 * port (Kubernetes' PyTorchJob), a name that the user chose (torchrun --rdzv-id), or nothing, the
 * next job has the same. The ranks of one job then find each other by the directory: each rank
 * takes its place there, once. */
#ifndef PW_RANK_RUN_CLAIM_H
#define PW_RANK_RUN_CLAIM_H

#include <stdint.h>

#include "rank/run/identity.h"

/* Takes the place of this rank in `dir`, which is marked with the job's name. 0; -EEXIST when the
 * directory is another job's: the place is taken, the job was merged, or a rank that took its place
 * there has ended long ago or was killed. -EPROTO when it is this job's, but a rank says that the
 * job has another size: *other is that size, 0 when another rank was told so. Else -errno. */
int pw_claim_take(const char *dir, const struct pw_identity *id, int *other);

#endif
