/* Rank files are read alike through their table of contents and by the HDF5 library; and contents
 * that are damaged, hostile or of an older state of the file are never believed. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/h5/h5contents.h"
#include "core/h5/h5file.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5replace.h"
#include "core/h5/h5types.h"
#include "core/h5/h5writer.h"
#include "core/ops.h"

enum { EVENTS = 9000, TEXTS = 700, MEDIUM = 4000, LONG = 5000, MUTATIONS = 150 };

/* The end of the file, as h5contents.c has it. */
struct footer {
    uint64_t magic, tables, end;
    uint32_t bytes, size, checksum, unused;
};

static void write_texts(hid_t file)
{
    static char room[TEXTS][LONG + 1];
    const char *texts[TEXTS];
    for (int i = 0; i < TEXTS; i++) {
        texts[i] = room[i];
        snprintf(room[i], sizeof(room[i]), "%.*s%d", i % 40,
                 "a text that is not always as long as this", i);
        /* Short ones go to earlier collections, which have room for them. */
        if (i < 240 && i % 3 == 2)
            memset(room[i], 'm', MEDIUM);
    }
    room[5][0] = '\0';
    memset(room[6], 'l', LONG); /* a collection of its own */
    assert_int_equal(pw_h5_write_strings(file, "/strings", texts, TEXTS), 0);
}

/* A file with two chunks of events, some knots, texts and attributes. */
static void write_file(const char *path, int level)
{
    struct pw_h5_writer *writer;
    assert_int_equal(pw_h5_writer_create(path, level, &writer), 0);
    hid_t file = pw_h5_writer_borrow_file(writer);
    pw_format_stamp(file, PW_FORMAT_RANK);
    pw_h5_set_int(file, "rank", 7);
    pw_h5_set_int(file, "start_unix_ns", INT64_MIN);
    pw_h5_set_text(file, "hostname", "");
    pw_h5_set_text(file, "command", "./train --name 'x y' --with=a --long=command");
    for (int64_t i = 0; i < EVENTS; i++) {
        const struct pw_row_comm_event event = {
            .start = 1000 * i, .end = 1000 * i + i % 97, .op = PW_OP_Allreduce, .seq = i};
        const struct pw_row_clock knot = {.local_ns = i, .offset_ns = -i, .error_ns = 3};
        assert_int_equal(pw_h5_writer_append(writer, PW_TABLE_comm_event, &event), 0);
        if (i < 3)
            assert_int_equal(pw_h5_writer_append(writer, PW_TABLE_clock, &knot), 0);
    }
    pw_h5_writer_require(writer, PW_TABLE_gap);
    write_texts(file);
    assert_int_equal(pw_h5_writer_close(writer), 0);
}

static struct footer read_footer(const char *path, uint64_t *at)
{
    struct footer footer;
    struct stat about;
    int fd = open(path, O_RDONLY);
    assert_int_equal(fstat(fd, &about), 0);
    *at = (uint64_t)about.st_size - sizeof(footer);
    assert_int_equal(pread(fd, &footer, sizeof(footer), (off_t)*at), sizeof(footer));
    close(fd);
    return footer;
}

static int has_contents(const char *path)
{
    struct pw_h5_contents *contents;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    const int err = pw_h5_contents_read(fd, &contents);
    if (!err)
        pw_h5_contents_free(contents);
    close(fd);
    return err == 0;
}

/* All of a file that the merge reads, in one piece of memory. */
struct all {
    char *bytes;
    size_t n, room;
};

static void add(struct all *all, const void *bytes, size_t n)
{
    if (all->n + n >= all->room) { /* AddressSanitizer copies everything in each realloc() */
        all->room = 2 * (all->n + n) + 1;
        all->bytes = realloc(all->bytes, all->room);
        assert_non_null(all->bytes);
    }
    if (n)
        memcpy(all->bytes + all->n, bytes, n);
    all->n += n;
}

