/* Noise that ranks share, beside each one's own: of hosts, of racks, bursts of the system's own
 * work on a host, and pauses of garbage collectors, which every rank has at times of its own. It is
 * no fault, and off unless asked for. stage.c adds it to work, and truth.c asks how large it is in
 * all. It is drawn from random streams of its own, so that turning it on changes nothing else in a
 * run. */
#ifndef PW_SIM_NOISE_H
#define PW_SIM_NOISE_H

#include "sim/params.h"

enum { PW_SIM_HOSTS_PER_RACK = 4 };

/* How many times as long all of a rank's work takes in this step; mean 1. */
double pw_sim_noise_growth(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* What bursts and pauses add to a phase's work in this step, ns. */
double pw_sim_noise_ns(const struct pw_sim_params *params, int64_t rank, int64_t step,
                       enum pw_phase phase);

/* The standard deviation of a rank's work in a step as a share of its mean, of all that is drawn
 * for each step: its own noise, what it shares with its host and rack, and its sequences' lengths.
 */
double pw_sim_noise_all(const struct pw_sim_params *params);

#endif
