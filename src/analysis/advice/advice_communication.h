/* Slow transfers between hosts, in words, and whether they lead. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_COMMUNICATION_H
#define PW_ANALYSIS_ADVICE_ADVICE_COMMUNICATION_H

#include "core/cluster.h"
#include "core/text.h"

/* The row that costs most; NULL when there is none, or a rank that did not get a CPU, or a part of
 * it only, may have made transfers longer. */
const struct pw_row_c_network *pw_network_worst(const struct pw_cluster *cluster);

/* Whether a stretch in which all ranks were slower is the network's: the same steps, and half of
 * its cost or more. */
int pw_network_explains(const struct pw_row_c_network *row, const struct pw_row_c_trend *trend);

/* "The link between ranks 7 and 8 (node0, node1) was slow in steps 10-29: 80 transfers took 1.2 ms
 * on average instead of 113 us; this cost the job 31.0 ms (4.0 %)". */
void pw_network_say(const struct pw_row_c_network *row, struct pw_sentence *sentence);

#endif
