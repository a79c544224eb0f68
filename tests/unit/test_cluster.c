/* File formats and the loading of cluster files, those that disagree with themselves included. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/clusterload.h"
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
    assert_int_equal(c->step_trace[4 * 3 + 2].interval_ns, 14); /* row-major, step first */
    assert_int_equal(c->phase_trace[1 * 3 + 0].data_ns, 3);
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
        UNIT_IN_DIR(test_load),
        UNIT_IN_DIR(test_load_parts),
        UNIT_IN_DIR(test_load_without_steps),
        UNIT_IN_DIR(test_tables_that_disagree),
        UNIT_IN_DIR(test_formats),
        UNIT_IN_DIR(test_format_without_attributes),
    };
    pw_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
