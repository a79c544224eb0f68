/* Loads table by table, and checks that they agree; see clusterload.h. */
#include "core/h5/clusterload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/h5file.h"
#include "core/h5/h5types.h"

/* A table that is not in the file is loaded as empty: older files have fewer tables. */
static int load_rows(const struct pw_h5_file *file, int table, struct pw_cluster *c)
{
    struct pw_cluster_rows loaded = {NULL, 0};
    int err = pw_h5_file_read_all(file, table, &loaded.rows, &loaded.n);
    if (!err)
        pw_cluster_take(c, table, loaded);
    return err == -ENOENT ? 0 : err;
}

static int load_cells(const struct pw_h5_file *file, int table, struct pw_cluster *c)
{
    const size_t dims[2] = {c->nstep_rows, c->nrank_rows};
    const int err = pw_h5_file_read_cells(file, table, dims, pw_cluster_cells(c, table));
    return err == -ENOENT ? 0 : err;
}

static void load_text(const struct pw_h5_file *file, const char *name, char *value, size_t size)
{
    if (pw_h5_file_text(file, name, value, size))
        value[0] = '\0';
}

static void load_int(const struct pw_h5_file *file, const char *name, int64_t *value)
{
    if (pw_h5_file_int(file, name, value))
        *value = -1;
}

static void load_attributes(const struct pw_h5_file *file, struct pw_cluster *c)
{
    load_text(file, "profwrap_version", c->profwrap_version, sizeof(c->profwrap_version));
    load_text(file, "job_id", c->job_id, sizeof(c->job_id));
    load_text(file, "command", c->command, sizeof(c->command));
    load_text(file, "imported", c->imported, sizeof(c->imported));
    load_int(file, "nranks", &c->nranks);
    load_int(file, "nhosts", &c->nhosts);
    load_int(file, "nsteps", &c->nsteps);
    load_int(file, "steps_inferred", &c->steps_inferred);
    load_int(file, "clock_error_max_ns", &c->clock_error_max_ns);
    load_int(file, "merge_processes", &c->merge_processes);
    load_int(file, "start_unix_ns", &c->start_unix_ns);
    load_int(file, "end_unix_ns", &c->end_unix_ns);
    load_int(file, "snapshot", &c->snapshot);
    load_int(file, "bins_start_ns", &c->bins_start_ns);
    load_int(file, "bin_ns", &c->bin_ns);
    load_int(file, "init_source", &c->init_source);
}

/* Returns 0 when every row number in the operators' tables exists. */
static int check_operators(const struct pw_cluster *c)
{
    int64_t n = (int64_t)c->noperators;
    int bad = 0;
    for (size_t i = 0; i < c->noperator_shapes; i++)
        bad |= c->operator_shapes[i].operator_row < 0 || c->operator_shapes[i].operator_row >= n;
    for (size_t i = 0; i < c->noperator_stacks; i++) {
        const struct pw_row_c_operator_stack *row = &c->operator_stacks[i];
        bad |= row->operator_row < 0 || row->operator_row >= n || row->parent < -1 ||
               row->parent >= (int64_t)i;
    }
    for (size_t i = 0; i < c->noperator_ranks; i++)
        bad |= c->operator_ranks[i].operator_row < -1 || c->operator_ranks[i].operator_row >= n;
    return bad ? -EINVAL : 0;
}

/* The same of the tables of GPUs. */
static int check_kernels(const struct pw_cluster *c)
{
    const int64_t n = (int64_t)c->nkernels;
    int bad = 0;
    for (size_t i = 0; i < c->ngpu_ranks; i++)
        bad |= c->gpu_ranks[i].kernel_row < -1 || c->gpu_ranks[i].kernel_row >= n;
    for (size_t i = 0; i < c->nkernel_ranks; i++)
        bad |= c->kernel_ranks[i].kernel_row < 0 || c->kernel_ranks[i].kernel_row >= n;
    return bad ? -EINVAL : 0;
}

