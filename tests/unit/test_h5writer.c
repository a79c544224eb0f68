/* The HDF5 helpers: written data is read back, and damaged or hostile files are refused. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cluster.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/h5/h5writer.h"

enum { ROWS = 10000 }; /* two chunks of 4096 and a part of a third */

static int64_t step_number(int64_t i)
{
    return i * i - 7;
}

static struct pw_row_step step_row(int64_t i)
{
    return (struct pw_row_step){step_number(i), 100 * i, 100 * i + 50, PW_RECORDED_WARMUP};
}

static hid_t reopen(const char *path)
{
    hid_t file;
    assert_int_equal(pw_h5_open(path, &file), 0);
    return file;
}

/* A new plain HDF5 file, for what the writer would not write. */
static hid_t create_plain(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void put_dataset(hid_t file, const char *path, hid_t type, int rank, const hsize_t *dims,
                        const void *data)
{
    hid_t space = H5Screate_simple(rank, dims, NULL), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t set = H5Dcreate2(file, path, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Pclose(links);
    H5Sclose(space);
}

static void write_steps(const char *path)
{
    struct pw_h5_writer *writer;
    assert_int_equal(pw_h5_writer_create(path, 1, &writer), 0);
    for (int64_t i = 0; i < ROWS; i++) {
        struct pw_row_step row = step_row(i);
        assert_int_equal(pw_h5_writer_append(writer, PW_TABLE_step, &row), 0);
    }
    pw_h5_writer_require(writer, PW_TABLE_gap);
    assert_int_equal(pw_h5_writer_rows(writer, PW_TABLE_step), ROWS);
    assert_int_equal(pw_h5_writer_refused(writer), 0);
    assert_int_equal(pw_h5_writer_close(writer), 0);
}

static void test_round_trip(void **state)
{
    char path[UNIT_PATH];
    write_steps(unit_path(path, state, "f.h5"));
    hid_t file = reopen(path);
    hsize_t dims[2] = {0, 0};
    assert_int_equal(pw_h5_extent(file, PW_TABLE_step, dims), 0);
    assert_int_equal(dims[0], ROWS);
    assert_int_equal(dims[1], 1);

    struct pw_row_step *rows;
    size_t n;
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_step, (void **)&rows, &n), 0);
    assert_int_equal(n, ROWS);
    for (int64_t i = 0; i < ROWS; i++) {
        assert_int_equal(rows[i].step, step_number(i));
        assert_int_equal(rows[i].start, 100 * i);
        assert_int_equal(rows[i].end, 100 * i + 50);
        assert_int_equal(rows[i].recorded, PW_RECORDED_WARMUP);
    }
    /* A block across the border between two chunks. */
    assert_int_equal(pw_h5_read_rows(file, PW_TABLE_step, 4090, 10, rows), 0);
    assert_int_equal(rows[0].step, step_number(4090));
    assert_int_equal(rows[9].step, step_number(4099));
    assert_int_equal(pw_h5_read_rows(file, PW_TABLE_step, ROWS, 0, rows), 0);
    assert_int_equal(pw_h5_read_rows(file, PW_TABLE_step, ROWS - 1, 2, rows), -ERANGE);
    assert_int_equal(pw_h5_read_rows(file, PW_TABLE_step, UINT64_MAX, 1, rows), -ERANGE);
    free(rows);
    H5Fclose(file);
}

/* A row of random bytes, which no level makes smaller, or of numbers that hardly change. */
static struct pw_row_comm_event comm_row(int64_t i, bool random)
{
    uint64_t seed = (uint64_t)i + 1;
    struct pw_row_comm_event row = {.start = 1000 * i, .end = 1000 * i + i % 7, .seq = i};
    if (random) {
        int64_t *const numbers[] = {&row.start,      &row.end,        &row.seq,
                                    &row.sent_bytes, &row.recv_bytes, &row.inside_ns,
                                    &row.wait_start};
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            *numbers[k] = (int64_t)unit_random(&seed);
        row.comm = (int32_t)unit_random(&seed);
        row.request = (uint32_t)unit_random(&seed);
    }
    row.op = 7;
    row.thread = (uint16_t)(i >> 4);
    return row;
}

/* Reads a table with HDF5, whose filters and conversion know nothing of ours, and compares. */
static void check_same_as_hdf5(hid_t file, int table, const void *rows, size_t n)
{
    const struct pw_table *info = pw_table_borrow(table);
    char *theirs = calloc(n + 1, info->row_size);
    hid_t dataset = H5Dopen2(file, info->path, H5P_DEFAULT), type = pw_h5_memory_type(info);
    assert_non_null(theirs);
    assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, theirs) >= 0);
    assert_memory_equal(rows, theirs, n * info->row_size);
    H5Tclose(type);
    H5Dclose(dataset);
    free(theirs);
}

