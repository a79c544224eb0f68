/* A table by step and rank whose rows are 64-bit integers, in memory. Large tables of cluster.h5
 * are kept by chunk and field, each field in as few bytes as its values in the chunk need; others
 * as rows. Both are read in the same way. core/h5/h5reader.c makes these tables, reports read them.
 * Tool code, because it allocates; does not use HDF5. */
#ifndef PW_CORE_CELLS_H
#define PW_CORE_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* Steps and ranks that are a good part to read at a time: a chunk of cluster.h5. */
enum { PW_CELLS_STEPS = 32, PW_CELLS_RANKS = 64 };

struct pw_cells_chunks;

struct pw_cells {
    int table; /* of core/tables.h */
    size_t nsteps, nranks;
    void *rows;                     /* [nsteps * nranks] row structs, step-major; or NULL */
    struct pw_cells_chunks *chunks; /* or NULL; without both, the table is not known */
};

/* A part of a table: `steps` steps from `step` on, and `ranks` ranks from `rank` on. */
struct pw_cells_area {
    size_t step, steps, rank, ranks;
};

/* Returns the table of these rows, and takes ownership of them. NULL: a table that is not known. */
struct pw_cells pw_cells_of_rows(int table, void *rows, size_t nsteps, size_t nranks);

/* Makes a table that is stored in chunks of `chunk[0]` steps and `chunk[1]` ranks. Call
 * pw_cells_put() for every chunk before reading. Returns 0, -ENOMEM, or -EINVAL unless each row
 * consists of integers without padding. */
int pw_cells_init(struct pw_cells *cells, int table, const size_t dims[2], const size_t chunk[2]);

/* Puts the chunk that begins at this step and rank: plane k has byte k of every row (rowform.h).
 * Chunks are whole; what is beyond the last step or rank is not kept. */
void pw_cells_put(struct pw_cells *cells, size_t step, size_t rank, const char *planes);

/* Gives back the memory that the chunks did not need. After the last pw_cells_put(). */
void pw_cells_shrink(struct pw_cells *cells);

void pw_cells_fini(struct pw_cells *cells);

static inline int pw_cells_is_known(const struct pw_cells *cells)
{
    return cells->rows || cells->chunks;
}

/* Reads the field at `offset` of the row struct into out[area.steps][area.ranks]. */
void pw_cells_read(const struct pw_cells *cells, size_t offset, const struct pw_cells_area *area,
                   int64_t *out);

/* Returns the field at `offset` of one row. */
int64_t pw_cells_value(const struct pw_cells *cells, size_t offset, size_t step, size_t rank);

/* Reads the row structs of an area, step by step. */
void pw_cells_rows(const struct pw_cells *cells, const struct pw_cells_area *area, void *rows);

/* Returns a number of bits: all values of the field are at least -2^bits and below 2^bits. */
int pw_cells_bits(const struct pw_cells *cells, size_t offset);

/* Keeps only these `n` steps, which are in ascending order, as rows. Returns 0, or -ENOMEM: then
 * the table is as before. */
int pw_cells_keep_steps(struct pw_cells *cells, const size_t *steps, size_t n);

#endif
