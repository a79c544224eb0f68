/* cluster.h5 while it is being written, by all merge processes together (parallel HDF5). Called by
 * aggregate.c, samples.c, windows.c and findings.c. Every function is collective over the
 * communicator. An error is kept, nothing more is written after it, and pw_clusterfile_close()
 * returns it. The file has its final name only once it is whole. */
#ifndef PW_AGGREGATE_OUTPUT_CLUSTERFILE_H
#define PW_AGGREGATE_OUTPUT_CLUSTERFILE_H

#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>

#include "core/tables.h"

/* Room on the disk for a file, taken before it is written: HDF5 1.10 and MPI-IO do not survive a
 * disk that is full, and do not say that it was. Where a file system cannot reserve room, none is
 * taken.
 */

struct pw_diskroom {
    int fd;            /* of the file, open for writing; -1: reserves nothing */
    uint64_t reserved; /* bytes from its begin */
};

struct pw_clusterfile {
    hid_t file;
    MPI_Comm comm;
    int process;
    int error;                     /* first error met by this process */
    struct pw_diskroom room;       /* process 0 has it */
    uint64_t rows[PW_TABLE_COUNT]; /* of each table, as written */
    char path[4352], part[4400];
};

/* Creates PATH.part-RANDOM, new and for its owner only. 0 or -errno, the same on all processes. */
int pw_clusterfile_create(const char *path, MPI_Comm comm, struct pw_clusterfile *out);

/* Which of the `total` rows of a 1-D table a process has: [first, first + count). */
struct pw_clusterfile_rows {
    size_t total, first, count;
};

/* Writes a 1-D table, of which this process has the rows `mine`. */
void pw_clusterfile_write(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                          struct pw_clusterfile_rows mine, const void *rows);

/* Fills `count` rows from row `first` of the table. */
typedef void pw_clusterfile_maker(void *context, size_t first, size_t count, void *rows);

/* The same as the first, but rows are made a slab at a time; best where `first` is a multiple of
 * PW_CLUSTERFILE_CHUNK. */
enum { PW_CLUSTERFILE_CHUNK = 4096 };

void pw_clusterfile_write_made(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               struct pw_clusterfile_rows mine, pw_clusterfile_maker *make,
                               void *context);

/* Writes a table that process 0 has and the others do not. */
void pw_clusterfile_write_root(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               size_t count, const void *rows);

/* A [nsteps, nranks] table, and the columns that a process has: [first, first + count). */
struct pw_clusterfile_columns {
    size_t nsteps, nranks, first, count;
};

/* Writes a 2-D table; `rows` are this process's columns, row-major. */
void pw_clusterfile_write_grid(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               struct pw_clusterfile_columns mine, const void *rows);

void pw_clusterfile_set_int(struct pw_clusterfile *file, const char *name, int64_t value);
void pw_clusterfile_set_text(struct pw_clusterfile *file, const char *name, const char *value);

/* Links /rank/NNNNN to the file of each rank that is present. */
void pw_clusterfile_link_ranks(struct pw_clusterfile *file, const struct pw_row_c_rank *ranks,
                               size_t n);

/* Closes; when every process succeeded, each unpacks a share of the chunks; then it is synced and
 * renamed, else removed. 0 or -errno, the same on all processes. */
int pw_clusterfile_close(struct pw_clusterfile *file);

#endif
