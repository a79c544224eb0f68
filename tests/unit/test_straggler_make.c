/* Matrices of steps and ranks made by hand; see test_straggler_make.h. */
#include "test_straggler_make.h"

#include <stdlib.h>
#include <string.h>

struct job *create(size_t nsteps, size_t nranks, double sigma_ns, uint64_t seed)
{
    struct job *j = calloc(1, sizeof(*j));
    size_t n = nsteps * nranks;
    j->own = calloc(n, 8);
    j->total = calloc(n, 8);
    j->phase = calloc(n * PW_PHASES, 8);
    j->error = calloc(nranks, 8);
    j->scratch = malloc(pw_straggler_scratch(nsteps, nranks)); /* no byte more: asan looks */
    for (size_t i = 0; i < n; i++) {
        j->own[i] = 100 * MS + (int64_t)(sigma_ns * unit_normal(&seed));
        j->total[i] = 120 * MS;
        j->phase[i * PW_PHASES + 1] = j->own[i] / 2;
        j->phase[i * PW_PHASES + 2] = j->own[i] - j->own[i] / 2;
    }
    for (size_t r = 0; r < nranks; r++)
        j->error[r] = 1000;
    j->in = (struct pw_straggler_input){nsteps,   nranks, j->own, j->total, j->phase,
                                        j->error, NULL,   NULL,   0};
    return j;
}

void destroy(struct job *j)
{
    free(j->own);
    free(j->total);
    free(j->phase);
    free(j->error);
    free(j->useful);
    free(j->scratch);
    free(j);
}

size_t find(struct job *j)
{
    memset(j->scratch, 0xa5, pw_straggler_scratch(j->in.nsteps, j->in.nranks));
    j->count = pw_straggler_find(&j->in, j->scratch, j->found, MOST);
    return j->count;
}

void slow(struct job *j, size_t rank, size_t first, size_t last, int64_t ns, int phase)
{
    for (size_t s = first; s <= last; s++) {
        j->own[s * j->in.nranks + rank] += ns;
        j->phase[(s * j->in.nranks + rank) * PW_PHASES + (size_t)phase] += ns;
    }
}
