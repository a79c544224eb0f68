/* The thresholds by which findings are judged, with what each is of, and on what it was set. Used
 * by the files of analysis/, aggregate/ and report/ that judge. Some constants of a single method
 * are in its own file; docs/thresholds.md lists all. Limits of memory and counts of samples are
 * where they are used. "Chosen, not tuned": no runs are known on which the value was set. */
#ifndef PW_ANALYSIS_THRESHOLDS_H
#define PW_ANALYSIS_THRESHOLDS_H

/* Stragglers by their steps (docs/metrics.md, "Stragglers"). Chosen, not tuned. Those of 3 to 7
 * ranks (PW_STANDOUT_ALONE, PW_EPISODE_...) and of two ranks (PW_STANDOUT_OF_TWO...,
 * PW_CHANGED_...) were looked at on simulated pairs of faults and on clean runs of real programs.
 * docs/accuracy.md has how often all of them together are right. */
#define PW_STRAGGLER_CHANCE 0.01 /* largest chance of a straggler */
#define PW_STRAGGLER_LEAST 1.5   /* sigma: least median excess of a window */
/* sigma: limit of one step's excess in the search for windows */
#define PW_STRAGGLER_CLIP 4.0
#define PW_STRAGGLER_OF_STEP 0.01 /* of a step: least excess in it */
/* Least loss, as a share of the measured steps. In the first step it is larger: set-up and warm-up
 * (compilation, first use of memory and of libraries) reach into it, and take differently long on
 * equal ranks. */
#define PW_STRAGGLER_LOSS 0.01
#define PW_STRAGGLER_LOSS_FIRST 0.05
#define PW_STRAGGLER_LOSS_OF_TWO 0.1
/* the same of two ranks, where the time of the change tells which one is slow */
#define PW_STRAGGLER_LOSS_CHANGED 0.03
/* of a step: with a larger clock error, waits in it are not compared */
#define PW_CLOCK_COARSE 0.1
/* The company of a rank: the others that are slow with it (straggler.h). Another rank with more
 * than this share of the rank's excess, in the same steps, is company. */
#define PW_COMPANY 0.34
#define PW_COMPANY_ELSEWHERE 0.5 /* the same, in as many other successive steps */
/* a rank whose positive excess in all steps is less than this share of it is no company */
#define PW_COMPANY_IN_ALL 0.33
#define PW_COMPANY_PARTS 4 /* the rank and its company are at most the ranks / this */
/* least share of the excess that must be in steps in which no named rank was slow */
#define PW_STANDOUT_ALONE 0.5
#define PW_EPISODE_OUTSIDE 0.2        /* least share of the steps outside an episode ... */
#define PW_EPISODE_SLOW 0.25          /* ... and the largest share of these that are as slow */
#define PW_STANDOUT_OF_TWO 0.4        /* of two ranks: least excess, as a share of the steps */
#define PW_STANDOUT_OF_TWO_MARKED 0.2 /* the same of marked steps */
/* of two ranks: the same, if its own work changed by PW_CHANGED_OWN of the excess or more, and the
 * other's by PW_CHANGED_OTHER of it at most */
#define PW_CHANGED_LEAST 0.1
#define PW_CHANGED_OWN 0.5
#define PW_CHANGED_OTHER 0.25
#define PW_CHANGED_DENSE 0.75 /* of the window's steps are held back: medians tell the change */
/* most steps of an iteration in which a rank may be late in one, and the spread from iteration to
 * iteration, as a share of that from step to step, from which on such iterations are assumed */
#define PW_SIGMA_LAGS 4
#define PW_SIGMA_ALTERNATES 0.5
/* times the third largest excess of the other ranks: an extreme step */
#define PW_ONEOFF_TIMES 5
/* least excess of few extreme steps, as a share of the run */
#define PW_ONEOFF_SHARE 0.03
/* else the chance of the extreme steps must be below this */
#define PW_ONEOFF_CHANCE 0.01

/* Stretches and parts of the run (docs/metrics.md, "Parts of the run" and "Stretches of the run").
 * Set on runs of real programs with faults from outside (docs/accuracy.md, "Real faults in programs
 * of others"). */
