/* Finds the iterations of a program that marks no steps, in the order of one rank's calls: the
 * innermost loop around its communication.
 *
 * An iteration begins with the same kind of call each time, its anchor, and has the same calls
 * between one anchor and the next. For each kind of call the most frequent content between two of
 * them is taken. Kinds with more alike iterations go first (in classes: at least 85 %, 70 %, 50 %
 * with the usual content); of those whose usual iterations cover at least 0.6 of the most time,
 * that with most iterations: the inner of nested loops. Calls that come only now and then, as
 * output every tenth iteration, make single iterations differ, and move nothing. Iterations whose
 * mean length is above 4 times the median are none: their anchor comes several times in what is
 * one; unless four fifths of those above 4 times the median follow each other. */
#ifndef PW_ANALYSIS_ITERATION_H
#define PW_ANALYSIS_ITERATION_H

#include <stddef.h>
#include <stdint.h>

struct pw_call {
    uint64_t key; /* equal: the same kind of call */
    int64_t start, end;
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

/* Lists the kinds of calls that begin iterations, by key, at most `max`; returns how many. Calls
 * are in the order of their start. The share `interrupted` of the longest iterations does not count
 * where it is judged whether their lengths are even. */
size_t pw_iterations_list(const struct pw_call *calls, size_t n, double interrupted, void *scratch,
                          struct pw_iterations *out, size_t max);

/* The best of n, the first where several are as good; n when n is 0. */
size_t pw_iterations_choose(const struct pw_iterations *all, size_t n);

#endif
