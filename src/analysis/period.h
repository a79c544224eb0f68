/* Whether parts of a loop that look alike by their calls are several to an iteration: a solver has
 * three dot products, a halo exchange four messages, of which each follows another piece of work.
 *
 * The own work between one such call and the next then has a pattern that comes again every
 * `length` calls: the correlation of its logarithm with itself, that many calls later, is at least
 * 0.5 and above that of all shorter distances, and the pieces differ by half or more. Pieces of
 * like work are iterations of their own, and so is what repeats after more than PW_PERIOD_MOST: the
 * inner of nested loops. */
#ifndef PW_ANALYSIS_PERIOD_H
#define PW_ANALYSIS_PERIOD_H

#include <stddef.h>
#include <stdint.h>

enum { PW_PERIOD_MOST = 8 };

struct pw_period {
    size_t length;                    /* pieces of an iteration; 1: each is one */
    double pattern[PW_PERIOD_MOST];   /* [length] logarithm of the work, beginning with the most */
    double floor, ceiling, tolerance; /* of a piece's work, ns; of a mean difference from pattern */
};

/* The pattern in the work, ns, of n pieces that follow each other. `scratch` has room for n. */
struct pw_period pw_period_find(const int64_t *work, size_t n, double *scratch);

/* Where iterations begin, as indices of pieces: first[0 .. returned), at most n + 1, of which the
 * last is where the last whole one ended. An iteration may have more pieces now and then, after
 * which the pattern goes on. *alike is the share of iterations that have exactly the pattern.
 * `scratch` has room for n. */
size_t pw_period_cut(const struct pw_period *period, const int64_t *work, size_t n, double *scratch,
                     size_t *first, double *alike);

#endif