#define PW_PARTS_SHARE 0.03        /* least loss, as a share of the run ... */
#define PW_PARTS_NEXT 0.2          /* ... when the next largest loss is at most this share of it */
#define PW_PARTS_START_SHARE 0.015 /* the same of the start */
#define PW_PARTS_START_NEXT 0.05
/* largest chance of being that far above the others in any part */
#define PW_PARTS_CHANCE 0.01
/* least loss, as a share of the run, if the chance is below PW_PARTS_CLEAR_CHANCE */
#define PW_PARTS_CLEAR_SHARE 0.01
#define PW_PARTS_CLEAR_CHANCE 0.001
#define PW_PARTS_CLEAR_NEXT 0.5
/* of the run: with so much less, the job would have waited for the next rank. Then it does not
 * matter whether the ranks are alike otherwise */
#define PW_PARTS_HELD 0.10
#define PW_PARTS_SHARE_OF_TWO 0.10 /* the same of two ranks */
/* the same of two ranks between MPI_Init and MPI_Finalize, outside the steps */
#define PW_PARTS_WAITED_OF_TWO 0.05
/* least loss of few ranks, as a multiple of the others' spread */
#define PW_PARTS_TIMES_SPREAD 5
/* least share of MPI_Init or MPI_Finalize that the rank slept */
#define PW_PARTS_ASLEEP 0.1
#define PW_PARTS_SLEPT 0.9 /* the same of a rank that is late because it slept */
/* least own time of the other ranks in the call, as a share of it: they polled ... */
#define PW_PARTS_POLLED 0.05
/* ... and as a multiple of the own time of the rank that slept */
#define PW_PARTS_POLLED_TIMES 5
/* largest share of a rank that sleeps between its polls */
#define PW_PARTS_POLLED_AT_MOST 0.5
#define PW_PARTS_EXPLAINED 0.5 /* of the loss: a cause must explain so much */
/* of a bin: a stretch grows where the excess is above this */
#define PW_STRETCH_EDGE 0.05
/* of the loss: the other ranks' median must have waited so long */
#define PW_STRETCH_WAITED 0.5
/* of the ranks' waits: then collectives tell for whom they waited */
#define PW_STRETCH_IN_COLLECTIVES 0.9
/* of the loss, by each rank of the host: then the host is slow */
#define PW_STRETCH_OF_HOST 0.5
#define PW_STRETCH_LARGE 0.15 /* of the run: a loss this large may have any density */
/* of a loss of kind ANY: another kind that explains so much is preferred */
#define PW_STRETCH_EXPLAINED 0.5
#define PW_STRETCH_IN_PHASE 0.5 /* of the loss, in the phase that is named */
/* of the stretch's loss: a straggler found from steps with so much is kept instead, because it also
 * names the steps */
#define PW_STRETCH_BY_STEPS 0.5
/* the same when is_sure(): steps lack the losses inside calls */
#define PW_STRETCH_BY_STEPS_SURE 0.9
#define PW_STRETCH_OF_CAUSE 0.5 /* of the row's loss: least part that a cause explains */

/* Time in which all ranks were slower (docs/metrics.md, "All ranks slower"). Chosen, not tuned;
 * looked at on simulated slowings, drifts and checkpoints (docs/accuracy.md). */
#define PW_TREND_CHANCE 0.005 /* largest p; a window and a slope are two tests */
/* largest p when single steps differ by as much as the excess */
#define PW_TREND_CHANCE_NOISY 0.001
#define PW_TREND_SHARE 0.01  /* least cost, as a share of the run */
#define PW_TREND_INSIDE 0.75 /* of the steps inside are above half of the excess */
/* of the ranks that are known are slower by half of the excess */
#define PW_TREND_RANKS 0.9
#define PW_TREND_IN_PHASE 0.25 /* of the excess is in the phase that is named */
#define PW_TREND_SIGMAS 4      /* sigmas that exceed the differences of single steps */
/* robust standard deviations: a step that is far from the others */
#define PW_TREND_FAR 5
/* of a window's excess, by which its second half is slower than its first: work that grows */
#define PW_TREND_GROWS 0.25
#define PW_PAUSE_SHARE 0.01        /* least cost, as a share of the run */
#define PW_PAUSE_SIGMAS 8          /* least length, in sigma */
#define PW_PAUSE_STEP 0.5          /* least length, of a median step */
#define PW_PAUSE_STEP_INFERRED 3.0 /* the same when steps are inferred */
/* of the mean pause: limit of the longest extra time that is no pause */
#define PW_PAUSE_NEXT 0.5
#define PW_PAUSE_SHORT 0.1    /* shorter than this part of the longest pause, and of the cost */
#define PW_PAUSE_REGULAR 0.8  /* share of the distances that must be alike */
#define PW_TREND_OF_CAUSE 0.5 /* of the cost: least part that a cause explains */

