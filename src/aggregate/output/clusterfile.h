/* Writes cluster.h5: all merge processes compress, process 0 writes. Called by aggregate.c,
 * samples.c, windows.c and findings.c. Every function is collective over the communicator. After an
 * error, nothing more is written, and pw_clusterfile_close() returns the error. The file gets its
 * final name only when it is complete. */
#ifndef PW_AGGREGATE_OUTPUT_CLUSTERFILE_H
#define PW_AGGREGATE_OUTPUT_CLUSTERFILE_H

#include <stddef.h>
#include <stdint.h>

#include "aggregate/output/clusterend.h"

/* Creates the new file PATH.part-RANDOM, which only its owner can read and write. Returns 0 or
 * -errno, the same on all processes. */
int pw_clusterfile_create(const char *path, MPI_Comm comm, struct pw_clusterfile *out);

/* The rows [first, first + count) that a process has of the `total` rows of a 1-D table. */
struct pw_clusterfile_rows {
    size_t total, first, count;
};

/* Writes a 1-D table, of which this process has the rows `mine`. */
void pw_clusterfile_write(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                          struct pw_clusterfile_rows mine, const void *rows);

/* Fills `count` rows from row `first` of the table. */
typedef void pw_clusterfile_maker(void *context, size_t first, size_t count, void *rows);

/* The same as pw_clusterfile_write(), but `make` makes the rows, a slab at a time. */
enum { PW_CLUSTERFILE_CHUNK = 4096 };

void pw_clusterfile_write_made(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               struct pw_clusterfile_rows mine, pw_clusterfile_maker *make,
                               void *context);

/* Writes a table whose rows are on process 0 only. */
void pw_clusterfile_write_root(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               size_t count, const void *rows);

/* The size of a [nsteps, nranks] table, and the columns [first, first + count) that a process
 * has. */
struct pw_clusterfile_columns {
    size_t nsteps, nranks, first, count;
};

/* Writes a 2-D table; `rows` are this process's columns, by step and then rank. */
void pw_clusterfile_write_grid(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               struct pw_clusterfile_columns mine, const void *rows);

/* Makes `count` rows of one of this process's columns (0: its first), from step `first` on. */
typedef void pw_clusterfile_column(void *context, size_t column, size_t first, size_t count,
                                   void *rows);

/* The same with rows that are made when they are written: the steps of a chunk for a column at a
 * time. */
void pw_clusterfile_write_made_grid(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                                    struct pw_clusterfile_columns mine, pw_clusterfile_column *make,
                                    void *context);

void pw_clusterfile_set_int(struct pw_clusterfile *file, const char *name, int64_t value);
void pw_clusterfile_set_text(struct pw_clusterfile *file, const char *name, const char *value);

/* Links /rank/NNNNN to the file of each rank that is present. */
void pw_clusterfile_link_ranks(struct pw_clusterfile *file, const struct pw_row_c_rank *ranks,
                               size_t n);

/* Closes the file. If there was no error, each process unpacks a share of the chunks as a check;
 * then the file is synced and renamed. After an error it is removed. Returns 0 or -errno, the same
 * on all processes. */
int pw_clusterfile_close(struct pw_clusterfile *file);

/* Closes and removes the file. */
void pw_clusterfile_abandon(struct pw_clusterfile *file);

#endif
