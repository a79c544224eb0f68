/* How long steps took: those of a job, and those of two runs compared. Called by aggregate/findings
 * and report/compare. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 */
#ifndef PW_ANALYSIS_STEPTIMES_H
#define PW_ANALYSIS_STEPTIMES_H

#include <stddef.h>
#include <stdint.h>

/* The steps of two runs: means, medians and tails, and how much of the difference is more than the
 * steps' own spread. */

/* One run's steps. */
struct pw_steps_summary {
    size_t n;
    double mean, median, p90, p99, slowest;
    size_t few;      /* steps so much longer that nothing else in either run is like them */
    double few_ns;   /* what they are above the median, in all */
    double few_from; /* the shortest of them */
    double rest;     /* mean, with these steps at the median */
    size_t
        beyond; /* other steps that are longer than the slowest of the other run, without these */
};

struct pw_steppair {
    struct pw_steps_summary runs[2];
    double p_median; /* Mann-Whitney */
    double p_mean;   /* permutation of successive steps, without the few */
    double p_tail;   /* the same of how many steps are above the slowest tenth of both runs */
    double p_few;    /* 1 where there are none */
    size_t block;   /* successive steps that stood together in the tests: 1 where they are unlike */
    double tail_ns; /* time above that tenth's beginning: second run's less first's, at as many
                       steps */
    double noise_ns; /* the third largest of what steps are above their run's median, without the
                        few */
};

/* How many times `noise_ns` a single loss must be for a chance below 0.01: see pw_steppair_chance.
 */
#define PW_STEPPAIR_TIMES 17.33

/* The chance that one of a run's steps is `excess_ns` above the median, or more, where the third
 * largest is noise_ns and large excesses are spread as heavily as a Pareto distribution of index 2:
 * 3 (noise / excess)^2, at most 1. */
double pw_steppair_chance(double excess_ns, double noise_ns);

/* Doubles that pw_steppair() needs. */
size_t pw_steppair_scratch(size_t na, size_t nb);

/* The durations of a run's steps, in order; they are not changed. */
struct pw_run_steps {
    const double *ns; /* [n], n >= 2 */
    size_t n;
};

/* Compares runs[0] with runs[1].
 *
 * The few: at most 2 steps or a twentieth of one run, each PW_STEPPAIR_TIMES as far above what the
 * third largest of its other steps and the largest of the other run are above their medians, or a
 * thousandth of the median. They are judged by that alone, and stand at the median in the tests.
 *
 * The correlation of successive steps is taken from the run in which it is lower, without steps
 * that are further from the median than 5 x 1.4826 x the MAD: the test looks for a change in one
 * run, which is not noise. */
void pw_steppair(const struct pw_run_steps runs[2], double *scratch, struct pw_steppair *out);

/* How long each step of a job took, so that the steps add up to time that passed.
 *
 * A rank's steps follow each other, but ranks are not in the same step at the same time, and the
 * one with the longest step is another from step to step: the longest totals add up to more than
 * the run. A step took as long as the last rank ended it after the last rank had ended the one
 * before; where that is longer than any rank was in it, as in a first step that ranks begin one
 * after the other, the longest total. */

struct pw_stepwall {
    int64_t start, end; /* earliest start and latest end of any rank; start > end: not known */
    int64_t longest;    /* total of any rank; -1: not known */
    int64_t wall;       /* out: at least 0; -1 where the step is not known */
};

/* Steps in any order; `order` has room for n. */
void pw_stepwall_find(struct pw_stepwall *steps, size_t n, struct pw_stepwall **order);

#endif
