/* The judges of the rules of advice, which the table in advice_table.c lists. Included only by the
 * files of this folder; other code uses advice.h. No I/O, no allocation.
 *
 * A judge returns 1 when its rule applies, else 0. When the rule applies, the judge has written the
 * evidence, and the ranks and the saving if they are known. A text that the judge wrote replaces
 * the text of the rule. */
#ifndef PW_ANALYSIS_ADVICE_RULES_H
#define PW_ANALYSIS_ADVICE_RULES_H

#include "analysis/advice/advice.h"

typedef int pw_advice_judge(const struct pw_advice_input *input, struct pw_advice *advice);

/* advice_evidence.c */
pw_advice_judge pw_judge_ended, pw_judge_hang, pw_judge_dumps;
pw_advice_judge pw_judge_ranks_missing, pw_judge_ranks_unclosed, pw_judge_events_dropped;
pw_advice_judge pw_judge_ring_waits, pw_judge_no_steps, pw_judge_steps_inferred;
pw_advice_judge pw_judge_few_steps, pw_judge_clock_coarse, pw_judge_profiling_costly;
pw_advice_judge pw_judge_one_rank, pw_judge_nccl_untimed, pw_judge_nccl_unplaced;
pw_advice_judge pw_judge_mpi_not_recorded, pw_judge_no_communication;
pw_advice_judge pw_judge_spawned_not_recorded;
pw_advice_judge pw_judge_clocks_not_aligned, pw_judge_requests_polled;
/* advice_communication.c */
pw_advice_judge pw_judge_slow_host, pw_judge_slow_link, pw_judge_late_senders;
pw_advice_judge pw_judge_load_imbalance, pw_judge_wait_roams, pw_judge_transfer_exposed;
pw_advice_judge pw_judge_small_collectives, pw_judge_slow_network;
pw_advice_judge pw_judge_unequal_work, pw_judge_no_peers, pw_judge_all_slower;
/* advice_resources.c */
pw_advice_judge pw_judge_data_processing, pw_judge_data_transfer, pw_judge_data_wait;
pw_advice_judge pw_judge_oversubscribed, pw_judge_memory_growth, pw_judge_gpus_idle;
pw_advice_judge pw_judge_mpi_call_long;

/* True when the rank waits for data and its queues show the reason. Then the rules about the data
 * pipeline explain the rank. */
int pw_advice_is_starved(const struct pw_advice_input *input, int32_t rank);

#endif
