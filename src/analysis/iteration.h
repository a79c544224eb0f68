/* Finds the iterations of a program that marks no steps, in the order of one rank's calls: the
 * innermost loop around its communication. Called by aggregate/steps. Pure arithmetic: no I/O, no
 * allocation; the caller gives the scratch memory.
 *
 * An iteration begins with the same kind of call each time, its anchor, and has the same calls
 * between one anchor and the next. For each kind of call the most frequent content between two of
 * them is taken. Kinds with more alike iterations go first (in classes: at least 85 %, 70 %, 50 %
 * with the usual content). Among those whose usual iterations cover at least 0.6 of the largest
 * coverage, the kind with most iterations is taken: the inner of nested loops. Calls that come only
 * now and then, as output every tenth iteration, make single iterations differ, and change nothing.
 * A kind is rejected when the mean length of its iterations is above 4 times the median, because
 * its anchor then comes several times in one iteration; it is kept when four fifths of the
 * iterations above 4 times the median follow each other. */
#ifndef PW_ANALYSIS_ITERATION_H
#define PW_ANALYSIS_ITERATION_H

#include <stddef.h>
#include <stdint.h>

struct pw_call {
    uint64_t key; /* equal: the same kind of call */
    int64_t start, end;
};

/* One rank's calls, in the order of their start. */
struct pw_calls {
    const struct pw_call *calls; /* [n] */
    size_t n;
};

struct pw_iterations {
    uint64_t key;    /* of the anchor */
    int64_t count;   /* iterations: from one anchor to the next, at least 3 */
    size_t calls;    /* in the usual iteration, its anchor among them */
    double alike;    /* share of iterations with the usual content, at least 0.5 */
    double coverage; /* their share of the time from the first call to the last, at least 0.25 */
};

/* Bytes of scratch for n calls. */
size_t pw_iterations_scratch(size_t n);

/* Lists the kinds of calls that begin iterations, by key, at most `max`; returns how many. The
 * share `interrupted` of the longest iterations does not count where it is judged whether their
 * lengths are even. */
size_t pw_iterations_list(const struct pw_calls *calls, double interrupted, void *scratch,
                          struct pw_iterations *out, size_t max);

/* The best of n, the first where several are as good; n when n is 0. */
size_t pw_iterations_choose(const struct pw_iterations *all, size_t n);

/* Calls that only every second, fourth, tenth ... iteration of a program has: an outer loop around
 * it, or a phase with a period of its own. */

struct pw_recurring {
    uint64_t key;  /* of the call */
    size_t call;   /* the first of the calls with it */
    int64_t every; /* iterations from one that has it to the next, at least 2 */
    int64_t count; /* iterations that have it, at least 3 */
    double alike;  /* share of those that come so many after the last, at least 0.85 */
};

/* Bytes of scratch for n calls. */
size_t pw_recurring_scratch(size_t n);

/* When iterations begin, ascending. */
struct pw_iteration_begins {
    const int64_t *ns; /* [n] */
    size_t n;
};

/* Lists the first `max` by how often they come; what is before the first iteration or after the
 * last does not count. One call for each distance: the first that is met. Returns how many. */
size_t pw_recurring_find(const struct pw_calls *calls, const struct pw_iteration_begins *begins,
                         void *scratch, struct pw_recurring *out, size_t max);

/* Whether parts of a loop that look alike by their calls are several to an iteration: a solver has
 * three dot products, a halo exchange four messages, of which each follows another piece of work.
 *
 * The own work between one such call and the next then has a pattern that comes again every
 * `length` calls: the correlation of its logarithm with itself, that many calls later, is at least
 * 0.5 and above that of all shorter distances, and the pieces differ by half or more. Pieces of
 * like work are iterations of their own, and so is what repeats after more than PW_PERIOD_MOST: the
 * inner of nested loops. */

enum { PW_PERIOD_MOST = 8 };

struct pw_period {
    size_t length;                    /* pieces of an iteration; 1: each is one */
    double pattern[PW_PERIOD_MOST];   /* [length] logarithm of the work, beginning with the most */
    double floor, ceiling, tolerance; /* of a piece's work, ns; of a mean difference from pattern */
};

/* The pattern in the work, ns, of n pieces that follow each other. `scratch` has room for n. */
struct pw_period pw_period_find(const int64_t *work, size_t n, double *scratch);

struct pw_period_cut {
    size_t count; /* beginnings */
    double alike; /* share of the iterations that have exactly the pattern */
};

/* Where iterations begin, as indices of pieces: first[0 .. count), at most n + 1, of which the last
 * is where the last whole one ended. An iteration may have more pieces now and then, after which
 * the pattern goes on. `scratch` has room for n. */
struct pw_period_cut pw_period_cut(const struct pw_period *period, const int64_t *work, size_t n,
                                   double *scratch, size_t *first);

#endif