/* Slow links, hosts and congestion (docs/metrics.md, "Slow hosts and links" and "Slow network").
 * Chosen, not tuned; looked at on simulated slow links and congestion. */
#define PW_NETWORK_RATIO 1.5     /* times the others' level */
#define PW_NETWORK_RATIO_FEW 2.0 /* the same with few others to compare with */
#define PW_NETWORK_ABOVE 1.25    /* times the others' level: a step with slow transfers */
#define PW_NETWORK_CHANCE 0.01   /* largest chance of slow transfers */
/* of a rank's time: with more without a CPU, the network is not judged */
#define PW_NETWORK_READY 0.05
#define PW_NETWORK_SHARE 0.01           /* least cost, of the replayed steps */
#define PW_NETWORK_LINK_RATIO 1.5       /* times the links elsewhere */
#define PW_NETWORK_HOST_LINKS (2.0 / 3) /* least share of slow links of a slow host */

/* Work that differs by design (docs/metrics.md, "Roles and amounts of work"). Chosen, not tuned. */
#define PW_AMOUNT_DIFFERENCE 0.05 /* of the median amount */
/* of the slope that work in proportion to the amount would have */
#define PW_AMOUNT_GUESSED 0.5
/* of the cost: with a smaller error the slopes between steps suffice */
#define PW_AMOUNT_ERROR 0.05
/* standard errors: costs that differ by less are alike */
#define PW_AMOUNT_NEAR_ERRORS 3.0
#define PW_VARYING_CLIP 4.0 /* sigma: larger deviations are clipped to this */
/* of all work, for each of the two phases whose work varies together */
#define PW_VARYING_PHASE 0.1
#define PW_VARYING_REST 0.01   /* of all work, for the rest */
#define PW_VARYING_SPREAD 0.02 /* relative spread that the two phases have in common */
#define PW_VARYING_ERRORS 5.0  /* standard errors of their covariance */
/* of their covariance: largest one with the rest of the work */
#define PW_VARYING_FOLLOWS 0.5
#define PW_VARYING_LEVEL_ERRORS 3.0 /* standard errors: a smaller difference is chance */
/* least share of the calls between stages that are in order */
#define PW_ROLE_ALIKE 0.95
#define PW_ROLE_ERRORS 3.0      /* standard errors of a difference of two medians */
#define PW_ROLE_PART_ERRORS 2.0 /* the same for a quarter of the run */
/* a rank's excess is constant: its spread is at most so many times the others' */
#define PW_PEER_SPREAD 1.5
#define PW_PEER_PHASE 0.1      /* of the excess: a smaller share of a phase counts as 0 */
#define PW_IMBALANCE_MORE 1.05 /* times the usual amount */
/* times the mean of the step, when the amounts are given */
#define PW_IMBALANCE_PEAK 1.01
/* of a node's work: so much is left at least, when a rank loses its excess over its peers */
#define PW_PEER_WORK_LEFT 0.05
/* largest / mean part of a collective: below this, its parts are equal */
#define PW_UNEQUAL_PARTS 1.01
/* largest / smallest of the largest parts: below this, the cost of a byte is not fitted */
#define PW_UNEQUAL_RANGE 1.2
#define PW_FARM_RATIO 1.3 /* times the other workers' median time for a task */
#define PW_FARM_ERRORS 4  /* standard errors of a mean of exponentially distributed tasks */
/* of the other workers' median: own times of busy workers differ by at most this */
#define PW_FARM_BUSY 0.25
/* of the run: least loss of a worker that was slow in a part of it */
#define PW_FARM_PART_SHARE 0.03
/* of the loss in the run, and of its length: a part with more loss in less time is told instead */
#define PW_FARM_PART_LOSS 0.9
#define PW_FARM_PART_LENGTH 0.8
/* of the time from MPI_Init to MPI_Finalize, the median worker's own: a farm whose workers are busy
 */
