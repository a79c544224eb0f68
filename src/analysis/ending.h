/* How a job ended that did not end well: which rank ended first, and how; which ranks ended later.
 * Called by the merge (aggregate/input/endings.h), which has the facts of each rank, and writes the
 * result to /endings. Pure arithmetic: no I/O, no allocation.
 *
 * A launcher ends the other ranks soon after one has failed, by a signal. Such a signal says
 * nothing about the rank that gets it. So among ranks whose order the clocks do not tell, those
 * that failed by themselves come first. If there are none, a rank comes first whose end nobody saw,
 * and that gave its last sign of life before.
 *
 * The end of a rank closes its connections, before its collector sees the end. Another rank then
 * may raise an exception at once ("Connection closed by peer"). Such an exception answers an end,
 * so it comes after any rank that can be the reason. */
#ifndef PW_ANALYSIS_ENDING_H
#define PW_ANALYSIS_ENDING_H

#include <stddef.h>
#include <stdint.h>

#include "core/live.h"
#include "core/tables.h"

/* The collector sees the end of its program this much later, on a busy machine. */
#define PW_ENDING_LATE_NS ((int64_t)2000000)

/* When the same signal ends all ranks, and it is not SIGKILL, the last end may be seen this much
 * later than the first: a large process takes long to end. Launchers that react to one end by this
 * signal mostly need longer. */
#define PW_ENDING_OUTSIDE_NS ((int64_t)200000000)

/* A rank that fails by itself may end this much later than the first process that noticed it. */
#define PW_ENDING_ANSWER_NS ((int64_t)1000000000)

/* What else is known of a rank. Times as in the row; -1: there was none. */
struct pw_ending_facts {
    int64_t exception_ns; /* the last uncaught exception of the main thread */
    int64_t abort_ns;     /* the call of MPI_Abort that it was in */
    int64_t error_ns;     /* the error of the row, which MPI reported; meaningless without one */
};

/* Whether the exception tells of another rank: its connection was closed, or it did not answer in
 * time. `type`: its class; `message`: its text. */
int pw_ending_is_answer(const char *type, const char *message);

/* The same of an error of MPI. */
int pw_ending_is_error_answer(const struct pw_row_c_ending *row);

/* Sets `ended` to WELL, LATER (not well) or UNKNOWN, and `how` and `began`, from the row's other
 * members. */
void pw_ending_describe(struct pw_row_c_ending *row, const struct pw_ending_facts *facts);

/* Changes LATER to FIRST for the ranks that ended first. `error_ns` bounds the error of a
 * difference of times of two ranks; -1: not known. `answers`: for each row 1 when its exception is
 * an answer; NULL: none is. Returns when the first one began to end; -1: not known, or all ended
 * well. */
int64_t pw_ending_order(struct pw_row_c_ending *rows, size_t n, int64_t error_ns,
                        const uint8_t *answers);

/* 1 for a signal by which launchers end ranks. */
int pw_ending_is_by_launcher(const struct pw_row_c_ending *row);

/* SIGKILL that ends all ranks within this time is one act: of the launcher, say, after an error of
 * one of them that MPI does not return. */
#define PW_ENDING_TOGETHER_NS ((int64_t)100000000)

/* A wait of this length may be why somebody ended all ranks. */
#define PW_ENDING_WAIT_NS ((int64_t)1000000000)

/* 1 when one signal ended, as one act, at least two ranks and all that did not end well. */
int pw_ending_is_together(const struct pw_row_c_ending *rows, size_t n);

/* Sets `waited` and `held`, by the rules of hang.h. When all ranks ended together, the others
 * waited for those that waited for no rank, if there are such: for at least PW_ENDING_WAIT_NS, or
 * in a call of them, if the signal is SIGKILL. `ranks`: for each row the calls that were open at
 * its end, and its communicators. `scratch`: pw_hang_scratch() integers; `marks`: scratch of n
 * bytes. */
void pw_ending_find_waits(struct pw_row_c_ending *rows, const struct pw_live *ranks, size_t n,
                          int32_t *scratch, uint8_t *marks);

#endif