static void add_table(struct all *all, const struct pw_h5_file *file, int table)
{
    void *rows = NULL;
    size_t n = 0;
    int err = pw_h5_file_read_all(file, table, &rows, &n);
    err = err == -ENOENT ? 0 : err; /* as a table without rows */
    add(all, &err, sizeof(err));
    if (err)
        return;
    add(all, &n, sizeof(n));
    add(all, rows, n * pw_table_borrow(table)->row_size);
    free(rows);
}

static void add_texts(struct all *all, const struct pw_h5_file *file)
{
    char **texts = NULL;
    size_t n = 0;
    const int err = pw_h5_file_strings(file, &texts, &n);
    add(all, &err, sizeof(err));
    for (size_t i = 0; !err && i < n; i++)
        add(all, texts[i], strlen(texts[i]) + 1);
    if (!err)
        free(texts);
}

static void add_attributes(struct all *all, const struct pw_h5_file *file)
{
    static const char *const names[] = {"rank",    "start_unix_ns", "hostname",      "command",
                                        "missing", "format",        "format_version"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[20] = "";
        int64_t number = 0;
        const int is_text = pw_h5_file_text(file, names[i], text, sizeof(text)) == 0;
        const int is_number = pw_h5_file_int(file, names[i], &number) == 0;
        add(all, &is_text, sizeof(is_text));
        add(all, text, strlen(text) + 1);
        add(all, &is_number, sizeof(is_number));
        add(all, &number, sizeof(number));
    }
    const int check = pw_h5_file_check(file, PW_FORMAT_RANK);
    add(all, &check, sizeof(check));
}

/* Reads the file; all->bytes is NULL when it cannot be opened. */
static struct all read_whole(const char *path)
{
    struct all all = {.bytes = NULL};
    struct pw_h5_file *file;
    struct pw_h5_types *types = pw_h5_types_create();
    if (pw_h5_file_open(types, path, &file) == 0) {
        add_attributes(&all, file);
        for (int table = 0; table < PW_RANK_TABLE_COUNT; table++)
            add_table(&all, file, table);
        add_texts(&all, file);
        pw_h5_file_close(file);
    }
    pw_h5_types_destroy(types);
    return all;
}

static void assert_alike(const char *path, const struct all *wanted)
{
    struct all all = read_whole(path);
    assert_int_equal(all.n, wanted->n);
    assert_memory_equal(all.bytes, wanted->bytes, all.n);
    free(all.bytes);
}

static void put(const char *path, uint64_t at, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)at), n);
    close(fd);
}

static char get(const char *path, uint64_t at)
{
    char byte;
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    close(fd);
    return byte;
}

/* With and without compression: the same rows, texts and attributes as by HDF5. HDF5 removes the
 * contents when it opens the file for writing. */
static void test_same_as_hdf5(void **state)
{
    for (int level = 0; level <= 1; level++) {
        char path[UNIT_PATH];
        uint64_t at;
        struct stat about;
        write_file(unit_path(path, state, level ? "packed.h5" : "plain.h5"), level);
        assert_true(has_contents(path));
        const struct footer footer = read_footer(path, &at);
        struct all all = read_whole(path);
        assert_non_null(all.bytes);

        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(file >= 0);
        H5Fclose(file);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_size, footer.end);
        assert_false(has_contents(path));
        assert_alike(path, &all);
        free(all.bytes);
    }
}

/* The contents are really used: without the groups of HDF5, all is still read. */
static void test_needs_no_library(void **state)
{
    char path[UNIT_PATH], zeros[64] = "";
    write_file(unit_path(path, state, "f.h5"), 1);
    struct all all = read_whole(path);
    put(path, 48, zeros, sizeof(zeros)); /* the root group's header follows the superblock */
    hid_t file;
    assert_true(pw_h5_open(path, &file) != 0);
    assert_alike(path, &all);
    free(all.bytes);
}

static const int replaced_table = PW_TABLE_comm_event;

