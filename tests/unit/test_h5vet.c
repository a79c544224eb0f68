/* Datasets with wrong positions or numbers of rows are refused before anything is read. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"

enum { MANY = 1 << 20 };

static hid_t create_file(char path[UNIT_PATH], void **state, const char *name)
{
    hid_t file = H5Fcreate(unit_path(path, state, name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

/* An empty /steps as `properties` say; both properties and file are closed. */
static void create_steps(hid_t file, hsize_t rows, hid_t properties)
{
    hid_t type = pw_h5_file_type(pw_table_borrow(PW_TABLE_step));
    hsize_t most = H5Pget_layout(properties) == H5D_CHUNKED ? H5S_UNLIMITED : rows;
    hid_t space = H5Screate_simple(1, &rows, &most);
    hid_t set = H5Dcreate2(file, "/steps", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(properties);
    H5Fclose(file);
}

static hid_t chunks(hsize_t rows)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 1, &rows);
    return properties;
}

static void check_steps(const char *path, int wanted)
{
    hid_t file;
    hsize_t dims[2];
    void *rows = NULL;
    size_t n;
    assert_int_equal(pw_h5_open(path, &file), 0);
    assert_int_equal(pw_h5_extent(file, PW_TABLE_step, dims), wanted);
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_step, &rows, &n), wanted);
    free(rows);
    pw_h5_close(file);
}

static void test_more_rows_than_the_file_stores(void **state)
{
    char path[UNIT_PATH];
    create_steps(create_file(path, state, "few"), 100, chunks(64));
    check_steps(path, 0);
    create_steps(create_file(path, state, "many"), MANY, chunks(64));
    check_steps(path, -EINVAL);
    create_steps(create_file(path, state, "endless"), (hsize_t)1 << 60, chunks(64));
    check_steps(path, -EINVAL);
    create_steps(create_file(path, state, "contiguous"), MANY, H5Pcreate(H5P_DATASET_CREATE));
    check_steps(path, -EINVAL);
}

/* Fills the steps 0, 7, 14, ... into /steps; both are closed. */
static void write_steps(hid_t set, hid_t file, int n)
{
    struct pw_row_step *rows = calloc((size_t)n, sizeof(*rows));
    assert_non_null(rows);
    for (int i = 0; i < n; i++)
        rows[i].step = 7 * i;
    hid_t type = pw_h5_memory_type(pw_table_borrow(PW_TABLE_step));
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Tclose(type);
    H5Dclose(set);
    H5Fclose(file);
    free(rows);
}

static void check_written(const char *path, int n)
{
    struct pw_row_step *back;
    hid_t file;
    size_t found;
    assert_int_equal(pw_h5_open(path, &file), 0);
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_step, (void **)&back, &found), 0);
    assert_int_equal(found, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(back[i].step, 7 * i);
    free(back);
    pw_h5_close(file);
}

/* Each costs HDF5 time and 1 to 2 KB: there are not more of them than the file can place. */
static void test_more_chunks_than_the_file_has_room_for(void **state)
{
    char path[UNIT_PATH];
    create_steps(create_file(path, state, "few"), 60, chunks(1));
    check_steps(path, 0);
    create_steps(create_file(path, state, "many"), 20000, chunks(1));
    check_steps(path, -EINVAL);
}

/* Chunks of a row each are read some thousands at a time, along rows and across columns. */
static void test_more_chunks_than_are_read_at_once(void **state)
{
    enum { CELLS = 10000 };
    const hsize_t shapes[2][2] = {{CELLS, 1}, {2, CELLS / 2}};
    for (int shape = 0; shape < 2; shape++) {
        char path[UNIT_PATH];
        hid_t file = create_file(path, state, shape ? "wide" : "tall");
        const hsize_t chunk[2] = {1, 1};
        const struct pw_h5_form form = {shape ? 2 : 1, shapes[shape], chunk, 0, 0};
        hid_t set = pw_h5_create_table(file, pw_table_borrow(PW_TABLE_step), &form);
        write_steps(set, file, CELLS);
        check_written(path, CELLS);
    }
}

static void test_chunks_that_fill_the_memory(void **state)
{
    char path[UNIT_PATH];
    create_steps(create_file(path, state, "large"), 100, chunks(100));
    check_steps(path, 0);
    create_steps(create_file(path, state, "huge"), 100, chunks(1 << 20));
    check_steps(path, -EINVAL);
}

