/* Rank files and truth.json of a synthetic run, in the collector's own format and by its writer.
 * cmd_sim.c calls pw_sim_write(), in several processes with ranks of their own, and then
 * pw_sim_write_truth() once. Neither prints: a failure is a sentence for the caller. */
#ifndef PW_SIM_RUNWRITE_H
#define PW_SIM_RUNWRITE_H

#include "sim/params.h"

/* Ranks first .. last. */
struct pw_sim_ranks {
    int64_t first, last;
};

/* Writes the files of these ranks into `dir`, which is made when it is not there. 0 or -errno with
 * one sentence in `problem`. */
int pw_sim_write(const char *dir, const struct pw_sim_params *params, struct pw_sim_ranks ranks,
                 char *problem, size_t size);

/* Writes dir/truth.json: the declared faults, whom they hit, and what the run would have saved
 * without each. 0 or -errno with one sentence in `problem`. */
int pw_sim_write_truth(const char *dir, const struct pw_sim_params *params, char *problem,
                       size_t size);

#endif
