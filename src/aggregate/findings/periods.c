/* Gives pw_lossperiod_find() the excess of each straggler in its steps; see periods.h. */
#include "aggregate/findings/periods.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "analysis/straggler.h"

/* Limits: stragglers that are examined, worst first, and steps of each: a period needs few; and own
 * works that are read for all of them. */
enum { MOST_EXAMINED = 32, MOST_STEPS = 1 << 14, MOST_READ = 1 << 28 };

/* The steps that were lost are those of the period within this share of their number. */
#define PERIOD_MISSES 0.25

struct excess {
    int64_t *of_step; /* [MOST_STEPS] */
    int64_t *others;  /* [nranks] */
    size_t n;
};

/* The own work of the rank in a step above the median of the other ranks; 0: not known. */
static int64_t excess_in(const struct pw_matrix *m, size_t step, size_t rank, int64_t *others)
{
    const int64_t *own = m->own_ns + step * m->nranks;
    size_t n = 0;
    for (size_t r = 0; r < m->nranks; r++)
        if (r != rank && own[r] >= 0)
            others[n++] = own[r];
    return n && own[rank] >= 0 ? own[rank] - pw_median_i64(others, n) : 0;
}

/* The steps from first_step to last_step. Returns 0 when their numbers do not follow each other. */
static int read_steps(const struct pw_findings *f, const struct pw_matrix *m,
                      const struct pw_row_c_straggler *row, struct excess *excess)
{
    excess->n = 0;
    for (size_t s = 0; s < f->nsteps && s < m->nsteps && excess->n < MOST_STEPS; s++) {
        const int64_t number = f->steps[s].step;
        if (number < row->first_step || number > row->last_step)
            continue;
        if (excess->n && number != f->steps[s - 1].step + 1)
            return 0;
        excess->of_step[excess->n++] = excess_in(m, s, (size_t)row->rank, excess->others);
    }
    return 1;
}

/* The period, if as many steps were lost as it has. */
static int64_t period_of(const struct pw_row_c_straggler *row, const struct excess *excess)
{
    const int64_t period = pw_lossperiod_find(excess->of_step, excess->n);
    const double steps = period ? (double)excess->n / (double)period : 0;
    return fabs((double)row->steps_hit - steps) <= PERIOD_MISSES * steps ? period : 0;
}

int pw_periods_find(struct pw_findings *f, const struct pw_matrix *m)
{
    struct excess excess = {.of_step = malloc(sizeof(int64_t) * MOST_STEPS),
                            .others = malloc(sizeof(int64_t) * (m->nranks + 1))};
    const int err = excess.of_step && excess.others ? 0 : -ENOMEM;
    size_t left = MOST_READ;
    for (size_t i = 0; !err && i < f->nstragglers && i < MOST_EXAMINED; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->part != PW_PART_ANY || row->first_step < 0 || left < m->nranks * MOST_STEPS ||
            !read_steps(f, m, row, &excess))
            continue;
        row->period = period_of(row, &excess);
        left -= excess.n * m->nranks;
    }
    free(excess.of_step);
    free(excess.others);
    return err;
}
