/* Owns the cells, the exchange of the frame, and the five-point stencil. */
#include "grid.h"

#include <math.h>
#include <stdlib.h>

enum { WEST, EAST, NORTH, SOUTH, SIDES };

struct grid {
    MPI_Comm comm;
    int side, stride;
    int neighbour[SIDES]; /* MPI_PROC_NULL at the plate's edges */
    double *now, *next;   /* [stride][stride], the frame included */
    double *packed;       /* [4][side]: columns to send to and received from west and east */
    MPI_Request requests[2 * SIDES];
};

static double *cell(double *cells, const struct grid *g, int row, int column)
{
    return cells + (size_t)row * (size_t)g->stride + (size_t)column;
}

struct grid *grid_create(MPI_Comm comm, int side)
{
    struct grid *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->comm = comm;
    g->side = side;
    g->stride = side + 2;
    size_t cells = (size_t)g->stride * (size_t)g->stride;
    g->now = calloc(cells, sizeof *g->now);
    g->next = calloc(cells, sizeof *g->next);
    g->packed = calloc(4 * (size_t)side, sizeof *g->packed);
    if (!g->now || !g->next || !g->packed) {
        grid_destroy(g);
        return NULL;
    }
    MPI_Cart_shift(comm, 1, 1, &g->neighbour[WEST], &g->neighbour[EAST]);
    MPI_Cart_shift(comm, 0, 1, &g->neighbour[NORTH], &g->neighbour[SOUTH]);
    for (int row = 0; row < g->stride && g->neighbour[WEST] == MPI_PROC_NULL; row++)
        *cell(g->now, g, row, 0) = *cell(g->next, g, row, 0) = 1.0;
    return g;
}

void grid_destroy(struct grid *g)
{
    if (!g)
        return;
    free(g->now);
    free(g->next);
    free(g->packed);
    free(g);
}

void grid_begin_exchange(struct grid *g)
{
    const int n = g->side;
    double *to_west = g->packed, *to_east = g->packed + n;
    double *from_west = g->packed + 2 * (size_t)n, *from_east = g->packed + 3 * (size_t)n;
    for (int row = 1; row <= n; row++) {
        to_west[row - 1] = *cell(g->now, g, row, 1);
        to_east[row - 1] = *cell(g->now, g, row, n);
    }
    double *in[SIDES] = {from_west, from_east, cell(g->now, g, 0, 1), cell(g->now, g, n + 1, 1)};
    double *out[SIDES] = {to_west, to_east, cell(g->now, g, 1, 1), cell(g->now, g, n, 1)};
    /* A message's tag is the side that it leaves by, and so its opposite where it arrives. */
    static const int opposite[SIDES] = {EAST, WEST, SOUTH, NORTH};
    for (int s = 0; s < SIDES; s++)
        MPI_Irecv(in[s], n, MPI_DOUBLE, g->neighbour[s], opposite[s], g->comm, &g->requests[s]);
    for (int s = 0; s < SIDES; s++)
        MPI_Isend(out[s], n, MPI_DOUBLE, g->neighbour[s], s, g->comm, &g->requests[SIDES + s]);
}

void grid_end_exchange(struct grid *g)
{
    const int n = g->side;
    MPI_Waitall(2 * SIDES, g->requests, MPI_STATUSES_IGNORE);
    for (int row = 1; row <= n; row++) {
        if (g->neighbour[WEST] != MPI_PROC_NULL)
            *cell(g->now, g, row, 0) = g->packed[2 * (size_t)n + (size_t)row - 1];
        if (g->neighbour[EAST] != MPI_PROC_NULL)
            *cell(g->now, g, row, n + 1) = g->packed[3 * (size_t)n + (size_t)row - 1];
    }
}

/* The largest change in columns first..last of a row. */
static double update_row(struct grid *g, int row, int first, int last)
{
    double largest = 0.0;
    for (int column = first; column <= last; column++) {
        const double *c = cell(g->now, g, row, column);
        double fresh = 0.25 * (c[-1] + c[1] + c[-g->stride] + c[g->stride]);
        largest = fmax(largest, fabs(fresh - *c));
        *cell(g->next, g, row, column) = fresh;
    }
    return largest;
}

double grid_update_inside(struct grid *g)
{
    double largest = 0.0;
    for (int row = 2; row < g->side; row++)
        largest = fmax(largest, update_row(g, row, 2, g->side - 1));
    return largest;
}

double grid_update_border(struct grid *g)
{
    const int n = g->side;
    double largest = fmax(update_row(g, 1, 1, n), update_row(g, n, 1, n));
    for (int row = 2; row < n; row++)
        largest = fmax(largest, fmax(update_row(g, row, 1, 1), update_row(g, row, n, n)));
    return largest;
}

void grid_swap(struct grid *g)
{
    double *cells = g->now;
    g->now = g->next;
    g->next = cells;
}
