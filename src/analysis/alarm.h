/* Decides while a job runs which rank is slow, from the own work of each rank in each step. Called
 * by report/live/livealarm.c. Pure arithmetic: no I/O, no allocation; the caller gives the
 * memory. A step takes time O(ranks x log ranks) for the order of the ranks, and O(ranks) for the
 * rest.
 *
 * The question of a rank is whether its own work exceeds that of its peers by more than delta, a
 * share of a step. Let k be the number of peers with less work than the rank has without delta. As
 * long as no rank is slower than a peer by more than delta, and the noise does not distinguish the
 * ranks, k is not larger than the place of a rank drawn at random: uniform on 0 .. n - 1, whatever
 * the noise is. So for each increasing f with the mean 1 over the n places, f(k) is an e-value: its
 * mean is at most 1, given everything before the step. f is the exponential of a normal score (van
 * der Waerden, Proc. Kon. Ned. Akad. Wet. A 55, 1952):
 *
 *     f(k) = exp(effect x score(k)) / mean over the places,    score(k) = quantile((k + 1/2) / n)
 *
 * For an excess of `effect` standard deviations of normal noise it grows as the likelihood ratio,
 * by effect^2 / 2 a step, and at most by ln n, because k has n values. The effects 1/4, 1/2, 1, 2
 * and 4 are mixed with equal weights.
 *
 * Since the onset is not known, the e-values of all onsets are added up (e-detectors: Shin, Ramdas,
 * Rinaldo, "E-detectors: a nonparametric framework for sequential change detection", arXiv
 * 2203.03532; the sum of Shiryaev and Roberts):
 *
 *     evidence = (evidence + budget) x f(k),    budget = alarms a day x length of the step / ranks
 *
 * An alarm begins when the evidence is 1, and takes it back to 0. Evidence of all ranks minus the
 * budget given, plus the alarms, has a mean of at most 0 at any time. So the mean number of false
 * alarms in a time is at most `alarms a day` x the time, for all ranks together, and one may look
 * after every step. Nothing else is calibrated. The budget of a step is known without the order of
 * the ranks in it.
 *
 * A rank that has less work than all others makes the places of these too high. So of three peers
 * or more the one with the least work in a step is left out: the place is max(0, k - 1) of n - 1.
 * It is uniform when one rank is always below the others, and lower when none is. If the mean
 * excess since the onset, over the median of the peers, is below delta, or more than half of the
 * ranks would be slow, it is no alarm.
 *
 * Dependence from step to step breaks "given everything before". It is measured from the ranks'
 * places: rho = 1 - (mean square of the difference of a rank's places in successive steps / the
 * same of steps PW_ALARM_LAGS apart), the ratio of von Neumann (Ann. Math. Stat. 12, 1941), to
 * which a rank that is always slow adds nothing. Its error is that of a ratio of sums over steps,
 * because the places in one step depend on each other. While rho is above PW_ALARM_DEPENDENCE by
 * PW_ALARM_ERRORS errors, twice as many steps are added up to a block, up to PW_ALARM_BLOCK steps,
 * and blocks are compared instead of steps. What is left of rho, with its error, slows the growth
 * of the evidence: ln f becomes effect x score - (1 + rho) / (1 - rho) x ln(mean), as for sums with
 * that much more variance. Nothing is judged in the first PW_ALARM_FEWEST blocks of a length,
 * before rho is known. Beyond the largest block, and with two
 * ranks, alarms are `uncalibrated`.
 *
 * An alarm ends when the same evidence, of places from the top, shows that the rank exceeds its
 * peers by less than half of the alarm's mean excess; this is wrong at most once in
 * 1 / PW_ALARM_END blocks. Ranks in an alarm are no peers.
 *
 * What it cannot see: less than delta; a single stall, since a step adds at most ln n; a noise that
 * is larger on one rank counts as slowness of that rank. */
#ifndef PW_ANALYSIS_ALARM_H
#define PW_ANALYSIS_ALARM_H

#include <stddef.h>
#include <stdint.h>

