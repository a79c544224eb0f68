/* cluster.h5 while it is written, and its end: its table of contents (core/h5/h5contents.h), and a
 * check of what was written. The functions are called by clusterfile.c only. */
#ifndef PW_AGGREGATE_OUTPUT_CLUSTEREND_H
#define PW_AGGREGATE_OUTPUT_CLUSTEREND_H

#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>

#include "aggregate/output/diskroom.h"
#include "core/h5/h5table.h"
#include "core/h5/rowform.h"
#include "core/tables.h"

struct pw_clusterfile {
    hid_t file; /* on process 0; otherwise -1 */
    MPI_Comm comm;
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

/* Closes the file, on process 0. A small file gets a table of contents, if that is possible.
 * Returns 0 or -EIO. */
int pw_clusterend_close(struct pw_clusterfile *file);

/* Unpacks this process's share of the chunks of the closed file, to check that they were written
 * correctly. Returns 0, -EIO or -ENOMEM. */
int pw_clusterend_check(const struct pw_clusterfile *file);

/* Syncs the closed file to disk, and gives it its name. Returns 0 or -errno. */
int pw_clusterend_publish(const struct pw_clusterfile *file);

#endif
