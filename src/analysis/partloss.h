/* Which rank held the job back in a part of the run outside its steps: before MPI_Init, in it,
 * before the first step, after the last, after MPI_Finalize. Its own time there, in which it did
 * not wait for others, is compared with the median of the other ranks'; in MPI_Init, whose waits
 * nothing shows, that in which it did not sleep. How long programs take to start differs on every
 * machine. But for MPI_Init a rank is named when it lost 1 % of the run, no other rank more than
 * half of that, and the chance that a rank is so far above the others in any part is below 0.001 by
 * Grubbs' test (statistics.h); or 3 %, and 0.01. Before and in MPI_Init also when it lost 3 % of
 * the run and no other rank more than a fifth of that; before it also when it lost 1.5 % and no
 * other more than a twentieth. Later on, of less than 8 ranks, also when it lost 3 % and five times
 * as much as the others differ, since the spread of few says little. Of two ranks, where nobody
 * says which is usual, it is 3 % before MPI_Init and a tenth of the run elsewhere; in MPI_Init,
 * where one may sleep and the other look again and again, only when it slept for a tenth of it,
 * too. */
#ifndef PW_ANALYSIS_PARTLOSS_H
#define PW_ANALYSIS_PARTLOSS_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

struct pw_partloss {
    size_t rank;
    enum pw_part part;
    enum pw_cause cause;
    int64_t lost_ns;   /* own time more than the other ranks' median */
    int64_t next_ns;   /* the same of the rank with most but this one */
    int64_t usual_ns;  /* the other ranks' median */
    int64_t spread_ns; /* the other ranks' largest less their least */
};

enum { PW_PARTLOSSES = 5 }; /* at most: one for each part */

/* `rows` [PW_PART_END * nranks], by part from start to end, -1: not known. `scratch` has room for
 * 2 * nranks values. How many are found. */
size_t pw_partloss_find(const struct pw_row_c_part_trace *rows, size_t nranks, int64_t run_ns,
                        int64_t *scratch, struct pw_partloss out[PW_PARTLOSSES]);

#endif
