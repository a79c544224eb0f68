/* Matrices of steps and ranks made by hand, for the tests of stragglers. */
#ifndef TEST_STRAGGLER_MAKE_H
#define TEST_STRAGGLER_MAKE_H

#include "unit.h"

#include "analysis/straggler.h"

#define MS INT64_C(1000000)

enum { MOST = 16 };

struct job {
    struct pw_straggler_input in;
    int64_t *own, *total, *phase, *error, *useful;
    void *scratch;
    struct pw_straggler_found found[MOST];
    size_t count;
};

/* Own work of 100 ms (half of it forward, half backward) with noise of `sigma_ns`; steps of 120 ms;
 * clocks within 1 us. The caller destroys it. */
struct job *create(size_t nsteps, size_t nranks, double sigma_ns, uint64_t seed);
void destroy(struct job *j);

/* How many stragglers are in `found`. */
size_t find(struct job *j);

/* Makes `rank` slower in steps first..last, in one phase (index into the phase columns). */
void slow(struct job *j, size_t rank, size_t first, size_t last, int64_t ns, int phase);

#endif
