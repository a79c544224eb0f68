/* Writing cluster.h5: MPI with one process. */
#include "unit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/output/clusterfile.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"

/* Chunks of a grid end inside it in both directions. */
enum { STEPS = 130, RANKS = 70, LONG_STEPS = 200000 };

static struct pw_row_c_phase_trace *make_rows(size_t n)
{
    struct pw_row_c_phase_trace *rows = calloc(n, sizeof(*rows));
    uint64_t seed = 7;
    assert_non_null(rows);
    for (size_t i = 0; i < n; i++) {
        rows[i].data_ns = (int64_t)(unit_random(&seed) >> 32);
        rows[i].backward_ns = (int64_t)i;
    }
    return rows;
}

static void check_rows(const char *path, int table, const void *wanted, size_t n)
{
    hid_t file;
    void *rows = NULL;
    size_t count = 0;
    assert_int_equal(pw_h5_open(path, &file), 0);
    assert_int_equal(pw_h5_read_all(file, table, &rows, &count), 0);
    assert_int_equal(count, n);
    assert_memory_equal(rows, wanted, n * pw_table_borrow(table)->row_size);
    free(rows);
    pw_h5_close(file);
}

static void write_and_check(void **state, size_t steps, size_t ranks)
{
    char path[UNIT_PATH];
    struct pw_clusterfile file;
    struct pw_row_c_phase_trace *rows = make_rows(steps * ranks);
    unit_path(path, state, "cluster.h5");
    assert_int_equal(pw_clusterfile_create(path, MPI_COMM_SELF, &file), 0);
    pw_clusterfile_write_grid(&file, PW_TABLE_c_phase_trace,
                              (struct pw_clusterfile_columns){steps, ranks, 0, ranks}, rows);
    assert_int_equal(pw_clusterfile_close(&file), 0);
    check_rows(path, PW_TABLE_c_phase_trace, rows, steps * ranks);
    free(rows);
}

static void test_grids(void **state)
{
    write_and_check(state, STEPS, RANKS);
    write_and_check(state, LONG_STEPS, 2);
    write_and_check(state, 1, 1);
    write_and_check(state, 0, RANKS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_grids),
    };
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
    setenv("OMPI_MCA_sharedfp", "^sm", 0);
    MPI_Init(&argc, &argv);
    pw_h5_quiet();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
