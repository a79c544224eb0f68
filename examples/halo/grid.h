/* One rank's part of a square plate, with a frame of cells that its neighbours own. */
#ifndef HALO_GRID_H
#define HALO_GRID_H

#include <mpi.h>

struct grid;

/* A rank's part has `side` x `side` cells. The plate's left edge is kept at 1, the other edges at
 * 0. `comm` must be a 2-D Cartesian communicator, and outlive the grid. NULL when memory is short.
 */
struct grid *grid_create(MPI_Comm comm, int side);
void grid_destroy(struct grid *grid);

/* Sends the outermost cells to the four neighbours, receives theirs. */
void grid_begin_exchange(struct grid *grid);
void grid_end_exchange(struct grid *grid);

/* Each cell becomes the mean of its four neighbours: first those that need no neighbouring rank,
 * then, after the exchange, the others. Both return the largest change of a cell. */
double grid_update_inside(struct grid *grid);
double grid_update_border(struct grid *grid);

/* The step is done: what was computed is now what is. */
void grid_swap(struct grid *grid);

#endif