static void test_filters(void **state)
{
    char path[UNIT_PATH];
    hid_t twice = chunks(64), other = chunks(64);
    H5Pset_deflate(twice, 1);
    H5Pset_deflate(twice, 1);
    create_steps(create_file(path, state, "twice"), 100, twice);
    check_steps(path, -EINVAL);
    H5Pset_filter(other, 32000, H5Z_FLAG_OPTIONAL, 0, NULL); /* would have to be loaded */
    create_steps(create_file(path, state, "other"), 100, other);
    check_steps(path, -EINVAL);
    hid_t ours = chunks(64);
    H5Pset_shuffle(ours);
    H5Pset_deflate(ours, 1);
    create_steps(create_file(path, state, "ours"), 100, ours);
    check_steps(path, 0);
}

/* Rows that were written through each order of the filters are read back. */
static void test_checksums(void **state)
{
    enum { ROWS = 100, ORDERS = 5 };
    for (int order = 0; order < ORDERS; order++) {
        char path[UNIT_PATH];
        hid_t properties = chunks(64), file = create_file(path, state, "checked");
        if (order == 0 || order == 1)
            H5Pset_fletcher32(properties);
        if (order != 1)
            H5Pset_shuffle(properties);
        if (order != 4)
            H5Pset_deflate(properties, 1);
        if (order > 2)
            H5Pset_fletcher32(properties);
        create_steps(file, ROWS, properties);
        file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        write_steps(H5Dopen2(file, "/steps", H5P_DEFAULT), file, ROWS);
        check_written(path, ROWS);
    }
}

/* A chunk that is shorter than a chunk, inflated or as it is: what lies behind it in memory is no
 * row.
 */
static void test_short_chunks(void **state)
{
    enum { ROWS = 64 };
    static const char zlib_of_nothing[] = {0x78, (char)0x9c, 3, 0, 0, 0, 0, 1};
    static const struct {
        const char *name;
        uint32_t skipped;
        int deflate;
    } chunks_of[] = {{"deflated", 0, 1}, {"skipped", 1, 1}, {"plain", 0, 0}};
    for (size_t i = 0; i < sizeof(chunks_of) / sizeof(chunks_of[0]); i++) {
        char path[UNIT_PATH];
        hid_t properties = chunks(ROWS), file = create_file(path, state, chunks_of[i].name);
        if (chunks_of[i].deflate)
            H5Pset_deflate(properties, 1);
        create_steps(file, ROWS, properties);
        file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        hid_t set = H5Dopen2(file, "/steps", H5P_DEFAULT);
        hsize_t first = 0;
        void *rows;
        size_t n;
        assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, chunks_of[i].skipped, &first,
                                   sizeof(zlib_of_nothing), zlib_of_nothing) >= 0);
        H5Dclose(set);
        H5Fclose(file);
        assert_int_equal(pw_h5_open(path, &file), 0);
        assert_int_equal(pw_h5_read_all(file, PW_TABLE_step, &rows, &n), -EIO);
        pw_h5_close(file);
    }
}

static int check_share(const char *path, uint64_t rows, size_t share, size_t shares)
{
    hid_t file;
    assert_int_equal(pw_h5_open(path, &file), 0);
    int err = pw_h5_check_table(file, PW_TABLE_step, rows, share, shares);
    pw_h5_close(file);
    return err;
}

/* A written file is checked without keeping rows, by several processes a share of chunks each:
 * every chunk is there and as long as a chunk is. */
static void test_written_chunks(void **state)
{
    enum { ROWS = 200, CHUNK = 64 }; /* 4 chunks, the last one cut */
    static struct pw_row_step rows[ROWS];
    char path[UNIT_PATH];
    hid_t properties = chunks(CHUNK);
    H5Pset_deflate(properties, 1);
    create_steps(create_file(path, state, "file"), ROWS, properties);
    assert_int_equal(check_share(path, ROWS, 0, 1), -EIO); /* none was written */
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "/steps", H5P_DEFAULT);
    hid_t type = pw_h5_memory_type(pw_table_borrow(PW_TABLE_step)), space = H5Dget_space(set);
    hsize_t first = 0, third = 2 * CHUNK, n = 2 * CHUNK;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL);
    hid_t memory = H5Screate_simple(1, &n, NULL);
    assert_true(H5Dwrite(set, type, memory, space, H5P_DEFAULT, rows) >= 0);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    assert_int_equal(check_share(path, ROWS, 0, 1), -EIO); /* the last two were not */
    assert_int_equal(check_share(path, ROWS, 0, 4), 0);
    assert_int_equal(check_share(path, ROWS, 1, 4), 0);
    assert_int_equal(check_share(path, ROWS, 2, 4), -EIO);
    assert_int_equal(check_share(path, ROWS, 7, 8), 0); /* more processes than chunks */
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    assert_int_equal(check_share(path, ROWS, 0, 1), 0);
    assert_int_equal(check_share(path, ROWS - 1, 0, 1), -EINVAL);
    assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &third, 4, "torn") >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(set);
    H5Fclose(file);
    assert_int_equal(check_share(path, ROWS, 0, 1), -EIO);
    assert_int_equal(check_share(path, ROWS, 0, 2), -EIO);
    assert_int_equal(check_share(path, ROWS, 1, 2), 0);
}