/* Replaces the events by ones of which `is_noise` tells whether they compress. */
static int replace_events(const char *path, int is_noise)
{
    static struct pw_row_comm_event events[EVENTS];
    struct pw_h5_file *file;
    struct pw_h5_place place;
    struct pw_h5_types *types = pw_h5_types_create();
    const int fd = open(path, O_RDWR);
    uint64_t noise = 1;
    for (int64_t i = 0; i < EVENTS; i++) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        events[i] = (struct pw_row_comm_event){.start = is_noise ? (int64_t)noise : 500 * i,
                                               .end = is_noise ? (int64_t)noise : 500 * i,
                                               .op = PW_OP_Bcast,
                                               .seq = EVENTS - i};
    }
    assert_int_equal(pw_h5_file_open_at(types, fd, path, &file), 0);
    assert_int_equal(pw_h5_file_place(file, replaced_table, &place), 0);
    const int err = pw_h5_replace_rows(fd, &place, events);
    pw_h5_place_fini(&place);
    pw_h5_file_close(file);
    pw_h5_types_destroy(types);
    close(fd);
    return err;
}

/* HDF5 reads replaced rows, and the contents stay valid. Rows that need more room are refused. */
static void test_replaced(void **state)
{
    for (int level = 0; level <= 1; level++) {
        char path[UNIT_PATH];
        hid_t file;
        struct pw_row_comm_event *events;
        size_t n = 0;
        write_file(unit_path(path, state, level ? "packed.h5" : "plain.h5"), level);
        if (level) {
            struct all before = read_whole(path);
            assert_int_equal(replace_events(path, 1), 1);
            assert_alike(path, &before);
            free(before.bytes);
        }
        assert_int_equal(replace_events(path, 0), 0);
        assert_true(has_contents(path));
        struct all all = read_whole(path);
        assert_int_equal(pw_h5_open(path, &file), 0);
        assert_int_equal(pw_h5_read_all(file, replaced_table, (void **)&events, &n), 0);
        pw_h5_close(file);
        assert_int_equal(n, EVENTS);
        for (int64_t i = 0; i < EVENTS; i++)
            assert_true(events[i].start == 500 * i && events[i].seq == EVENTS - i &&
                        events[i].op == PW_OP_Bcast);
        free(events);
        file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT); /* removes the contents */
        H5Fclose(file);
        assert_alike(path, &all);
        free(all.bytes);
    }
}

/* A changed byte of the superblock, the contents or the footer: HDF5 reads the file instead. */
static void test_each_byte_counts(void **state)
{
    char path[UNIT_PATH];
    uint64_t at;
    write_file(unit_path(path, state, "f.h5"), 1);
    const struct footer footer = read_footer(path, &at);
    struct all all = read_whole(path);
    for (uint64_t i = footer.end; i < at + offsetof(struct footer, unused); i++) {
        const char right = get(path, i), wrong = (char)(right ^ 1);
        put(path, i, &wrong, 1);
        assert_false(has_contents(path));
        if ((i - footer.end) % 97 == 0)
            assert_alike(path, &all);
        put(path, i, &right, 1);
    }
    for (uint64_t i = 0; i < 48; i++) {
        const char right = get(path, i), wrong = (char)(right ^ 1);
        put(path, i, &wrong, 1);
        assert_false(has_contents(path));
        put(path, i, &right, 1);
    }
    assert_true(has_contents(path));
    assert_int_equal(truncate(path, (off_t)at), 0);
    assert_false(has_contents(path));
    assert_alike(path, &all);
    free(all.bytes);
}

/* A file that grew, or that has the contents of another one behind it. */
static void test_other_file(void **state)
{
    char path[UNIT_PATH], other[UNIT_PATH];
    uint64_t at;
    write_file(unit_path(path, state, "f.h5"), 1);
    write_file(unit_path(other, state, "g.h5"), 0);
    const struct footer footer = read_footer(other, &at);
    char *bytes = malloc(footer.bytes + sizeof(footer));
    int fd = open(other, O_RDONLY);
    assert_int_equal(pread(fd, bytes, footer.bytes + sizeof(footer), (off_t)footer.end),
                     footer.bytes + sizeof(footer));
    close(fd);
    const struct footer mine = read_footer(path, &at);
    assert_int_equal(truncate(path, (off_t)mine.end), 0);
    put(path, mine.end, bytes, footer.bytes + sizeof(footer));
    assert_false(has_contents(path));
    free(bytes);
}

