/* How a rank's work depends on how much of it the rank is given: what a unit of work costs where
 * the amounts are known, and whether work varies where they are not. Called by aggregate/findings.
 * Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory. */
#ifndef PW_ANALYSIS_AMOUNT_H
#define PW_ANALYSIS_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

/* What a unit of work costs: own work regressed on its amount (tokens, cells, bytes), so that a
 * rank that is given more is not taken for a slow one.
 *
 * The slope is a median of slopes (Theil and Sen) over pairs of values whose amounts differ by 5 %
 * of the median amount or more: of the same rank in steps that are 1, 2, 4, 8 ... apart, the first
 * distance with 30 or more such pairs, since a rank that is always slow does not change those; else
 * of pairs of ranks, each with its medians. When the standard error of the former is above 5 % and
 * the latter differs from it by at most three of these errors, the latter is taken, because it is
 * known better. It is at most median work / median amount, because no work cannot take less than no
 * time. For a single rank with other amounts than the rest, only this limit says how much of its
 * excess the amount explains. */

struct pw_amount_input {
    size_t nsteps, nranks;
    const int64_t *own_ns; /* [nsteps * nranks], -1: not known */
    const int64_t *amount; /* the same of the amounts, in any unit; -1: not known */
    /* 1: the program did not say that this is the amount of work. It counts as an amount only when
     * three quarters of the slopes are at least half of what they would be if all work were in
     * proportion to it. */
    int is_guessed;
};

/* Values of scratch that the functions below need. */
size_t pw_amount_scratch(size_t nsteps, size_t nranks);

/* ns per unit; 0 when the amounts do not differ, or work does not rise with them. */
double pw_amount_cost(const struct pw_amount_input *in, int64_t *scratch);

/* Median amount of a step's ranks, -1: none is known. */
int64_t pw_amount_of_step(const struct pw_amount_input *in, size_t step, int64_t *scratch);

/* Subtracts what the amount explains from a series like own_ns, in place: cost x (amount - the
 * median amount of the step). Work stays at 0 or above. */
void pw_amount_take_out(const struct pw_amount_input *in, double cost, int64_t *series,
                        int64_t *scratch);

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
 * the ranks differ by more (three standard errors of the variance between them), each rank's own
 * mean, shrunk towards the role's by as much as chance explains (James and Stein, 1961). */
void pw_varying_usual(const struct pw_varying_level *ranks, size_t nranks,
                      struct pw_varying_roles roles, double *usual, double *scratch);

/* works[nranks] of one step, each as a share of what is usual for its rank, at most 0 when it is
 * not known. Fills in the factors that keep the sum of the works and reduce their deviations to
 * noise. */
void pw_varying_share(const struct pw_varying *varying, const double *works, size_t nranks,
                      double *factors);

#endif
