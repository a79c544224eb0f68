/* Writing cluster.h5: MPI with one process. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/output/clusterfile.h"
#include "core/h5/h5contents.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"

/* Chunks of a grid end inside it in both directions. */
enum { STEPS = 130, RANKS = 70, LONG_STEPS = 200000, MOST_SMALL = 4096 };

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

/* A file with few chunks is read without HDF5, by its table of contents, which also finds damage.
 */
static void check_contents(const char *path, const void *wanted, size_t steps, size_t ranks)
{
    struct pw_h5_contents *contents;
    struct pw_h5_place place;
    const size_t n = steps * ranks, size = pw_table_borrow(PW_TABLE_c_phase_trace)->row_size;
    const int fd = open(path, O_RDWR), is_small = steps * ranks <= MOST_SMALL;
    char *rows = calloc(n + 1, size), damage = 0;
    struct pw_h5_table *table;
    assert_int_equal(pw_h5_contents_read(fd, &contents), is_small ? 0 : -ENOENT);
    if (is_small) {
        pw_h5_contents_place(contents, PW_TABLE_c_phase_trace, &place);
        assert_int_equal(place.rows, n);
        assert_int_equal(pw_h5_table_open_at(fd, &place, &table), 0);
        assert_int_equal(pw_h5_table_read(table, 0, n, rows), 0);
        pw_h5_table_close(table);
        assert_memory_equal(rows, wanted, n * size);
        assert_int_equal(pw_h5_place_check(fd, &place), 0);
        if (n > 1) { /* one row is not deflated */
            const uint64_t last =
                place.chunks[place.nchunks - 1].address + place.chunks[place.nchunks - 1].bytes - 1;
            assert_int_equal(pread(fd, &damage, 1, (off_t)last), 1);
            damage = (char)~damage;
            assert_int_equal(pwrite(fd, &damage, 1, (off_t)last), 1);
            assert_int_equal(pw_h5_place_check(fd, &place), -EIO);
        }
        pw_h5_contents_free(contents);
    }
    free(rows);
    close(fd);
}

static void write_and_check(void **state, size_t steps, size_t ranks)
{
    char path[UNIT_PATH];
    struct pw_clusterfile file;
    struct pw_row_c_phase_trace *rows = make_rows(steps * ranks);
    unit_path(path, state, "cluster.h5");
    assert_int_equal(pw_clusterfile_create(path, PW_EX_WORLD, &file), 0);
    pw_clusterfile_write_grid(&file, PW_TABLE_c_phase_trace,
                              (struct pw_clusterfile_columns){steps, ranks, 0, ranks}, rows);
    assert_int_equal(pw_clusterfile_close(&file), 0);
    check_rows(path, PW_TABLE_c_phase_trace, rows, steps * ranks);
    check_contents(path, rows, steps, ranks);
    free(rows);
}

static void test_grids(void **state)
{
    write_and_check(state, STEPS, RANKS);
    write_and_check(state, LONG_STEPS, 2);
    write_and_check(state, MOST_SMALL / RANKS, RANKS);
    write_and_check(state, MOST_SMALL / 2, 2);
    write_and_check(state, 1, 1);
    write_and_check(state, 0, RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_grids),
    };
    pw_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