#define PW_FARM_MOSTLY 0.5
#define PW_FARM_LAST 2 /* tasks: a worker that lost less is no straggler, as farms end so */

/* Causes (docs/metrics.md, "Cause"). Chosen, not tuned. */
#define PW_QUOTA_PARTS 3  /* part (1 / n) of the time without a CPU that is throttled: a quota */
#define PW_QUOTA_SAME 0.1 /* of the throttled time: most difference between ranks of one cgroup */
#define PW_CAUSE_LEAST_SHARE 0.5 /* of the excess that a cause must explain */
/* ns: from this length of a step on, the samples in it tell what a rank did, at 10 samples a second
 */
#define PW_EVIDENCE_LOST_NS 200e6
#define PW_CLOCKS_LOWER 0.97 /* of the others' clocks: below this, clocks are lower */
/* of the samples in which heat or power slowed them */
#define PW_CLOCKS_SLOWED_SHARE (1.0 / 3)
#define PW_KERNELS_SURE 0.95 /* kernels are slower from this confidence on */
#define PW_BOUND_SHARE 0.2   /* of the time of the rank's CPUs, used by other processes */
#define PW_BOUND_MORE 1.5    /* times what other processes use of the other ranks' CPUs */
/* the same for a rank that may use at most half as many CPUs */
#define PW_BOUND_FEWER_CPUS 0.8

/* Losses that the ranks share, and advice (docs/metrics.md, "Highlights", and docs/advice.md).
 * Chosen, not derived: a loss below them would not change what a user should do first. */
#define PW_SHARED_GPUS_DRY 0.1         /* least share of the GPUs' time */
#define PW_SHARED_DATA_WAIT_SHARE 0.1  /* least share of a step */
#define PW_SHARED_TRANSFERS_SHARE 0.25 /* least share of a step */
/* of a step, in which requests are open that ranks poll for: a wait would not be seen */
#define PW_POLLED_SHARE 0.5
#define PW_SHARED_REPLAY_ERROR 0.01 /* of the time: equal work that loses more is not believed */
/* one rank that gains so much, and twice what equal work gains */
#define PW_SHARED_REPLAY_RANK 0.03
/* least share of a step, waited and gained with balanced work */
#define PW_SHARED_WAITS_SHARE 0.1
#define PW_SHARED_INIT_SHARE 0.1     /* least share of the run ... */
#define PW_SHARED_INIT_NS 1000000000 /* ... and time */
#define PW_SHARED_FINALIZE_SHARE 0.05
#define PW_SHARED_FINALIZE_NS 300000000
/* a rank stands out: least share of its time above the mean */
#define PW_SHARED_STANDS_OUT 0.1
#define PW_BALANCED 0.9 /* a load balance below this is uneven work */
/* of a rank's time: with more, its transfers are no fault of the network */
#define PW_TRANSFERS_THROTTLED 0.01
#define PW_TRANSFERS_READY 0.05         /* the same, above the smallest share of all ranks */
#define PW_NOCPU_SHARE 0.15             /* of a rank's steps, or of its run */
#define PW_NOCPU_OUTSIDE_NS 30000000000 /* least time outside the steps */
/* of time ready without a CPU, of half of the ranks of a host */
#define PW_OVERSUBSCRIBED_SHARE 0.1
#define PW_LATE_SENDERS_SHARE 0.05 /* of the mean step, or of all measured steps */
/* least gain if the root had no excess, as a share of the steps */
#define PW_LATE_ROOT_SHARE 0.01
/* of the mean rank's waits: if a root without its excess would save less, most waits do not begin
 * at it */
