/* Findings of a cluster file, with the rules that judge them and the sentences that state them. The
 * verdict, the advice and the reports share these. They are: time in which all ranks were slower,
 * work that differs by design, slow transfers, and ranks without a CPU. Called by the rules of
 * advice and by report/. Reads the cluster and writes sentences into the caller's memory: no I/O,
 * no allocation. */
#ifndef PW_ANALYSIS_ADVICE_FINDINGS_H
#define PW_ANALYSIS_ADVICE_FINDINGS_H

#include "core/cluster.h"
#include "core/text.h"

/* Time in which all ranks were slower: rows of /trends. */

/* The trend that costs the run more than any straggler costs it; NULL when there is none. Warm-up
 * is normal and never counts. */
const struct pw_row_c_trend *pw_trends_leading(const struct pw_cluster *cluster);

/* "All ranks were slower in steps 40-59: by 24.0 ms in each of 20 steps, 480 ms in all (6.0 % of
 * the run), most in forward". */
void pw_trends_say(const struct pw_cluster *cluster, const struct pw_row_c_trend *trend,
                   struct pw_sentence *sentence);

/* Work that differs by design: rows of /imbalances. */

/* True when the imbalance is certain: no slow rank or host can explain it. */
int pw_imbalance_is_sure(const struct pw_row_c_imbalance *row);

/* True for a role of a single rank: it may have more work or be slow. */
int pw_imbalance_is_alone(const struct pw_row_c_imbalance *row);

/* What the imbalance costs in `steps` steps, ns: by the replay, or without one by the difference in
 * work. */
int64_t pw_imbalance_cost(const struct pw_row_c_imbalance *row, int64_t steps);

/* "Uneven work: role "stage 3 of 4" (ranks 4-5) has 1.40 times the work of the others in a step
 * (56.0 ms, others 40.0 ms): an imbalance between roles, not a slow rank", or the reason why the
 * imbalance is uncertain; without a full stop. The sentence does not begin with a rank, because no
 * rank is to blame. */
void pw_imbalance_write(const struct pw_row_c_imbalance *row, struct pw_sentence *sentence);

/* Slow hosts: rows of /hosts. */

/* The slow host that the headline names instead of the straggler, because the whole host caused the
 * loss; NULL: the headline names the straggler. */
const struct pw_row_c_host *pw_host_of_straggler(const struct pw_cluster *cluster,
                                                 const struct pw_row_c_straggler *straggler);

/* Slow transfers between hosts: rows of /network. */

/* The row that costs most. NULL when there is none, or when a rank that got no CPU, or only part of
 * one, may have made transfers longer. */
const struct pw_row_c_network *pw_network_worst(const struct pw_cluster *cluster);

/* Whether the network explains a stretch in which all ranks were slower: the same steps, and half
 * of its cost or more. */
int pw_network_explains(const struct pw_row_c_network *row, const struct pw_row_c_trend *trend);

/* "The link between ranks 7 and 8 (node0, node1) was slow in steps 10-29: 80 transfers took 1.2 ms
 * on average instead of 113 us; this cost the job 31.0 ms (4.0 %)". */
void pw_network_say(const struct pw_row_c_network *row, struct pw_sentence *sentence);

/* Ranks without a CPU. When most ranks lack a CPU, their hosts have more to run than cores, or
 * their cgroup's CPU quota is too small for them: no rank is to blame, and long calls are not the
 * fault of the network. */

enum pw_nocpu_where {
    PW_NOCPU_STEPS,   /* from the first to the last step; shares are of this time */
    PW_NOCPU_RUN,     /* the whole run: no steps are known */
    PW_NOCPU_OUTSIDE, /* before the first step and after the last; shares are of the run */
};

/* Shares of the time in which a rank was ready to run but without a CPU. They are lower bounds: the
 * wait for other ranks is subtracted in each part of the run, because a rank may poll while it
 * waits. */
struct pw_nocpu {
    enum pw_nocpu_where where;
    int64_t ns;         /* mean of the ranks without a CPU */
    double share;       /* mean of the ranks */
    double worst_share; /* the largest */
    /* the rank with worst_share; -1: most ranks have their CPU, or it is not known */
    int32_t worst;
    int is_quota; /* 1: a CPU quota stopped `worst` for a third of that time or more */
};

/* Finds a shortage of CPUs in the steps, or, where no steps are known, in the run: if more than
 * half of the known ranks were without a CPU for 15 % of it or more. If only one rank waits for a
 * CPU, that rank is the problem, and nothing is found. */
struct pw_nocpu pw_nocpu_find(const struct pw_cluster *cluster);

/* The same outside of the steps, such as while the ranks load the program: if that is 15 % of the
 * run or more, and 30 s. */
struct pw_nocpu pw_nocpu_outside(const struct pw_cluster *cluster);

/* Oversubscribed hosts: half of the ranks of the host or more wait for a CPU for more than 10 % of
 * the time, by /utilisation. Waits for other ranks are not subtracted, so this is less than
 * pw_nocpu_find() wants. */
struct pw_oversubscribed {
    size_t hosts;          /* how many; 0: none, or not known */
    size_t waiting, ranks; /* of the host whose ranks wait most: those that wait, and all */
    const struct pw_row_c_utilisation *worst; /* of that host, the rank that waits most; or NULL */
};

struct pw_oversubscribed pw_oversubscribed_find(const struct pw_cluster *cluster);

/* True for a program that could not start: it did not end well, within 10 s, and nothing of what it
 * did was recorded. Then only its end is worth a word. */
int pw_ended_at_start(const struct pw_cluster *cluster);

#endif
