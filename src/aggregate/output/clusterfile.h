/* Writes cluster.h5: all merge processes compress, process 0 writes. Called by aggregate.c,
 * samples.c, windows.c and findings.c. Every function is collective over the communicator. After an
 * error, nothing more is written, and pw_clusterfile_close() returns the error. The file gets its
 * final name only when it is complete. */
#ifndef PW_AGGREGATE_OUTPUT_CLUSTERFILE_H
#define PW_AGGREGATE_OUTPUT_CLUSTERFILE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/exchange/exchange.h"
#include "core/h5/h5table.h"
#include "core/h5/rowform.h"
#include "core/tables.h"

/* Room on the disk that is reserved before the cluster file is written: on a full disk, HDF5 1.10
 * and MPI-IO crash, or do not report an error. Some file systems cannot reserve room; then none is
 * reserved. No MPI. */

struct pw_diskroom {
    int fd;            /* descriptor of the file, open for writing; -1: nothing is reserved */
    uint64_t reserved; /* bytes from the begin of the file */
};

/* cluster.h5 while it is written, and its end: its table of contents (core/h5/h5contents.h), and a
 * check of what was written. */

struct pw_clusterfile {
    hid_t file; /* on process 0; otherwise -1 */
    pw_ex_comm comm;
    int process;
    int error;                     /* first error of this process */
    struct pw_diskroom room;       /* on process 0 */
    uint64_t rows[PW_TABLE_COUNT]; /* rows written of each table */
    struct pw_chunkpack pack;      /* for the chunks of all tables */
    /* For the table of contents, on process 0: where the tables are that have rows. */
    struct pw_h5_place places[PW_TABLE_COUNT];
    int is_large; /* 1: a table has too many chunks to be listed, or there was no memory */
    char path[4352], part[4400];
};

/* Creates the new file PATH.part-RANDOM, which only its owner can read and write. Returns 0 or
 * -errno, the same on all processes. */
int pw_clusterfile_create(const char *path, pw_ex_comm comm, struct pw_clusterfile *out);

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