/* Writes rows at a level of deflate and reads them. */
static void check_level(const char *path, int level, bool random, int64_t count)
{
    struct pw_h5_writer *writer;
    struct pw_row_comm_event *rows;
    size_t n;
    assert_int_equal(pw_h5_writer_create(path, level, &writer), 0);
    for (int64_t i = 0; i < count; i++) {
        const struct pw_row_comm_event row = comm_row(i, random);
        assert_int_equal(pw_h5_writer_append(writer, PW_TABLE_comm_event, &row), 0);
    }
    assert_int_equal(pw_h5_writer_close(writer), 0);
    hid_t file = reopen(path);
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_comm_event, (void **)&rows, &n), 0);
    assert_int_equal(n, count);
    check_same_as_hdf5(file, PW_TABLE_comm_event, rows, n);
    for (int64_t i = 0; i < count; i++) {
        const struct pw_row_comm_event row = comm_row(i, random);
        const struct pw_table *info = pw_table_borrow(PW_TABLE_comm_event);
        for (size_t k = 0; k < info->nfields; k++) {
            const struct pw_field *field = &info->fields()[k];
            assert_memory_equal((const char *)&rows[i] + field->offset,
                                (const char *)&row + field->offset, field->size);
        }
    }
    free(rows);
    H5Fclose(file);
    unlink(path);
}

static void test_every_level_of_deflate(void **state)
{
    static const int64_t counts[] = {1, 17, 128, 129, 300, 8191, 8192, 8193, 20000};
    char path[UNIT_PATH];
    unit_path(path, state, "f.h5");
    for (int level = 0; level <= 9; level += level < 2 ? 1 : 7)
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            check_level(path, level, false, counts[i]);
            check_level(path, level, true, counts[i]);
        }
}

enum { GRID_STEPS = 70, GRID_RANKS = 50, GRID = GRID_STEPS * GRID_RANKS };

/* Writes a grid of numbers that HDF5 packs into chunks of 32 x 16. Without `has_shuffle`, it is
 * only deflated. The chunk at 32, 16 is not written when `has_hole`. */
static void write_grid(const char *path, bool has_shuffle, bool has_hole)
{
    const struct pw_table *info = pw_table_borrow(PW_TABLE_c_step_trace);
    struct pw_row_c_step_trace *rows = calloc(GRID, sizeof(*rows));
    hid_t file = create_plain(path), properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, (hsize_t[2]){GRID_STEPS, GRID_RANKS}, NULL);
    hid_t type = pw_h5_file_type(info), memory = pw_h5_memory_type(info);
    for (int64_t i = 0; i < GRID; i++)
        rows[i] = (struct pw_row_c_step_trace){.total_ns = i * i, .own_ns = 7 * i, .wait_ns = -1};
    H5Pset_chunk(properties, 2, (hsize_t[2]){32, 16});
    if (has_shuffle)
        H5Pset_shuffle(properties);
    H5Pset_deflate(properties, 1);
    hid_t dataset = H5Dcreate2(file, info->path, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (has_hole)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[2]){0, 0}, NULL,
                            (hsize_t[2]){GRID_STEPS, 16}, NULL);
    assert_true(H5Dwrite(dataset, memory, space, space, H5P_DEFAULT, rows) >= 0);
    H5Dclose(dataset);
    H5Tclose(memory);
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(file);
    free(rows);
}

/* Rows that profwrap takes from the chunks are those that HDF5 reads. */
static void test_grids(void **state)
{
    char path[UNIT_PATH];
    for (int i = 0; i < 4; i++) {
        struct pw_row_c_step_trace *rows;
        size_t n;
        write_grid(unit_path(path, state, "g.h5"), i & 1, i & 2);
        hid_t file = reopen(path);
        assert_int_equal(pw_h5_read_all(file, PW_TABLE_c_step_trace, (void **)&rows, &n), 0);
        assert_int_equal(n, GRID);
        check_same_as_hdf5(file, PW_TABLE_c_step_trace, rows, n);
        assert_int_equal(rows[GRID_RANKS + 3].own_ns, 7 * (GRID_RANKS + 3));
        assert_int_equal(rows[GRID - 1].own_ns, i & 2 ? 0 : 7 * (GRID - 1));
        free(rows);
        H5Fclose(file);
        unlink(path);
    }
}

