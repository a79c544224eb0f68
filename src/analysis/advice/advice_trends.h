/* The time in which all ranks were slower, in words. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_TRENDS_H
#define PW_ANALYSIS_ADVICE_ADVICE_TRENDS_H

#include "core/cluster.h"
#include "core/text.h"

/* The trend that costs the run more than what any straggler does; NULL when there is none. A run
 * that warms up is as it is made. */
const struct pw_row_c_trend *pw_trends_leading(const struct pw_cluster *cluster);

/* "All ranks were slower in steps 40-59: by 24.0 ms in each of 20 steps, 480 ms in all (6.0 % of
 * the run), most in forward". */
void pw_trends_say(const struct pw_cluster *cluster, const struct pw_row_c_trend *trend,
                   struct pw_sentence *sentence);

#endif
