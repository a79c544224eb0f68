/* Gathers what other profilers added up before their files were imported: msprof-analyze's times of
 * steps, MindInsight's sums of operators, and the CPU time of the data pipeline's operators.
 * samples.c calls pw_reported_read() for each rank file, then pw_reported_arrange() on all
 * processes together. Files without such tables give no rows, and nothing is computed here but
 * means. */
#ifndef PW_AGGREGATE_SAMPLES_REPORTED_H
#define PW_AGGREGATE_SAMPLES_REPORTED_H

#include "aggregate/input/cursor.h"
#include "aggregate/input/procs.h"

struct pw_reported {
    struct pw_row_c_msprof_step *steps; /* by step and rank after arranging */
    size_t nsteps, steps_capacity;
    struct pw_row_c_pipeline_cpu *cpu; /* by rank, in the order of the files */
    size_t ncpu, cpu_capacity;
    struct pw_row_c_mindinsight_sum
        *sums; /* types first after arranging, those with most time first */
    size_t nsums, sums_capacity;
    size_t joined;    /* of `sums`: rows that were joined already */
    int64_t unlisted; /* rows that there is no room for */
};

/* Adds one rank's rows; `file` must have its texts. Returns 0, -ENOMEM, or another -errno when a
 * table is damaged; then the rows before the damage were added. */
int pw_reported_read(struct pw_reported *reported, const struct pw_openfile *file);

/* Whether the file has rows that need its texts. */
int pw_reported_has_texts(const struct pw_openfile *file);

/* Gathers the rows of all processes. Collective. */
void pw_reported_arrange(struct pw_reported *reported, const struct pw_procs *procs);

void pw_reported_fini(struct pw_reported *reported);

/* Sums up the data that HCCL's own profiler measured: each rank's times in its operations, and each
 * link's bytes and bandwidth. samples.c calls pw_hccl_read() for each rank file, then
 * pw_hccl_arrange() on all processes together. Files without such tables give no rows. */

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