static void test_empty_and_missing_tables(void **state)
{
    char path[UNIT_PATH];
    write_steps(unit_path(path, state, "f.h5"));
    hid_t file = reopen(path);
    void *rows = path;
    size_t n = 99;
    hsize_t dims[2];
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_gap, &rows, &n), 0); /* required, empty */
    assert_null(rows);
    assert_int_equal(n, 0);
    rows = path;
    n = 99;
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_clock, &rows, &n), -ENOENT);
    assert_int_equal(pw_h5_extent(file, PW_TABLE_process, dims), -ENOENT); /* no group either */
    assert_ptr_equal(rows, path); /* untouched on failure */
    assert_int_equal(n, 99);
    H5Fclose(file);
}

static void test_every_table(void **state)
{
    char path[UNIT_PATH];
    struct pw_h5_writer *writer;
    char row[1024], back[1024];
    memset(row, 0, sizeof(row));
    /* Rank and cluster tables share a path, so a file each. */
    for (int half = 0; half < 2; half++) {
        int first = half ? PW_RANK_TABLE_COUNT : 0;
        int last = half ? PW_TABLE_COUNT : PW_RANK_TABLE_COUNT;
        unit_path(path, state, half ? "cluster.h5" : "rank.h5");
        assert_int_equal(pw_h5_writer_create(path, 0, &writer), 0);
        for (int id = first; id < last; id++)
            assert_int_equal(pw_h5_writer_append(writer, id, row), 0);
        assert_int_equal(pw_h5_writer_close(writer), 0);
        hid_t file = reopen(path);
        for (int id = first; id < last; id++) {
            memset(back, 0xff, sizeof(back));
            assert_int_equal(pw_h5_read_rows(file, id, 0, 1, back), 0);
            assert_memory_equal(back, row, pw_table_borrow(id)->row_size);
        }
        H5Fclose(file);
    }
}

static void test_fixed_strings(void **state)
{
    char path[UNIT_PATH];
    struct pw_row_overhead row = {"full", 2.5, "0123456789abcdef"}, back; /* 16: no NUL */
    struct pw_h5_writer *writer;
    assert_int_equal(pw_h5_writer_create(unit_path(path, state, "f.h5"), 0, &writer), 0);
    assert_int_equal(pw_h5_writer_append(writer, PW_TABLE_overhead, &row), 0);
    assert_int_equal(pw_h5_writer_close(writer), 0);
    hid_t file = reopen(path);
    assert_int_equal(pw_h5_read_rows(file, PW_TABLE_overhead, 0, 1, &back), 0);
    assert_memory_equal(back.unit, row.unit, 16);
    assert_string_equal(back.name, "full");
    assert_true(back.value == 2.5);
    H5Fclose(file);
}

static void test_writer_refuses(void **state)
{
    char path[UNIT_PATH];
    struct pw_h5_writer *writer = NULL;
    write_steps(unit_path(path, state, "f.h5"));
    assert_int_equal(pw_h5_writer_create(path, 1, &writer), -EEXIST);
    unit_path(path, state, "no/such/dir.h5");
    assert_int_equal(pw_h5_writer_create(path, 1, &writer), -ENOENT);
    assert_null(writer);
}

/* A file of an older program: /steps without `end`, with a field that we do not know. */
static void test_missing_field_reads_zero(void **state)
{
    char path[UNIT_PATH];
    struct old {
        int64_t strange, step, start;
    } rows[] = {{1, 11, 21}, {2, 12, 22}};
    hid_t file = create_plain(unit_path(path, state, "f.h5"));
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(rows[0]));
    H5Tinsert(type, "strange", offsetof(struct old, strange), H5T_NATIVE_INT64);
    H5Tinsert(type, "step", offsetof(struct old, step), H5T_NATIVE_INT64);
    H5Tinsert(type, "start", offsetof(struct old, start), H5T_NATIVE_INT64);
    hsize_t n = 2;
    put_dataset(file, "/steps", type, 1, &n, rows);
    H5Tclose(type);
    H5Fclose(file);

    file = reopen(path);
    struct pw_row_step back[2];
    memset(back, 0xff, sizeof(back));
    assert_int_equal(pw_h5_read_rows(file, PW_TABLE_step, 0, 2, back), 0);
    assert_int_equal(back[1].step, 12);
    assert_int_equal(back[1].start, 22);
    assert_int_equal(back[1].end, 0);
    assert_int_equal(back[1].recorded, 0);
    H5Fclose(file);
}

