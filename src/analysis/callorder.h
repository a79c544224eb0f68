/* Finds where the members of a communicator call its collectives in different order: first from the
 * hashes that the ranks keep (core/callorder.h), then from the calls of two ranks. Called by
 * report/live. Pure arithmetic: no I/O, no allocation. */
#ifndef PW_ANALYSIS_CALLORDER_H
#define PW_ANALYSIS_CALLORDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/callorder.h"

/* A hash that a rank has; `row`: the rank's row in the input. */
struct pw_callorder_sample {
    uint32_t count;
    uint64_t hash;
    int32_t row;
};

/* The samples of the first number at which hashes differ. */
struct pw_callorder_split {
    int64_t agreed;  /* after so many collectives, the hashes of the two ranks were equal; 0: none
                      * was  compared */
    int64_t differ;  /* after so many they differ */
    size_t first, n; /* samples first .. first + n - 1 are of this number, equal hashes together */
    int32_t most, fewest; /* rows: the first of the largest group, the first of the smallest */
    size_t nmost;
    int is_even; /* 1: no group is larger than all others, so neither side is known to be wrong */
};

/* Sorts the samples of a communicator. Returns 1 and fills *out when hashes differ; else 0. */
int pw_callorder_split(struct pw_callorder_sample *samples, size_t n,
                       struct pw_callorder_split *out);

enum pw_callorder_kind {
    PW_CALLORDER_SAME,   /* no difference, as far as both lists go */
    PW_CALLORDER_GAP,    /* a call is not known before a difference is found */
    PW_CALLORDER_OTHER,  /* the second rank made another call */
    PW_CALLORDER_LIKELY, /* as OTHER, and what it called used to come after the call of the first */
    PW_CALLORDER_SKIPPED, /* the second rank left out a call, and went on with the next one */
    PW_CALLORDER_EXTRA,   /* the second rank made a call more */
};

struct pw_callorder_difference {
    enum pw_callorder_kind kind;
    int64_t seq; /* number of the first call that differs; of a creation: of the next collective */
    size_t at;   /* its place in both lists */
};

/* Compares the calls of a rank of the largest group with those of another rank. Both lists begin
 * with the same collective. A call of one rank is left out, or is one more, when the calls after it
 * are those of the other rank. It is likely to be left out when, the last time that the same calls
 * came before, the one that is missing came, and then the one that was made instead. */
void pw_callorder_compare(const struct pw_ordered_call *most, size_t nmost,
                          const struct pw_ordered_call *other, size_t nother,
                          struct pw_callorder_difference *out);

/* What of two calls differs: the first that applies. */
enum pw_callorder_part {
    PW_PART_OPERATION,
    PW_PART_ROOT,
    PW_PART_REDUCTION,
    PW_PART_BYTES, /* of a call that has not ended they are not known: -1 */
};
enum pw_callorder_part pw_callorder_part(const struct pw_ordered_call *a,
                                         const struct pw_ordered_call *b);

/* The name of the reduction in the signature, such as "MPI_SUM"; "" for none, "a reduction of the
 * program" for one that it has made. */
const char *pw_callorder_reduction(uint32_t signature);

#endif
