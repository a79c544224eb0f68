/* Writes the rank files of a synthetic run, by the collector's own writer, and truth.json.
 * cmd_sim.c calls pw_sim_write() in several processes, each for some ranks, and then
 * pw_sim_write_truth() once. Neither prints; on failure the caller gets a sentence. */
#ifndef PW_SIM_RUNWRITE_H
#define PW_SIM_RUNWRITE_H

#include "sim/params.h"

/* Ranks first .. last. */
struct pw_sim_ranks {
    int64_t first, last;
};

/* Writes the files of these ranks into `dir`, and creates `dir` if needed. Returns 0, or -errno
 * with one sentence in `problem`. */
int pw_sim_write(const char *dir, const struct pw_sim_params *params, struct pw_sim_ranks ranks,
                 char *problem, size_t size);

/* Writes dir/truth.json: the declared faults, the ranks that they hit, and the time that the run
 * would save without each. Returns 0, or -errno with one sentence in `problem`. */
int pw_sim_write_truth(const char *dir, const struct pw_sim_params *params, char *problem,
                       size_t size);

#endif
