/* The judges of the rules of advice, which the table in advice_table.c lists, and functions that
 * several judges share. Included only by the files of this folder; other code uses advice.h. No
 * I/O, no allocation.
 *
 * A judge returns 1 when its rule applies, else 0. When the rule applies, the judge has written the
 * evidence, and the ranks and the saving if they are known. A text that the judge wrote replaces
 * the text of the rule. */
#ifndef PW_ANALYSIS_ADVICE_RULES_H
#define PW_ANALYSIS_ADVICE_RULES_H

#include "analysis/advice/advice.h"
#include "core/text.h"

/* Values of `phase` in a rule. OUTSIDE_STEPS: a part of the run before the first step or after the
 * last. */
enum { PW_ADVICE_ANY = -1, PW_ADVICE_OUTSIDE_STEPS = -2 };

struct pw_advice_rule {
    const char *name;
    int (*judge)(const struct pw_advice_input *input, const struct pw_advice_rule *rule,
                 struct pw_advice *advice);
    const char *text;
    int cause, phase; /* of the stragglers that the rule applies to */
    /* the text for programs that are no training; NULL: `text` is for all programs */
    const char *plain;
};

typedef int pw_advice_judge(const struct pw_advice_input *input, const struct pw_advice_rule *rule,
                            struct pw_advice *advice);

/* advice_ending.c */
pw_advice_judge pw_judge_ended, pw_judge_hang;
/* advice_work.c */
pw_advice_judge pw_judge_straggler, pw_judge_unequal_work, pw_judge_no_peers;
pw_advice_judge pw_judge_all_slower;
/* advice_communication.c */
pw_advice_judge pw_judge_slow_host, pw_judge_slow_link, pw_judge_late_senders;
pw_advice_judge pw_judge_load_imbalance, pw_judge_wait_roams, pw_judge_transfer_exposed;
pw_advice_judge pw_judge_small_collectives, pw_judge_slow_network;
/* advice_resources.c */
pw_advice_judge pw_judge_data_processing, pw_judge_data_transfer, pw_judge_data_wait;
pw_advice_judge pw_judge_oversubscribed, pw_judge_memory_growth, pw_judge_gpus_idle;
pw_advice_judge pw_judge_mpi_call_long;
/* advice_unrecorded.c */
pw_advice_judge pw_judge_ranks_missing, pw_judge_ranks_unclosed, pw_judge_events_dropped;
pw_advice_judge pw_judge_ring_waits, pw_judge_no_steps, pw_judge_steps_inferred;
pw_advice_judge pw_judge_few_steps, pw_judge_clock_coarse, pw_judge_profiling_costly;
pw_advice_judge pw_judge_one_rank, pw_judge_nccl_untimed, pw_judge_nccl_unplaced,
    pw_judge_mpi_not_recorded;
pw_advice_judge pw_judge_no_communication, pw_judge_clocks_not_aligned;

/* The rule that applies to this straggler: the first in the table with its cause and phase. */
const struct pw_advice_rule *pw_advice_rule_of(const struct pw_row_c_straggler *straggler);

/* True when the rank waits for data and its queues show the reason. Then the rules about the data
 * pipeline explain the rank. */
int pw_advice_is_starved(const struct pw_advice_input *input, int32_t rank);

/* The text of the rule for this kind of program (training or not). */
const char *pw_advice_text_of(const struct pw_advice_input *input,
                              const struct pw_advice_rule *rule);

void pw_advice_add_rank(struct pw_advice *advice, int32_t rank);

/* "3, 5 and 12 more". */
void pw_advice_write_ranks(const struct pw_advice *advice, struct pw_sentence *sentence);

/* True when the evidence for a verdict is complete, and it names neither a rank nor work that
 * differs by design. */
int pw_advice_is_unnamed(const struct pw_advice_input *input);

/* False when some rank works for longer than the others over all steps. */
int pw_advice_is_balanced(const struct pw_advice_input *input);

/* The gain of the replay with this scope, ns; -1 when it was not replayed. */
int64_t pw_advice_whatif_gain(const struct pw_advice_input *input, const char *scope);

/* Converts ns of a step to ns of all measured steps; -1 stays -1. */
int64_t pw_advice_of_all_steps(const struct pw_advice_input *input, double ns);

#endif
