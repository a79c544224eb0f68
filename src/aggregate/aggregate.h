/* The merge: the rank files of a directory become one cluster file, by an MPI program of any number
 * of processes. src/cli/merge_main.c calls it once, on all processes of `comm` together. Only
 * process 0 prints. What is in the file does not depend on the number of processes. */
#ifndef PW_AGGREGATE_AGGREGATE_H
#define PW_AGGREGATE_AGGREGATE_H

#include <mpi.h>
#include <stdint.h>

#include "analysis/gpulimits.h"

struct pw_merge_options {
    int quiet;      /* shows no progress */
    int64_t wait_s; /* for another merge that writes the same file */
    struct pw_flops_given flops;
};

/* Merges the rank files in `dir` into `output`. Collective over `comm`. 0, or -errno after process
 * 0 has said why. Damaged and missing files do not stop it; they are written in /completeness. */
int pw_aggregate(MPI_Comm comm, const char *dir, const char *output,
                 const struct pw_merge_options *options);

#endif