#define PW_LATE_ROOT_WAITS 0.5
#define PW_ROAMING_SHARE 0.1       /* of the mean step */
#define PW_EXPOSED_SHARE 0.2       /* of the mean step */
#define PW_SMALL_SHARE 0.1         /* of all measured steps */
#define PW_CLOCK_WORTH_SAYING 0.05 /* of a step: advice of a larger clock error */
#define PW_PROFILING_COSTLY 0.02   /* of the run */
#define PW_DATA_WAIT_OF_RANK 0.05  /* of a rank's step */
#define PW_LEAK_FIT 0.9            /* least fit of a line */
#define PW_LEAK_SHARE 0.1          /* least growth, of the peak */
#define PW_LATE_RANK_SHARE 0.05    /* late_rank: least share of the ranks' time */
/* waits for ranks that were not recorded: least share of a step */
#define PW_PARTNERS_SHARE 0.05
#define PW_PARTNERS_MOSTLY 0.5 /* the same, where transfers may take that long */
/* bytes/s: no transfer in use is so slow, so the time is waiting */
#define PW_PARTNERS_BANDWIDTH 1000000.0
/* What the headline is not about is said at its end: from this share of the run on, and from so
 * many times the loss that the headline is about. Tables measure one loss in several ways, which
 * differ, and none of them may show 0.03 and 2 times (tests/mpi/consistent.py). */
#define PW_TOLD_SHARE 0.025
#define PW_TOLD_TIMES 1.5
/* of the run: with more waits and transfers in all, no rank "alone" held the job back */
#define PW_TOLD_MUCH 0.1
/* the gain without all stragglers at once is said from so many times that without the first one */
#define PW_TOGETHER_TIMES 1.1
#define PW_TOGETHER_SHARE 0.01 /* of the steps, at least */
#define PW_LOSS_SHARE 0.01     /* a loss beside the verdict's: of the steps, or of the run */

/* Iterations of programs that mark no steps (docs/metrics.md, "Steps"). Chosen; the iterations that
 * are found were compared with those that programs of others count (LULESH, CoMD, lammps, HPCG). */
#define PW_RECURRING_ALIKE 0.85   /* share of the pieces that are alike */
#define PW_PERIOD_CORRELATION 0.5 /* least correlation at the distance of the period */
/* a correlation must exceed that of all shorter distances by this */
#define PW_PERIOD_ABOVE_SHORTER 0.2
#define PW_PERIOD_CONTRAST 1.5 /* longest piece of the pattern / shortest */
#define PW_PERIOD_SURE 0.5     /* of the tolerance */
#define PW_PERIOD_FLOOR 0.02   /* of the mean piece: shorter pieces count as this long */
/* quantile: longer pieces, perhaps interrupted, count as this long */
#define PW_PERIOD_CEILING 0.92
#define PW_ITERATION_MOSTLY_ALIKE 0.85 /* shares of the iterations with the same calls */
#define PW_ITERATION_LARGELY_ALIKE 0.7
#define PW_ITERATION_ALIKE 0.5
#define PW_ITERATION_COVERAGE 0.25 /* of the run */
#define PW_ITERATION_NEARLY 0.6    /* of the largest coverage: counts as equally good */
/* mean / median length: above it, an iteration has several such calls */
#define PW_ITERATION_UNEVEN 4
/* of the distances between long iterations are 1: they come together */
#define PW_ITERATION_TOGETHER 0.8
#define PW_INFERRED_ALIKE 0.85  /* least share of iterations with the same calls ... */
#define PW_INFERRED_COVERED 0.5 /* ... and of the run that they cover */
/* least share of iterations with the pattern, when pieces are joined */
#define PW_INFERRED_JOINED_ALIKE 0.6

/* Queues of data (docs/metrics.md, "Data pipeline"). Chosen, not tuned. */
/* of the samples, or of the steps, that found the host queue empty */
#define PW_QUEUE_EMPTY 0.3
#define PW_QUEUE_DROP 0.1 /* shares of a queue's size that are filled */
#define PW_QUEUE_LEFT_FULL 0.8
#define PW_QUEUE_RIGHT_LOW 0.6

#endif
