/* Means of the fields of a grid over its steps or ranks, as pw_mean_add() in the order of steps or
 * ranks would make them. Called by reports. Pure functions. */
#ifndef PW_ANALYSIS_FIGURES_CELLMEANS_H
#define PW_ANALYSIS_FIGURES_CELLMEANS_H

#include "analysis/statistics.h"
#include "core/cells.h"
#include "core/tables.h"

/* Adds the values of a field in the measured steps to means[r * stride], for each rank r. `steps`
 * are the rows of the grid's steps. */
void pw_cellmeans_of_ranks(const struct pw_cells *cells, size_t offset,
                           const struct pw_row_c_step *steps, struct pw_mean *means, size_t stride);

/* Adds the values of a field of all ranks in step first + i to means[i], for each of `n` steps. */
void pw_cellmeans_of_steps(const struct pw_cells *cells, size_t offset, size_t first, size_t n,
                           struct pw_mean *means);

#endif
