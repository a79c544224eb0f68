/* File formats and the loading of cluster files, those that disagree with themselves included. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/clusterload.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/h5/h5writer.h"

/* A cluster file of `ranks` rows and `steps` rows whose traces are trace_steps x trace_ranks, and
 * the parts of the run parts x part_ranks; 0: it has none. */
struct shape {
    size_t ranks, steps, trace_steps, trace_ranks, part_ranks;
};

static void put_plane(hid_t file, int table, size_t rows_of_it, size_t columns)
{
    hsize_t dims[2] = {rows_of_it, columns};
    size_t n = rows_of_it * columns;
    const struct pw_table *info = pw_table_borrow(table);
    const struct pw_h5_form form = {2, dims, dims, 0, 1};
    hid_t set = pw_h5_create_table(file, info, &form);
    assert_true(set >= 0);
    char *rows = calloc(n, info->row_size);
    for (size_t i = 0; i < n; i++) /* the first field counts the rows */
        memcpy(rows + i * info->row_size, &(int64_t){(int64_t)i}, 8);
    hid_t type = pw_h5_memory_type(info);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Tclose(type);
    H5Dclose(set);
    free(rows);
}

static void write_cluster(const char *path, const struct shape *shape, const char *format,
                          int64_t version)
{
    struct pw_h5_writer *writer;
    assert_int_equal(pw_h5_writer_create(path, 1, &writer), 0);
    hid_t file = pw_h5_writer_borrow_file(writer);
    assert_int_equal(pw_format_stamp(file, format), 0);
    pw_h5_set_int(file, "format_version", version);
    pw_h5_set_text(file, "command", "./train -n 5");
    pw_h5_set_int(file, "nranks", (int64_t)shape->ranks);
    for (size_t i = 0; i < shape->ranks; i++) {
        struct pw_row_c_rank row = {.rank = (int32_t)i, .hostname = "node-a"};
        assert_int_equal(pw_h5_writer_append(writer, PW_TABLE_c_rank, &row), 0);
    }
    for (size_t i = 0; i < shape->steps; i++) {
        struct pw_row_c_step row = {.step = (int64_t)i, .duration_ns = 1000};
        assert_int_equal(pw_h5_writer_append(writer, PW_TABLE_c_step, &row), 0);
    }
    if (shape->trace_steps) {
        put_plane(file, PW_TABLE_c_step_trace, shape->trace_steps, shape->trace_ranks);
        put_plane(file, PW_TABLE_c_phase_trace, shape->trace_steps, shape->trace_ranks);
    }
    if (shape->part_ranks)
        put_plane(file, PW_TABLE_c_part_trace, PW_PART_END, shape->part_ranks);
    assert_int_equal(pw_h5_writer_close(writer), 0);
}

static int load(void **state, const struct shape *shape, const char *format, int64_t version,
                struct pw_cluster **out)
{
    static int number;
    char path[UNIT_PATH], name[32];
    snprintf(name, sizeof(name), "c%d.h5", number++);
    write_cluster(unit_path(path, state, name), shape, format, version);
    return pw_cluster_load(path, out);
}

static void test_load(void **state)
{
    struct pw_cluster *c;
    const struct shape shape = {3, 5, 5, 3, 0};
    assert_int_equal(load(state, &shape, PW_FORMAT_CLUSTER, PW_FORMAT_VERSION, &c), 0);
    assert_int_equal(c->nrank_rows, 3);
    assert_int_equal(c->nstep_rows, 5);
    assert_string_equal(c->ranks[2].hostname, "node-a");
    assert_int_equal(pw_cells_value(&c->step_trace, 0, 4, 2), 14); /* row-major, step first */
    assert_int_equal(pw_cells_value(&c->phase_trace, 0, 1, 0), 3);
    assert_string_equal(c->command, "./train -n 5");
    assert_int_equal(c->nranks, 3);
    assert_int_equal(c->nhosts, -1); /* attributes that the file has not */
    assert_string_equal(c->job_id, "");
    assert_int_equal(c->np2p, 0); /* tables that the file has not */
    assert_null(c->p2p);
    assert_null(c->part_trace);
    pw_cluster_destroy(c);
    pw_cluster_destroy(NULL);
}