/* Rows that would come from another file. */
static void test_storage_elsewhere(void **state)
{
    char path[UNIT_PATH], other[UNIT_PATH];
    unit_write(unit_path(other, state, "other"), "0123456789012345678901234567890123456789", 40,
               0600);
    hid_t external = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(external, other, 0, 40);
    create_steps(create_file(path, state, "external"), 1, external);
    check_steps(path, -EINVAL);

    create_steps(create_file(other, state, "source"), 100, chunks(64));
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t n = 100;
    hid_t space = H5Screate_simple(1, &n, NULL);
    H5Pset_virtual(properties, space, other, "/steps", space);
    H5Sclose(space);
    create_steps(create_file(path, state, "virtual"), 100, properties);
    check_steps(path, -EINVAL);
}

static void test_no_regular_file(void **state)
{
    char path[UNIT_PATH];
    hid_t file;
    assert_int_equal(mkfifo(unit_path(path, state, "pipe"), 0600), 0);
    assert_int_equal(pw_h5_open(path, &file), -EINVAL); /* and does not wait for a writer */
    assert_int_equal(pw_h5_open("/dev/zero", &file), -EINVAL);
}

/* Many rows that all are the same long text: more than the file has bytes. */
static void test_strings_that_multiply(void **state)
{
    enum { ROWS = 1000, LENGTH = 10000 };
    char path[UNIT_PATH], *text = malloc(LENGTH), **strings = NULL;
    memset(text, 'x', LENGTH);
    text[LENGTH - 1] = '\0';
    hid_t file = create_file(path, state, "texts"), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hsize_t n = ROWS, one = 1;
    hid_t all = H5Screate_simple(1, &n, NULL), row = H5Screate_simple(1, &one, NULL);
    hid_t set = H5Dcreate2(file, "/strings", type, all, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const char *first = text;
    hsize_t at = 0;
    H5Sselect_hyperslab(all, H5S_SELECT_SET, &at, NULL, &one, NULL);
    assert_true(H5Dwrite(set, type, row, all, H5P_DEFAULT, &first) >= 0);
    haddr_t where = H5Dget_offset(set);
    H5Sclose(row);
    H5Sclose(all);
    H5Tclose(type);
    H5Dclose(set);
    H5Fclose(file);

    size_t got = 0;
    assert_int_equal(pw_h5_open(path, &file), 0);
    assert_int_equal(pw_h5_read_strings(file, "/strings", &strings, &got), 0);
    assert_int_equal(got, ROWS);
    assert_int_equal(strlen(strings[0]), LENGTH - 1);
    free(strings);
    pw_h5_close(file);

    char reference[16]; /* length, address of the heap, index in it */
    FILE *raw = fopen(path, "r+b");
    assert_int_equal(fseek(raw, (long)where, SEEK_SET), 0);
    assert_int_equal(fread(reference, sizeof(reference), 1, raw), 1);
    fseek(raw, (long)where, SEEK_SET);
    for (int i = 0; i < ROWS; i++)
        fwrite(reference, sizeof(reference), 1, raw);
    fclose(raw);
    strings = NULL;
    assert_int_equal(pw_h5_open(path, &file), 0);
    assert_int_equal(pw_h5_read_strings(file, "/strings", &strings, &got), -EIO);
    assert_null(strings);
    pw_h5_close(file);
    free(text);
}

int main(void)
{
    pw_h5_quiet();
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_more_rows_than_the_file_stores),
        UNIT_IN_DIR(test_more_chunks_than_the_file_has_room_for),
        UNIT_IN_DIR(test_more_chunks_than_are_read_at_once),
        UNIT_IN_DIR(test_chunks_that_fill_the_memory),
        UNIT_IN_DIR(test_filters),
        UNIT_IN_DIR(test_checksums),
        UNIT_IN_DIR(test_short_chunks),
        UNIT_IN_DIR(test_written_chunks),
        UNIT_IN_DIR(test_storage_elsewhere),
        UNIT_IN_DIR(test_no_regular_file),
        UNIT_IN_DIR(test_strings_that_multiply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
