/* The merge: makes one cluster file of the rank files of a directory, in an MPI program with any
 * number of processes. src/cli/conclude/merge_main.c calls it once, on all processes of `comm`
 * together. Only process 0 prints. The contents of the file do not depend on the number of
 * processes. */
#ifndef PW_AGGREGATE_AGGREGATE_H
#define PW_AGGREGATE_AGGREGATE_H

#include <stdint.h>

#include "aggregate/exchange/exchange.h"
#include "aggregate/secondpass/points.h"
#include "analysis/gpu.h"

struct pw_merge_options {
    int quiet;      /* 1: no progress is shown */
    int64_t wait_s; /* longest wait for another merge that writes the same file, s */
    struct pw_flops_given flops;
    struct pw_point_names points;
};

/* Merges the rank files in `dir` into `output`. Collective over `comm`. Returns 0, or -errno after
 * process 0 has printed the reason. Damaged and missing files do not stop the merge; it lists them
 * in /completeness. */
int pw_aggregate(pw_ex_comm comm, const char *dir, const char *output,
                 const struct pw_merge_options *options);

#endif