/* What a summary loads: the tables by step and rank come from the file when they are asked for. */
static void test_load_rows_first(void **state)
{
    struct pw_cluster *c;
    char path[UNIT_PATH];
    const struct shape shape = {3, 5, 5, 3, 0}, wrong = {3, 5, 5, 4, 0};
    write_cluster(unit_path(path, state, "rows.h5"), &shape, PW_FORMAT_CLUSTER, PW_FORMAT_VERSION);
    assert_int_equal(pw_cluster_load_rows(path, &c), 0);
    assert_int_equal(c->nstep_rows, 5);
    assert_false(pw_cells_is_known(&c->step_trace));
    assert_int_equal(pw_cluster_load_cells(path, c), 0);
    assert_int_equal(pw_cells_value(&c->step_trace, 0, 4, 2), 14);
    assert_int_equal(pw_cells_value(&c->phase_trace, 0, 1, 0), 3);
    pw_cluster_destroy(c);
    write_cluster(unit_path(path, state, "wrong.h5"), &wrong, PW_FORMAT_CLUSTER, PW_FORMAT_VERSION);
    assert_int_equal(pw_cluster_load_rows(path, &c), 0);
    assert_int_equal(pw_cluster_load_cells(path, c), -EINVAL);
    pw_cluster_destroy(c);
}

static void test_load_parts(void **state)
{
    struct pw_cluster *c;
    const struct shape shape = {3, 0, 0, 0, 3};
    assert_int_equal(load(state, &shape, PW_FORMAT_CLUSTER, PW_FORMAT_VERSION, &c), 0);
    assert_int_equal(c->part_trace[(PW_PART_END - 1) * 3 + 2].total_ns, 20); /* by part */
    pw_cluster_destroy(c);
}

static void test_load_without_steps(void **state)
{
    struct pw_cluster *c;
    const struct shape shape = {2, 0, 0, 0, 0};
    assert_int_equal(load(state, &shape, PW_FORMAT_CLUSTER, PW_FORMAT_VERSION, &c), 0);
    assert_int_equal(c->nrank_rows, 2);
    pw_cluster_destroy(c);
}

/* Large enough to be read by its chunks; the last ones are larger than what is left of the table.
 */
