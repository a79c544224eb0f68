/* Hosts that stood still as a whole, as rows of /hosts. */
#ifndef PW_AGGREGATE_FINDINGS_FROZENHOSTS_H
#define PW_AGGREGATE_FINDINGS_FROZENHOSTS_H

#include "aggregate/findings/findings.h"

/* Adds hosts with two thirds of their ranks, and more than one, among the stragglers that were
 * frozen. numbers[ranks] are the hosts', of which whatif.hosts has room for each. */
void pw_frozenhosts_find(struct pw_findings *findings, const struct pw_world *world,
                         const int64_t *numbers, size_t nhosts);

#endif
