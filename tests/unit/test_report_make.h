/* Clusters with values chosen by hand, and what the report tests ask of a text. */
#ifndef TEST_REPORT_MAKE_H
#define TEST_REPORT_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "core/cluster.h"

#define MS INT64_C(1000000)

/* A job of even ranks: steps of 150 ms, 10 ms of which are waiting; the first two are warm-up. The
 * caller destroys it with pw_cluster_destroy(). */
struct pw_cluster *make_cluster(size_t nranks, size_t nsteps);

/* Returns the rows of its step trace and phase trace, by step and then by rank. */
static inline struct pw_row_c_step_trace *step_rows(const struct pw_cluster *c)
{
    return c->step_trace.rows;
}

static inline struct pw_row_c_phase_trace *phase_rows(const struct pw_cluster *c)
{
    return c->phase_trace.rows;
}

/* A persistent straggler in backward: 41 steps, 18 ms, off the CPU. */
struct pw_row_c_straggler straggler(int32_t rank);

/* Adds a row to the stragglers and makes the rank slow in the step trace. */
void add_straggler(struct pw_cluster *c, struct pw_row_c_straggler row);

/* Makes the rank one that left no usable file. */
void remove_rank(struct pw_cluster *c, size_t rank);

/* Collectives (one with NaN), point-to-point pairs and efficiency. */
void add_tables(struct pw_cluster *c);

/* Parts of the run before and after its steps of 150 ms: 300 ms to MPI_Init, 50 in it, 150 of
 * setup; 100 to MPI_Finalize, 20 in it, 80 after it. No rank waits. */
void add_parts(struct pw_cluster *c);

/* The reports; the caller frees them. */
char *text_of(const struct pw_cluster *c, const char *sections, int top);
char *json_of(const struct pw_cluster *c);

void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);

/* At most `width` characters, no control character and no space at the end, in each line. */
void assert_fits(const char *text, size_t width);

#endif