static void test_large_traces(void **state)
{
    enum { STEPS = 150, RANKS = 70 };
    const struct pw_table *info = pw_table_borrow(PW_TABLE_c_step_trace);
    const hsize_t dims[2] = {STEPS, RANKS}, chunk[2] = {64, 64};
    char path[UNIT_PATH];
    hid_t file = H5Fcreate(unit_path(path, state, "t.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    /* It is read by rows when it has no filters, and when chunks were not written. */
    for (int kind = 0; kind < 3; kind++) {
        const struct pw_h5_form form = {2, dims, chunk, 0, kind != 0};
        hid_t set = pw_h5_create_table(file, info, &form), type = pw_h5_memory_type(info);
        int64_t *rows = calloc((size_t)STEPS * RANKS, info->row_size);
        for (size_t i = 0; i < STEPS * RANKS * info->nfields; i++)
            rows[i] = (int64_t)(i * 40503) - 1000000;
        hid_t space = H5Screate_simple(2, dims, NULL);
        const hsize_t start[2] = {0, 0}, count[2] = {kind == 2 ? 64 : STEPS, RANKS};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        assert_true(H5Dwrite(set, type, space, space, H5P_DEFAULT, rows) >= 0);
        H5Sclose(space);
        if (kind == 2)
            memset(rows + 64 * RANKS * info->nfields, 0, (STEPS - 64) * RANKS * info->row_size);
        struct pw_cells cells;
        assert_int_equal(
            pw_h5_read_cells(file, PW_TABLE_c_step_trace, (const size_t[2]){STEPS, RANKS}, &cells),
            0);
        assert_int_equal(cells.rows == NULL, kind == 1);
        assert_int_equal(cells.nsteps, STEPS);
        assert_int_equal(cells.nranks, RANKS);
        for (size_t i = 0; i < STEPS * RANKS * info->nfields; i++) {
            const size_t cell = i / info->nfields;
            assert_int_equal(
                pw_cells_value(&cells, i % info->nfields * 8, cell / RANKS, cell % RANKS), rows[i]);
        }
        pw_cells_fini(&cells);
        assert_int_equal(pw_h5_read_cells(file, PW_TABLE_c_step_trace,
                                          (const size_t[2]){STEPS, RANKS + 1}, &cells),
                         -EINVAL);
        free(rows);
        H5Tclose(type);
        H5Dclose(set);
        H5Ldelete(file, info->path, H5P_DEFAULT);
    }
    H5Fclose(file);
}

static void test_tables_that_disagree(void **state)
{
    struct pw_cluster *c = NULL;
    const struct shape bad[] = {{3, 5, 5, 2, 0}, {3, 5, 4, 3, 0}, {3, 5, 0, 0, 0},
                                {3, 0, 5, 3, 0}, {3, 5, 5, 3, 2}, {3, 5, 5, 3, 4}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(load(state, &bad[i], PW_FORMAT_CLUSTER, PW_FORMAT_VERSION, &c), -EINVAL);
    assert_null(c);
}

static void test_formats(void **state)
{
    struct pw_cluster *c = NULL;
    const struct shape shape = {2, 1, 1, 2, 0};
    assert_int_equal(load(state, &shape, PW_FORMAT_RANK, PW_FORMAT_VERSION, &c), -EINVAL);
    assert_int_equal(load(state, &shape, "profwrap-clusters", PW_FORMAT_VERSION, &c), -EINVAL);
    assert_int_equal(load(state, &shape, PW_FORMAT_CLUSTER, PW_FORMAT_VERSION + 1, &c), -EPROTO);
    assert_int_equal(load(state, &shape, PW_FORMAT_CLUSTER, INT64_MAX, &c), -EPROTO);
    assert_int_equal(load(state, &shape, PW_FORMAT_CLUSTER, 0, &c), -EINVAL);
    assert_int_equal(load(state, &shape, PW_FORMAT_CLUSTER, -1, &c), -EINVAL);
    assert_null(c);
    char path[UNIT_PATH];
    assert_int_equal(pw_cluster_load(unit_path(path, state, "none.h5"), &c), -ENOENT);
}

static void test_format_without_attributes(void **state)
{
    char path[UNIT_PATH];
    hid_t file = H5Fcreate(unit_path(path, state, "f.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_int_equal(pw_format_check(file, PW_FORMAT_RANK), -EINVAL);
    pw_h5_set_text(file, "format", PW_FORMAT_RANK);
    assert_int_equal(pw_format_check(file, PW_FORMAT_RANK), -EINVAL); /* no version */
    pw_h5_set_text(file, "format_version", "1");
    assert_int_equal(pw_format_check(file, PW_FORMAT_RANK), -EINVAL); /* not a number */
    pw_h5_set_int(file, "format_version", 1);
    assert_int_equal(pw_format_check(file, PW_FORMAT_RANK), 0);
    pw_h5_set_int(file, "format", 1);
    assert_int_equal(pw_format_check(file, PW_FORMAT_RANK), -EINVAL);
    H5Fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_load),         UNIT_IN_DIR(test_load_rows_first),
        UNIT_IN_DIR(test_load_parts),   UNIT_IN_DIR(test_load_without_steps),
        UNIT_IN_DIR(test_large_traces), UNIT_IN_DIR(test_tables_that_disagree),
        UNIT_IN_DIR(test_formats),      UNIT_IN_DIR(test_format_without_attributes),
    };
    pw_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