/* A table by part and rank that is not known is NULL. */
static int check_parts(struct pw_cluster *c)
{
    if (c->npart_trace && c->npart_trace != PW_PART_END * c->nrank_rows)
        return -EINVAL;
    if (!c->npart_trace) {
        free(c->part_trace);
        c->part_trace = NULL;
    }
    return 0;
}

/* A file with steps has these two tables by step and rank; older ones lack that of GPUs. */
static int check_traces(const struct pw_cluster *c)
{
    const int is_complete = pw_cells_is_known(&c->step_trace) && pw_cells_is_known(&c->phase_trace);
    return is_complete || !c->nstep_rows || !c->nrank_rows ? 0 : -EINVAL;
}

static int load_tables(const struct pw_h5_file *file, struct pw_cluster *c)
{
    int err = 0;
    for (int table = PW_RANK_TABLE_COUNT; !err && table < PW_TABLE_COUNT; table++)
        if (pw_cluster_where(table) == PW_CLUSTER_ROWS)
            err = load_rows(file, table, c);
    err = err ? err : check_operators(c);
    err = err ? err : check_parts(c);
    return err ? err : check_kernels(c);
}

/* Checks that the tables by step and rank, which are not read, have a row for each step. A file
 * that lacks one is older. */
static int check_cells(const struct pw_h5_file *file, const struct pw_cluster *c)
{
    int err = 0;
    for (int table = PW_RANK_TABLE_COUNT; !err && table < PW_TABLE_COUNT; table++) {
        uint64_t rows = 0;
        if (pw_cluster_where(table) != PW_CLUSTER_CELLS)
            continue;
        err = pw_h5_file_rows(file, table, &rows);
        if (!err && rows && rows != c->nstep_rows && rows != c->nstep_rows * c->nrank_rows)
            err = -EINVAL;
        err = err == -ENOENT ? 0 : err;
    }
    return err;
}

static int load_all_cells(const struct pw_h5_file *file, struct pw_cluster *c)
{
    int err = 0;
    for (int table = PW_RANK_TABLE_COUNT; !err && table < PW_TABLE_COUNT; table++)
        if (pw_cluster_where(table) == PW_CLUSTER_CELLS)
            err = load_cells(file, table, c);
    return err ? err : check_traces(c);
}

static int open_file(const char *path, struct pw_h5_file **out)
{
    struct pw_h5_file *file;
    int err = pw_h5_file_open(NULL, path, &file); /* types are needed for places only */
    if (err)
        return err;
    err = pw_h5_file_check(file, PW_FORMAT_CLUSTER);
    if (err)
        pw_h5_file_close(file);
    *out = file;
    return err;
}

/* Tables by step and rank come last, because their size is that of the other two. */
static int load(const char *path, int with_cells, struct pw_cluster **out)
{
    struct pw_h5_file *file;
    int err = open_file(path, &file);
    if (err)
        return err;
    struct pw_cluster *cluster = calloc(1, sizeof(*cluster));
    if (cluster) {
        load_attributes(file, cluster);
        err = load_tables(file, cluster);
        if (!err)
            err = with_cells ? load_all_cells(file, cluster) : check_cells(file, cluster);
    } else {
        err = -ENOMEM;
    }
    pw_h5_file_close(file);
    if (err)
        pw_cluster_destroy(cluster);
    else
        *out = cluster;
    return err;
}

int pw_cluster_load(const char *path, struct pw_cluster **out)
{
    return load(path, 1, out);
}

int pw_cluster_load_rows(const char *path, struct pw_cluster **out)
{
    return load(path, 0, out);
}

int pw_cluster_load_cells(const char *path, struct pw_cluster *cluster)
{
    struct pw_h5_file *file;
    int err = open_file(path, &file);
    if (err)
        return err;
    err = load_all_cells(file, cluster);
    pw_h5_file_close(file);
    return err;
}
