/* A cluster file in memory. core/h5/clusterload.c fills it; reports, the timeline and the analyses
 * of cluster data read it. The arrays belong to the struct until pw_cluster_destroy(). This file
 * does not use HDF5, so the reports do not need it.
 *
 * The members for tables come from PW_CLUSTER_TABLES (core/tables.def). A table that the file
 * lacks, as older files do, has no rows. */
#ifndef PW_CORE_CLUSTER_H
#define PW_CORE_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "core/cells.h"
#include "core/tables.h"

#define PW_MEMBER_ROWS(table, member, count) \
    struct pw_row_##table *member;           \
    size_t count;
#define PW_MEMBER_CELLS(table, member, count) struct pw_cells member;
#define PW_MEMBER_FILE(table, member, count)
#define PW_MEMBER(table, path, fields, where, member, count) PW_MEMBER_##where(table, member, count)

struct pw_cluster {
    /* Root attributes. One that the file lacks is "" or -1. */
    char profwrap_version[32];
    char job_id[64];
    char command[512];
    char imported[16]; /* the format that the rank files were made of; "": they were recorded */
    int64_t nranks, nhosts, nsteps, steps_inferred, clock_error_max_ns, merge_processes;
    int64_t start_unix_ns, end_unix_ns;
    int64_t snapshot;              /* 1: the job was still running */
    int64_t bins_start_ns, bin_ns; /* start and length of bins; cluster time; -1: no bin_trace */
    int64_t init_source;     /* enum pw_source: whose call the parts start and init are about, see
                                pw_source_init(); -1: not known */
    char restricted_to[128]; /* the steps that the report is limited to; "": all */

    /* The tables. step_trace, phase_trace and gpu_trace have the rows of `steps` and `ranks`;
     * part_trace is [PW_PART_END][ranks], or NULL when it is not known. Row numbers in the tables
     * of operators and kernels were checked when the file was loaded. */
    PW_CLUSTER_TABLES(PW_MEMBER)
};

#undef PW_MEMBER_ROWS
#undef PW_MEMBER_CELLS
#undef PW_MEMBER_FILE
#undef PW_MEMBER

/* How a cluster has the rows of a table. */
enum pw_cluster_where { PW_CLUSTER_FILE, PW_CLUSTER_ROWS, PW_CLUSTER_CELLS };

enum pw_cluster_where pw_cluster_where(int table);

/* Rows of a table's row struct (core/tables.h). */
struct pw_cluster_rows {
    void *rows;
    size_t n;
};

/* For tables with PW_CLUSTER_ROWS. The cluster owns the rows, which are malloc'ed. */
struct pw_cluster_rows pw_cluster_rows(const struct pw_cluster *cluster, int table);
void pw_cluster_take(struct pw_cluster *cluster, int table, struct pw_cluster_rows rows);

/* For tables with PW_CLUSTER_CELLS. */
struct pw_cells *pw_cluster_cells(struct pw_cluster *cluster, int table);

void pw_cluster_destroy(struct pw_cluster *cluster);

#endif
