/* Which rank takes longer than the others in an operator. */
#ifndef PW_ANALYSIS_OPRANK_H
#define PW_ANALYSIS_OPRANK_H

#include <stddef.h>
#include <stdint.h>

/* So few tell too little of how far ranks are apart by chance. */
enum { PW_OPRANK_FEW = 12 };

struct pw_oprank {
    size_t rank;               /* index */
    int64_t own_ns, others_ns; /* its own work, and the median of the others' */
    double ratio;
};

/* Of own_ns[n], a rank's whole own work in one operator: the one that takes longest, when that is
 * above the others' median by more than 3 x 1.4826 x their MAD, twice their whole range where they
 * are fewer than PW_OPRANK_FEW, a tenth of that median, and least_ns. `scratch` has room for n. 1,
 * or 0 when there is none: fewer than 2 ranks, or most do not call it. */
int pw_oprank_find(const int64_t *own_ns, size_t n, int64_t least_ns, int64_t *scratch,
                   struct pw_oprank *out);

#endif
