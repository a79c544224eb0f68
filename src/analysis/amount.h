/* What a unit of work costs: own work regressed on its amount (tokens, cells, bytes), so that a
 * rank that is given more is not taken for a slow one.
 *
 * The slope is a median of slopes (Theil and Sen) over pairs of values whose amounts differ by 5 %
 * of the median amount or more: of the same rank in steps that are 1, 2, 4, 8 ... apart, the first
 * distance with 30 or more such pairs, since a rank that is always slow does not change those; else
 * of pairs of ranks, each with its medians. Where the standard error of the former is above 5 % and
 * the latter is within three of it, the latter is taken, which is the better known. It is at most
 * median work / median amount, as no work would else take less than no time: of a single rank with
 * other amounts than the rest, that alone tells how much of its excess the amount explains. */
#ifndef PW_ANALYSIS_AMOUNT_H
#define PW_ANALYSIS_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

struct pw_amount_input {
    size_t nsteps, nranks;
    const int64_t *own_ns; /* [nsteps * nranks], -1: not known */
    const int64_t *amount; /* likewise, in any unit */
    /* 1: the program did not say that this is the amount of work. It is one only when three
     * quarters of the slopes are at least half of what they were if all work were in proportion to
     * it. */
    int is_guessed;
};

/* Values of scratch that the functions below need. */
size_t pw_amount_scratch(size_t nsteps, size_t nranks);

/* ns per unit; 0 when the amounts do not differ, or work does not rise with them. */
double pw_amount_cost(const struct pw_amount_input *in, int64_t *scratch);

/* Median amount of a step's ranks, -1: none is known. */
int64_t pw_amount_of_step(const struct pw_amount_input *in, size_t step, int64_t *scratch);

/* Takes what is explained out of a series like own_ns, which is changed: cost x (amount - the
 * median amount of the step). Work stays at 0 or above. */
void pw_amount_take_out(const struct pw_amount_input *in, double cost, int64_t *series,
                        int64_t *scratch);

#endif
