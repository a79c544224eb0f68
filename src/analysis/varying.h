/* Whether the ranks' work differs from step to step because they are given more or less of it, now
 * one rank and now another, where nothing tells the amounts: sequences of different lengths,
 * batches of different files.
 *
 * More of it makes two phases longer at once, and in the same proportion, while noise of the
 * machine either hits one phase, or all of them: also those whose work does not depend on the
 * amount. So the logarithm of a rank's work in a phase, less the step's median over the ranks, less
 * that of the step before, is looked at for the two phases with most work, x and y, and for the
 * rest of the work, z. Work varies when
 *   - cov(x, y) is above 0 by five standard errors, which are those of the steps' means, since
 *     ranks of one step may have the same amounts;
 *   - the median rank's is at least half of the mean: it is no single rank's doing;
 *   - the standard deviation that this is of is 2 % or more;
 *   - z follows by at most half: cov(x + y, z) / 2 cov(x, y), with two standard errors, is at most
 *     0.5.
 * What x and y do not share is noise. At most 1024 ranks are looked at, evenly spread. */
#ifndef PW_ANALYSIS_VARYING_H
#define PW_ANALYSIS_VARYING_H

#include <stddef.h>
#include <stdint.h>

struct pw_varying_input {
    size_t nsteps, nranks;
    const int64_t *phase_ns; /* [nsteps * nranks * PW_PHASES] work, -1: not known */
};

struct pw_varying {
    double spread;   /* standard deviation of what both phases share, as a share of their work */
    uint32_t phases; /* bits of the two */
    double noise;    /* of a deviation of the two phases' work from the step's mean this is noise */
};

/* Values of scratch that the functions below need. */
size_t pw_varying_scratch(size_t nsteps, size_t nranks);

/* 1 when work varies so; fills `out`. */
int pw_varying_find(const struct pw_varying_input *in, struct pw_varying *out, double *scratch);

/* A rank's work in steps, or its logarithm, less that of the step's ranks: how many, their sum, and
 * of their squares. */
struct pw_varying_level {
    double n, sum, squares;
};

/* Mean of some steps less that of others (0 where there are fewer than 10), or 0 where that is
 * within three standard errors. */
double pw_varying_difference(const struct pw_varying_level *some,
                             const struct pw_varying_level *others);

/* Which role each rank has; `role_of` NULL: all have one. */
struct pw_varying_roles {
    const int32_t *role_of; /* [nranks] */
    size_t nroles;
};

enum { PW_VARYING_SUMS = 4 }; /* values of scratch for each role */

/* Into usual[nranks]: the mean of the role's ranks, as means of few steps differ by chance; where
 * they differ by more (three standard errors of the variance between them), each rank's own mean,
 * drawn to that by as much as chance explains (James and Stein, 1961). */
void pw_varying_usual(const struct pw_varying_level *ranks, size_t nranks,
                      struct pw_varying_roles roles, double *usual, double *scratch);

/* Of one step: works[nranks], each as a share of what is usual for its rank, at most 0 when it is
 * not known, to factors that leave their sum and of their deviations the noise. */
void pw_varying_share(const struct pw_varying *varying, const double *works, size_t nranks,
                      double *factors);

#endif
