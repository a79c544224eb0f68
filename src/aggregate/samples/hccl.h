/* What HCCL's own profiler measured, summed up: each rank's times in its operations, and each
 * link's bytes and bandwidth. Called by samples.c: pw_hccl_read() for each rank file, then
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

/* Adds one rank's rows; the file's texts must be there. Returns 0, -ENOMEM, or another -errno when
 * a table ends early: what could be read is in then. */
int pw_hccl_read(struct pw_hccl *hccl, const struct pw_openfile *file);

/* Gathers the rows of all processes, joins those of one link, and compares links. Collective. */
void pw_hccl_arrange(struct pw_hccl *hccl, const struct pw_procs *procs);

void pw_hccl_fini(struct pw_hccl *hccl);

#endif
