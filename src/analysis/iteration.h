/* Finds the iterations of a program that marks no steps, from the sequence of one rank's calls:
 * those of the innermost loop around its communication. Called by aggregate/steps. Pure arithmetic:
 * no I/O, no allocation; the caller gives the scratch memory.
 *
 * An iteration begins with the same kind of call each time, its anchor, and has the same calls
 * between one anchor and the next. For each kind of call, the most frequent sequence between two
 * such calls is its usual content. Kinds are in three classes: at least 85 %, 70 % or 50 % of the
 * iterations have the usual content. Only the best class counts. In it, the usual iterations of a
 * kind must cover at least 0.6 of the time that those of any other kind cover. Of these kinds the
 * one with most iterations is chosen, which is the inner one of nested loops. Occasional calls,
 * such as output in every tenth iteration, make only single iterations unusual. A kind is rejected
 * when the mean length of its iterations is above 4 times the median, because its anchor then comes
 * several times in one iteration; it is kept when four fifths of the iterations above 4 times the
 * median follow each other. */
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
    int64_t count;   /* number of iterations, at least 3 */
    size_t calls;    /* calls in the usual iteration, including the anchor */
    double alike;    /* share of iterations with the usual content, at least 0.5 */
    double coverage; /* share of the time from the first call to the last that usual iterations
                        cover, at least 0.25 */
};

/* Bytes of scratch for n calls. */
size_t pw_iterations_scratch(size_t n);

/* Lists the kinds of calls that may begin iterations, sorted by key, at most `max`. Returns how
 * many. The share `interrupted` of the longest iterations does not count in the mean length. */
size_t pw_iterations_list(const struct pw_calls *calls, double interrupted, void *scratch,
                          struct pw_iterations *out, size_t max);

/* Returns the index of the best of n, the first of several equally good ones; n when n is 0. */
size_t pw_iterations_choose(const struct pw_iterations *all, size_t n);

/* ---- recurring calls: only every second, fourth, tenth ... iteration has them, as with an outer
 * loop, or a phase with a period of its own ---- */

struct pw_recurring {
    uint64_t key;  /* of the call */
    size_t call;   /* index of the first call with this key */
    int64_t every; /* iterations from one that has it to the next, at least 2 */
    int64_t count; /* iterations that have it, at least 3 */
    double alike;  /* share of these iterations that come exactly `every` after the one before, at
                      least 0.85 */
};

/* Bytes of scratch for n calls. */
size_t pw_recurring_scratch(size_t n);

/* The times at which iterations begin, ascending, ns. */
struct pw_iteration_begins {
    const int64_t *ns; /* [n] */
    size_t n;
};

/* Lists the recurring calls, the most frequent first, at most `max`. Calls before the first begin
 * or after the last do not count. Of several calls with the same distance, one is listed. Returns
 * how many. */
size_t pw_recurring_find(const struct pw_calls *calls, const struct pw_iteration_begins *begins,
                         void *scratch, struct pw_recurring *out, size_t max);

/* ---- periods: several equal calls in one iteration ----
 *
 * A solver may have three dot products in an iteration, a halo exchange four messages: the calls
 * are equal, and a different piece of work precedes each. Then the own work between one call and
 * the next has a pattern that recurs every `length` calls: the autocorrelation of its logarithm at
 * that distance is at least 0.5, and clearly above that at all shorter distances; and the largest
 * piece is at least 1.5 times the smallest. Otherwise each piece is an iteration of its own. This
 * is also true when the pattern is longer than PW_PERIOD_MOST: then the calls belong to the inner
 * one of nested loops. */

enum { PW_PERIOD_MOST = 8 };

struct pw_period {
    size_t length;                    /* pieces in an iteration; 1: each piece is an iteration */
    double pattern[PW_PERIOD_MOST];   /* [length] logarithm of the work, beginning with the most */
    double floor, ceiling, tolerance; /* limits of the work of a piece, ns; and of the mean
                                         difference from the pattern */
};

/* Finds the pattern in the work (ns) of n successive pieces. `scratch` has room for n values. */
struct pw_period pw_period_find(const int64_t *work, size_t n, double *scratch);

struct pw_period_cut {
    size_t count; /* entries of `first` */
    double alike; /* share of the iterations that have exactly the pattern */
};

/* Fills first[0 .. count) with the pieces at which iterations begin; the last entry is the end of
 * the last complete iteration. `first` has room for n + 1 entries, `scratch` for n. An iteration
 * may have additional pieces; after these the pattern continues. */
struct pw_period_cut pw_period_cut(const struct pw_period *period, const int64_t *work, size_t n,
                                   double *scratch, size_t *first);

#endif
