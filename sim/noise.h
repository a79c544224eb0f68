/* Noise in addition to each rank's own: of hosts, of racks, bursts of system work on a host, and
 * pauses of garbage collectors. It is not a fault, and off by default. stage.c adds it to work;
 * truth.c needs its total size. It has random streams of its own, so turning it on changes nothing
 * else in a run. */
#ifndef PW_SIM_NOISE_H
#define PW_SIM_NOISE_H

#include "sim/params.h"

enum { PW_SIM_HOSTS_PER_RACK = 4 };

/* Returns the factor for all work of a rank in this step; its mean is 1. */
double pw_sim_noise_growth(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* Returns the ns that bursts and pauses add to a phase's work in this step. */
double pw_sim_noise_ns(const struct pw_sim_params *params, int64_t rank, int64_t step,
                       enum pw_phase phase);

/* Returns the standard deviation of a rank's work in a step, as a share of its mean. It includes
 * all random values of a step: the rank's own noise, that of its host and rack, and the lengths of
 * its sequences. */
double pw_sim_noise_all(const struct pw_sim_params *params);

#endif