static void test_wrong_kinds(void **state)
{
    char path[UNIT_PATH], text[2][8] = {"a", "b"};
    int64_t numbers[8] = {0};
    hsize_t n = 2, cube[3] = {2, 2, 2};
    hid_t file = create_plain(unit_path(path, state, "f.h5"));
    put_dataset(file, "/steps", H5T_NATIVE_INT64, 1, &n, numbers); /* no compound */
    hid_t type = H5Tcreate(H5T_COMPOUND, 8), fixed = H5Tcopy(H5T_C_S1);
    H5Tinsert(type, "local_ns", 0, H5T_NATIVE_INT64);
    put_dataset(file, "/clock", type, 3, cube, numbers); /* three dimensions */
    H5Tset_size(fixed, 8);
    put_dataset(file, "/strings", fixed, 1, &n, text); /* not of variable length */
    hid_t worded = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(worded, "world_rank", 0, fixed); /* a text where a number belongs */
    put_dataset(file, "/comm_members", worded, 1, &n, text);
    H5Gclose(H5Gcreate2(file, "/comms", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); /* a group */
    H5Tclose(worded);
    H5Tclose(fixed);
    H5Tclose(type);

    void *rows = NULL;
    char **strings = NULL;
    size_t count;
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_step, &rows, &count), -EINVAL);
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_clock, &rows, &count), -EINVAL);
    assert_int_equal(pw_h5_read_strings(file, "/strings", &strings, &count), -EINVAL);
    assert_int_equal(pw_h5_read_strings(file, "/steps", &strings, &count), -EINVAL);
    assert_true(pw_h5_read_all(file, PW_TABLE_member, &rows, &count) < 0);
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_comms, &rows, &count), -EINVAL);
    assert_null(rows);
    assert_null(strings);
    H5Fclose(file);
}

