/* What a rank's samples say of the bins and parts of its run: on a processor, ready for one, or off
 * it and why. */
#ifndef PW_AGGREGATE_STEPS_BINSAMPLES_H
#define PW_AGGREGATE_STEPS_BINSAMPLES_H

#include "aggregate/steps/bins.h"

/* Adds it to the rows of `bins`. 0, or -errno when the samples break off. */
int pw_bins_read_samples(struct pw_bins *bins, const struct pw_input *input);

#endif
