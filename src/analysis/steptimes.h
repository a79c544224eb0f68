/* How long the steps of a job took, and whether the steps of two runs differ. Called by
 * aggregate/findings and report/compare. Pure arithmetic: no I/O, no allocation; the caller gives
 * the scratch memory. */
#ifndef PW_ANALYSIS_STEPTIMES_H
#define PW_ANALYSIS_STEPTIMES_H

#include <stddef.h>
#include <stdint.h>

/* ---- two runs: means, medians and tails of their steps, and whether these differ by more than
 * chance ---- */

/* The steps of one run, ns. */
struct pw_steps_summary {
    size_t n;
    double mean, median, p90, p99, slowest;
    size_t few;      /* number of extreme steps: see pw_steppair() */
    double few_ns;   /* sum of their excess above the median */
    double few_from; /* the shortest of them */
    double rest;     /* mean of all steps when these are set to the median */
    size_t beyond;   /* number of other steps that are longer than the slowest step of the other run
                        that is not extreme */
};

struct pw_steppair {
    struct pw_steps_summary runs[2];
    double p_median; /* Mann-Whitney */
    double p_mean;   /* permutation test of the means, with the few set to the median */
    double p_tail;   /* permutation test of how many steps are in the slowest tenth of both runs */
    double p_few;    /* chance of the few; 1: there are none */
    size_t block;    /* number of successive steps that the tests keep together; 1: steps are not
                        correlated */
    double tail_ns; /* time above the begin of the slowest tenth: second run minus first run, scaled
                       to the same number of steps */
    /* the third largest excess of a step above its run's median, without the few */
    double noise_ns;
};

/* A single loss of so many times noise_ns has a chance below 0.01: see pw_steppair_chance(). */
#define PW_STEPPAIR_TIMES 17.33

/* The chance that some step of a run is excess_ns or more above the median, when the third largest
 * excess is noise_ns and large excesses follow a Pareto distribution of index 2: 3 (noise /
 * excess)^2, at most 1. */
double pw_steppair_chance(double excess_ns, double noise_ns);

/* Doubles that pw_steppair() needs. */
size_t pw_steppair_scratch(size_t na, size_t nb);

/* The durations of a run's steps, in time order, ns. */
struct pw_run_steps {
    const double *ns; /* [n], n >= 2 */
    size_t n;
};

/* Compares runs[0] with runs[1]. The *few* are the extreme steps of a run: at most 2, or a
 * twentieth of its steps. The excess of an extreme step above the median is at least
 * PW_STEPPAIR_TIMES as large as each of these three: the third largest excess of the other steps of
 * its run, the largest excess of the other run, and a thousandth of the median. In the tests of
 * means and tails, the few are set to the median.
 *
 * The correlation length is the smaller one of the two runs, because a change within one run is no
 * noise. Steps further from the median than 5 x 1.4826 x the MAD do not count in it. */
void pw_steppair(const struct pw_run_steps runs[2], double *scratch, struct pw_steppair *out);

/* How long each step of a job took, so that the steps add up to elapsed time.
 *
 * The longest total of each step would add up to more than the run, because ranks are not in the
 * same step at the same time. So the length of a step is the time from the moment when the last
 * rank ended the step before to the moment when the last rank ended this step. It is at most the
 * longest total of a rank, as in a first step that ranks begin one after the other. */

struct pw_stepwall {
    int64_t start, end; /* earliest start and latest end over the ranks; start > end: not known */
    int64_t longest;    /* longest total of a rank; -1: not known */
    int64_t wall;       /* result: length of the step, at least 0; -1: the step is not known */
};

/* Fills `wall` of all steps, which may be in any order. `order` has room for n pointers. */
void pw_stepwall_find(struct pw_stepwall *steps, size_t n, struct pw_stepwall **order);

#endif