static uint32_t checksum_of(const char *path, const char *packed, const struct footer *footer)
{
    char superblock[48];
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, superblock, sizeof(superblock), 0), sizeof(superblock));
    close(fd);
    uint32_t sum = libdeflate_crc32(0, superblock, sizeof(superblock));
    sum = libdeflate_crc32(sum, packed, footer->bytes);
    return libdeflate_crc32(sum, footer, offsetof(struct footer, checksum));
}

/* Writes the contents with a right checksum. */
static void put_contents(const char *path, const char *contents, size_t size,
                         const struct footer *as)
{
    struct footer footer = *as;
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(1);
    const size_t most = libdeflate_zlib_compress_bound(deflater, size);
    char *packed = malloc(most + sizeof(footer));
    footer.size = (uint32_t)size;
    footer.bytes = (uint32_t)libdeflate_zlib_compress(deflater, contents, size, packed, most);
    footer.checksum = checksum_of(path, packed, &footer);
    memcpy(packed + footer.bytes, &footer, sizeof(footer));
    assert_int_equal(truncate(path, (off_t)footer.end), 0);
    put(path, footer.end, packed, footer.bytes + sizeof(footer));
    libdeflate_free_compressor(deflater);
    free(packed);
}

static void mutate(char *contents, size_t *size, size_t whole, uint64_t *seed)
{
    static const uint64_t numbers[] = {0,          1,          47,         0x7fffffff,
                                       0xffffffff, 1ull << 32, 1ull << 63, ~0ull};
    for (size_t n = 1 + unit_random(seed) % 3; n; n--) {
        const size_t at = unit_random(seed) % whole;
        const uint64_t number = numbers[unit_random(seed) % 8];
        const size_t bytes = 1u << unit_random(seed) % 4;
        if (unit_random(seed) % 2)
            contents[at] = (char)unit_random(seed);
        else if (at + bytes <= whole)
            memcpy(contents + at, &number, bytes);
    }
    if (unit_random(seed) % 16 == 0)
        *size = unit_random(seed) % whole + 1;
}

/* Contents of which numbers were changed, with right checksums: no crash (in particular with
 * AddressSanitizer), and nothing is read from outside the file. */
static void test_hostile(void **state)
{
    char path[UNIT_PATH];
    uint64_t at, seed = 28;
    write_file(unit_path(path, state, "f.h5"), 1);
    const struct footer footer = read_footer(path, &at);
    char *packed = malloc(footer.bytes), *contents = malloc(footer.size),
         *changed = malloc(footer.size);
    int fd = open(path, O_RDONLY), believed = 0;
    assert_int_equal(pread(fd, packed, footer.bytes, (off_t)footer.end), footer.bytes);
    close(fd);
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    assert_int_equal(
        libdeflate_zlib_decompress(inflater, packed, footer.bytes, contents, footer.size, NULL),
        LIBDEFLATE_SUCCESS);
    libdeflate_free_decompressor(inflater);
    for (int i = 0; i < MUTATIONS; i++) {
        size_t size = footer.size;
        memcpy(changed, contents, size);
        mutate(changed, &size, footer.size, &seed);
        put_contents(path, changed, size, &footer);
        believed += has_contents(path);
        struct all all = read_whole(path);
        free(all.bytes);
    }
    assert_true(believed > 0); /* some changes are possible, such as that of a name */
    free(packed);
    free(contents);
    free(changed);
}

int main(void)
{
    pw_h5_quiet();
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_same_as_hdf5), UNIT_IN_DIR(test_needs_no_library),
        UNIT_IN_DIR(test_replaced),     UNIT_IN_DIR(test_each_byte_counts),
        UNIT_IN_DIR(test_other_file),   UNIT_IN_DIR(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