#define PW_ALARM_DELTA 0.01      /* of a step: an excess that does not matter */
#define PW_ALARM_DEPENDENCE 0.1  /* largest rho with which blocks are not made longer */
#define PW_ALARM_ERRORS 4        /* standard errors of rho above it */
#define PW_ALARM_RHO_CEILING 0.5 /* rho is taken to be at most this */
#define PW_ALARM_END 1e-3        /* rate of wrong ends, a block */
enum { PW_ALARM_EFFECTS = 5, PW_ALARM_LAGS = 8, PW_ALARM_BLOCK = 32, PW_ALARM_FEWEST = 24 };

struct pw_alarm_sums {
    double excess_ns; /* own work above the median of the peers */
    double
        cost_ns; /* of steps in which it had most work: above the most of the others in no alarm */
    int64_t steps;
    int64_t step; /* number of the last step */
};

/* Evidence for one effect, and from where on it has grown most: since then the product of f was
 * `rise`. */
struct pw_alarm_track {
    double evidence, rise;
    struct pw_alarm_sums from;
};

/* f for n places and each effect: rows of n values. */
struct pw_alarm_table {
    double *f;
    size_t n; /* 0: none yet */
    double log_mean[PW_ALARM_EFFECTS];
};

enum pw_alarm_change { PW_ALARM_SAME, PW_ALARM_BEGUN, PW_ALARM_ENDED };

struct pw_alarm_rank {
    struct pw_alarm_track tracks[PW_ALARM_EFFECTS]; /* in an alarm: evidence of its end */
    struct pw_alarm_sums sums, from;                /* since the start; at the alarm's onset */
    float places[PW_ALARM_LAGS + 1];                /* of the last blocks; NAN: not known */
    int64_t block_ns;                               /* own work in the block; -1: not known */
    int is_slow;                                    /* 1: in an alarm */
    enum pw_alarm_change change;                    /* by the last step */
};

/* Sums of squared differences of places. */
struct pw_alarm_dependence {
    int64_t blocks;
    int64_t changed;                     /* blocks in which places changed */
    double near, far;                    /* of the block; PW_ALARM_LAGS blocks apart */
    double all_near, all_far;            /* of all blocks; old ones are forgotten */
    double near_near, near_far, far_far; /* sums of products of the blocks' sums */
};

struct pw_alarm_setup {
    size_t nranks;         /* peers, at least 1 */
    size_t all_ranks;      /* of the job: the rate is of all of them */
    double alarms_per_day; /* above 0 */
    double delta;          /* PW_ALARM_DELTA */
};

struct pw_alarm {
    struct pw_alarm_setup setup;
    struct pw_alarm_rank *ranks; /* [nranks] */
    int64_t *sorted;             /* [nranks] */
    struct pw_alarm_table peers; /* of places among the peers */
    struct pw_alarm_table slow;  /* of places of slow ranks, which are no peers: one more */
    int block;                   /* steps in a block */
    int block_filled;            /* and those that it has */
    int64_t block_ns;            /* length of its steps */
    struct pw_alarm_dependence dependence;
    double spread_ns; /* standard deviation between ranks in a block; -1: not known */
    double step_ns;   /* mean length of recent steps */
    size_t nslow;     /* ranks in an alarm */
    size_t npeers;    /* ranks that were compared in the last block */
    int64_t tested;   /* steps since the last change of the number of steps in a block */
    int is_uncalibrated;
};

/* Bytes of memory that pw_alarm_init() needs, aligned as by malloc(). */
size_t pw_alarm_size(size_t nranks);
void pw_alarm_init(struct pw_alarm *alarm, const struct pw_alarm_setup *setup, void *memory);

/* Adds a step: own_ns[nranks], -1: not known. `length_ns`: how long it took, above 0. Sets `change`
 * of all ranks. Returns the number of alarms that began or ended. */
size_t pw_alarm_step(struct pw_alarm *alarm, int64_t step, int64_t length_ns,
                     const int64_t *own_ns);

/* Mean excess of a slow rank in a step, since its onset. */
double pw_alarm_excess_ns(const struct pw_alarm_rank *rank);

/* After about how many steps a rank with an excess of `share` of a step would be seen; -1: never,
 * or not known. */
double pw_alarm_delay(const struct pw_alarm *alarm, double share);

#endif