static void test_links_are_refused(void **state)
{
    char path[UNIT_PATH], other[UNIT_PATH];
    write_steps(unit_path(other, state, "other.h5"));
    hid_t file = create_plain(unit_path(path, state, "f.h5"));
    int64_t number = 0;
    hsize_t one = 1;
    hid_t type = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(type, "step", 0, H5T_NATIVE_INT64);
    put_dataset(file, "/real", type, 1, &one, &number);
    H5Tclose(type);
    H5Lcreate_soft("/real", file, "/clock", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(other, "/steps", file, "/steps", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(other, "/", file, "/events", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", file, "/comms", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);

    file = reopen(path);
    hsize_t dims[2];
    assert_true(H5Lexists(file, "/steps", H5P_DEFAULT) > 0);
    assert_int_equal(pw_h5_extent(file, PW_TABLE_clock, dims), -ENOENT);
    assert_int_equal(pw_h5_extent(file, PW_TABLE_step, dims), -ENOENT);
    assert_int_equal(pw_h5_extent(file, PW_TABLE_gap, dims), -ENOENT); /* a group on the way */
    assert_int_equal(pw_h5_extent(file, PW_TABLE_comms, dims), -ENOENT);
    H5Fclose(file);
}

/* Whatever is cut off: an error, or the same rows, and never a crash. */
static void test_truncated_files(void **state)
{
    char path[UNIT_PATH], *bytes;
    write_steps(unit_path(path, state, "f.h5"));
    hid_t whole = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT); /* removes the table of contents */
    assert_true(whole >= 0);
    H5Fclose(whole);
    FILE *in = fopen(path, "rb");
    fseek(in, 0, SEEK_END);
    size_t size = (size_t)ftell(in), opened = 0;
    rewind(in);
    bytes = malloc(size);
    assert_int_equal(fread(bytes, 1, size, in), size);
    fclose(in);
    unit_path(path, state, "cut.h5");
    for (size_t cut = 0; cut < size; cut += size / 37) {
        hid_t file;
        void *rows = NULL;
        size_t n;
        unit_write(path, bytes, cut, 0600);
        if (pw_h5_open(path, &file))
            continue;
        opened++;
        if (pw_h5_read_all(file, PW_TABLE_step, &rows, &n) == 0)
            assert_int_equal(n, ROWS);
        free(rows);
        H5Fclose(file);
    }
    assert_int_equal(opened, 0); /* HDF5 knows the size that the file should have */
    free(bytes);
}

static void test_open(void **state)
{
    char path[UNIT_PATH];
    hid_t file;
    assert_int_equal(pw_h5_open(unit_path(path, state, "none.h5"), &file), -ENOENT);
    unit_write(unit_path(path, state, "text.h5"), "not HDF5", 8, 0600);
    assert_int_equal(pw_h5_open(path, &file), -EINVAL);
    assert_int_equal(pw_h5_open(*state, &file), -EINVAL); /* a directory */
}

static void test_attributes(void **state)
{
    char path[UNIT_PATH], text[8] = "before";
    int64_t number = 5;
    hid_t file = create_plain(unit_path(path, state, "f.h5"));
    assert_int_equal(pw_h5_set_text(file, "name", "old and long"), 0);
    assert_int_equal(pw_h5_set_text(file, "name", "new"), 0);
    assert_int_equal(pw_h5_set_int(file, "number", INT64_MIN), 0);
    assert_int_equal(pw_h5_get_text(file, "name", text, sizeof(text)), 0);
    assert_string_equal(text, "new");
    assert_int_equal(pw_h5_get_int(file, "number", &number), 0);
    assert_true(number == INT64_MIN);
    pw_h5_set_text(file, "long", "123456789");
    assert_int_equal(pw_h5_get_text(file, "long", text, sizeof(text)), 0);
    assert_string_equal(text, "1234567"); /* cut */
    pw_h5_set_text(file, "empty", "");
    assert_int_equal(pw_h5_get_text(file, "empty", text, sizeof(text)), 0);
    assert_string_equal(text, "");

    strcpy(text, "before");
    number = 5;
    assert_int_equal(pw_h5_get_text(file, "number", text, sizeof(text)), -EINVAL);
    assert_int_equal(pw_h5_get_int(file, "name", &number), -EINVAL);
    assert_int_equal(pw_h5_get_text(file, "none", text, sizeof(text)), -ENOENT);
    assert_int_equal(pw_h5_get_int(file, "none", &number), -ENOENT);
    hsize_t two = 2;
    int64_t pair[2] = {1, 2};
    hid_t space = H5Screate_simple(1, &two, NULL);
    hid_t attribute = H5Acreate2(file, "pair", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT64, pair);
    H5Aclose(attribute);
    H5Sclose(space);
    assert_int_equal(pw_h5_get_int(file, "pair", &number), -EINVAL); /* would not fit */
    assert_string_equal(text, "before");
    assert_int_equal(number, 5);
    H5Fclose(file);
}

static void test_variable_text_attribute(void **state)
{
    char path[UNIT_PATH], text[8] = "before";
    const char *value = "varying";
    hid_t file = create_plain(unit_path(path, state, "f.h5"));
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t attribute = H5Acreate2(file, "v", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, &value);
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
    assert_int_equal(pw_h5_get_text(file, "v", text, sizeof(text)), -EINVAL);
    assert_string_equal(text, "before");
    H5Fclose(file);
}

static void test_strings(void **state)
{
    char path[UNIT_PATH], longest[5000];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    const char *const in[] = {"", "step", "µs ≤ 5", longest};
    hid_t file = create_plain(unit_path(path, state, "f.h5"));
    assert_int_equal(pw_h5_write_strings(file, "/strings", in, 4), 0);
    assert_int_equal(pw_h5_write_strings(file, "/none", in, 0), 0);
    char **out;
    size_t n;
    assert_int_equal(pw_h5_read_strings(file, "/strings", &out, &n), 0);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(out[i], in[i]);
    free(out);
    assert_int_equal(pw_h5_read_strings(file, "/none", &out, &n), 0);
    assert_int_equal(n, 0);
    free(out);
    assert_int_equal(pw_h5_read_strings(file, "/absent", &out, &n), -ENOENT);
    H5Fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_round_trip),
        UNIT_IN_DIR(test_grids),
        UNIT_IN_DIR(test_empty_and_missing_tables),
        UNIT_IN_DIR(test_every_level_of_deflate),
        UNIT_IN_DIR(test_every_table),
        UNIT_IN_DIR(test_fixed_strings),
        UNIT_IN_DIR(test_writer_refuses),
        UNIT_IN_DIR(test_missing_field_reads_zero),
        UNIT_IN_DIR(test_wrong_kinds),
        UNIT_IN_DIR(test_links_are_refused),
        UNIT_IN_DIR(test_truncated_files),
        UNIT_IN_DIR(test_open),
        UNIT_IN_DIR(test_attributes),
        UNIT_IN_DIR(test_variable_text_attribute),
        UNIT_IN_DIR(test_strings),
    };
    pw_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
