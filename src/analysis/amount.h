/* Determines how a rank's work depends on the amount of work that it is given (tokens, cells). If
 * the amounts are known: what a unit costs. If they are unknown: whether they vary. Called by
 * aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller gives the scratch
 * memory. */
#ifndef PW_ANALYSIS_AMOUNT_H
#define PW_ANALYSIS_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

/* The cost of a unit of work: the slope of a regression of own work on its amount (tokens, cells,
 * bytes). With it, a rank that is given more work is not taken for a slow one.
 *
 * The slope is a median of slopes (Theil and Sen) over pairs of values whose amounts differ by 5 %
 * of the median amount or more. There are two kinds of pairs:
 *   1. Two steps of one rank. They are 1, 2, 4, 8 ... steps apart: the first distance with 30 or
 *      more pairs is used. A rank that is always slow does not change these slopes.
 *   2. Two ranks, each with its median work and amount. They are used when there are too few pairs
 *      of steps. They are also used when the slope between steps has a standard error above 5 % and
 *      the slope between ranks differs from it by at most three such errors.
 * The slope is limited to median work / median amount, because no amount of work takes negative
 * time. When only one rank has amounts that differ from those of the others, this limit alone says
 * how much of its excess the amount explains. */

struct pw_amount_input {
    size_t nsteps, nranks;
    const int64_t *own_ns; /* [nsteps * nranks], -1: not known */
    const int64_t *amount; /* [nsteps * nranks] amounts in any unit, -1: not known */
    /* 1: `amount` is a guess, because the program did not give its amount of work. The guess is
     * used only when three quarters of the slopes are at least half as large as they would be if
     * work were proportional to `amount`. */
    int is_guessed;
};

/* Values of scratch that the functions below need. */
size_t pw_amount_scratch(size_t nsteps, size_t nranks);

/* Returns the cost, ns per unit; 0 when the amounts do not differ, or work does not rise with
 * them. */
double pw_amount_cost(const struct pw_amount_input *in, int64_t *scratch);

/* Median amount of a step's ranks, -1: none is known. */
int64_t pw_amount_of_step(const struct pw_amount_input *in, size_t step, int64_t *scratch);

/* Subtracts what the amount explains from a series like own_ns, in place: cost x (amount - the
 * median amount of the step). Work stays at 0 or above. */
void pw_amount_take_out(const struct pw_amount_input *in, double cost, int64_t *series,
                        int64_t *scratch);

/* Decides whether work varies because the ranks are given unequal amounts, when the amounts are
 * unknown. The rank with the largest amount changes from step to step. Examples are sequences of
 * different lengths and batches of different files.
 *
 * A larger amount makes two phases longer in the same proportion. Noise of the machine makes either
 * one phase longer, or all phases, also those that do not depend on the amount. So three series are
 * compared: x and y of the two phases with most work, and z of the rest of the work. The deviation
 * of a rank in a step is the logarithm of its work, minus the median of the ranks' logarithms. A
 * value is the deviation minus that of the step before. Work varies when
 *   - cov(x, y) is above 0 by five standard errors. These are errors of the means of steps, since
 *     the ranks of a step may have the same amounts;
 *   - the covariance of the median rank is at least half of the mean, so that it is not caused by a
 *     single rank;
 *   - the standard deviation that follows from cov(x, y) is 2 % or more;
 *   - z follows x and y by at most half: cov(x + y, z) / 2 cov(x, y), plus two standard errors, is
 *     at most 0.5.
 * The part of x and y that they do not share is noise. At most 1024 ranks are used, evenly
 * spread. */

struct pw_varying_input {
    size_t nsteps, nranks;
    const int64_t *phase_ns; /* [nsteps * nranks * PW_PHASES] work, -1: not known */
};

struct pw_varying {
    double spread; /* standard deviation of the part that x and y share, as a share of their work */
    uint32_t phases; /* the bits of the phases of x and y */
    double noise;    /* the share of noise in a deviation of the work of both phases from the step's
                        mean, 0..1 */
};

/* Values of scratch that the functions below need. */
size_t pw_varying_scratch(size_t nsteps, size_t nranks);

/* Returns 1 and fills `out` when work varies as described above, else 0. */
int pw_varying_find(const struct pw_varying_input *in, struct pw_varying *out, double *scratch);

/* Values of one rank over steps: its work, or the logarithm of it, minus that of all ranks in the
 * step. n: how many values; sum: of the values; squares: of their squares. */
struct pw_varying_level {
    double n, sum, squares;
};

/* Mean of `some` minus mean of `others`; 0 when the difference is within three standard errors.
 * With fewer than 10 other values, their mean counts as 0. */
double pw_varying_difference(const struct pw_varying_level *some,
                             const struct pw_varying_level *others);

/* The role of each rank; `role_of` NULL: all ranks have the same role. */
struct pw_varying_roles {
    const int32_t *role_of; /* [nranks] */
    size_t nroles;
};

enum { PW_VARYING_SUMS = 4 }; /* values of scratch for each role */

/* Fills usual[nranks] with the usual value of each rank: the mean of its role, because the means of
 * single ranks differ by chance. When the ranks of the role differ by more than chance (three
 * standard errors of the variance between them), it is the rank's own mean, shrunk towards the mean
 * of the role (James and Stein, 1961). */
void pw_varying_usual(const struct pw_varying_level *ranks, size_t nranks,
                      struct pw_varying_roles roles, double *usual, double *scratch);

/* works[nranks] is the work in one step divided by the usual work of the rank; 0 or less: not
 * known. Fills factors[nranks]: multiplied by them, the works keep their sum, and only the noise in
 * their deviations is left. */
void pw_varying_share(const struct pw_varying *varying, const double *works, size_t nranks,
                      double *factors);

#endif
