/* Sums up the data that HCCL's own profiler measured: each rank's times in its operations, and each
 * link's bytes and bandwidth. samples.c calls pw_hccl_read() for each rank file, then
 * pw_hccl_arrange() on all processes together. Files without such tables give no rows. */
#ifndef PW_AGGREGATE_SAMPLES_HCCL_H
#define PW_AGGREGATE_SAMPLES_HCCL_H

#include "aggregate/input/cursor.h"
#include "aggregate/input/procs.h"

struct pw_hccl {
    struct pw_row_c_hccl_rank *ranks; /* by rank and communicator, in the order of the files */
    size_t nranks;
    struct pw_row_c_hccl_link *links; /* by source, destination and transport after arranging */
    size_t nlinks, links_capacity;
};

/* Adds one rank's rows; `file` must have its texts. Returns 0, -ENOMEM, or another -errno when a
 * table is damaged; then the rows before the damage were added. */
int pw_hccl_read(struct pw_hccl *hccl, const struct pw_openfile *file);

/* Gathers the rows of all processes, joins those of one link, and compares links. Collective. */
void pw_hccl_arrange(struct pw_hccl *hccl, const struct pw_procs *procs);

void pw_hccl_fini(struct pw_hccl *hccl);

#endif
