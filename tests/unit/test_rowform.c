/* Unpacks, unshuffles, packs and shuffles rows, and compares them with the definition. Joins
 * spans that are near each other. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/intervals.h"
#include "core/h5/rowform.h"
#include "core/tables.h"

enum { CHUNK_ROWS = 97 };

static char *random_bytes(size_t n)
{
    uint64_t seed = 11;
    char *bytes = malloc(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)unit_random(&seed);
    return bytes;
}

/* Byte k of packed row i, wherever it goes. */
static void check_rows(const struct pw_row_layout *layout, int table, const char *packed,
                       size_t first, size_t count, const char *rows)
{
    const struct pw_table *info = pw_table_borrow(table);
    for (size_t i = 0; i < count; i++) {
        size_t from = (first + i) * layout->packed_size;
        for (size_t f = 0; f < info->nfields; f++) {
            const struct pw_field *field = &info->fields()[f];
            assert_memory_equal(rows + i * info->row_size + field->offset, packed + from,
                                field->size);
            from += field->size;
        }
    }
}

/* Packs and shuffles the rows of a chunk with other strides than it has rows. */
static void check_back(const struct pw_row_layout *layout, const char *packed, const char *rows)
{
    enum { STRIDE = CHUNK_ROWS + 5 };
    const size_t size = layout->packed_size;
    char *again = malloc(size * CHUNK_ROWS), *planes = malloc(size * STRIDE);
    pw_rows_pack(layout, rows, CHUNK_ROWS, again);
    assert_memory_equal(again, packed, size * CHUNK_ROWS);
    memset(planes, 7, size * STRIDE);
    pw_rows_shuffle(layout, rows, CHUNK_ROWS, planes, STRIDE);
    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < STRIDE; i++)
            assert_int_equal(planes[k * STRIDE + i], i < CHUNK_ROWS ? packed[i * size + k] : 7);
    free(again);
    free(planes);
}

static void check_table(int table)
{
    static const size_t parts[][2] = {{0, 97}, {0, 1},   {96, 1}, {3, 16},
                                      {5, 31}, {17, 80}, {40, 0}};
    struct pw_row_layout layout;
    assert_int_equal(pw_row_layout_make(table, &layout), 0);
    assert_int_equal(layout.row_size, pw_table_borrow(table)->row_size);
    size_t size = layout.packed_size * CHUNK_ROWS;
    char *packed = random_bytes(size), *planes = malloc(size);
    char *rows = malloc(layout.row_size * CHUNK_ROWS);
    for (size_t i = 0; i < CHUNK_ROWS; i++)
        for (size_t k = 0; k < layout.packed_size; k++)
            planes[k * CHUNK_ROWS + i] = packed[i * layout.packed_size + k];
    for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
        pw_rows_unpack(&layout, packed, parts[p][0], parts[p][1], rows);
        check_rows(&layout, table, packed, parts[p][0], parts[p][1], rows);
        memset(rows, 0, layout.row_size * CHUNK_ROWS);
        pw_rows_unshuffle(&layout, (struct pw_row_planes){planes, CHUNK_ROWS}, parts[p][0],
                          parts[p][1], rows);
        check_rows(&layout, table, packed, parts[p][0], parts[p][1], rows);
    }
    pw_rows_unpack(&layout, packed, 0, CHUNK_ROWS, rows);
    check_back(&layout, packed, rows);
    free(packed);
    free(planes);
    free(rows);
}

static void test_rows_of_all_tables(void **state)
{
    (void)state;
    for (int table = 0; table < PW_TABLE_COUNT; table++)
        check_table(table);
}

static void test_first_interval(void **state)
{
    (void)state;
    struct pw_interval v[40];
    for (int i = 0; i < 40; i++)
        v[i] = (struct pw_interval){10 * i, 10 * i + 5};
    for (size_t n = 0; n <= 40; n += 8)
        for (size_t near = 0; near <= n; near++)
            for (int64_t time = -5; time < 410; time++) {
                size_t first = 0;
                while (first < n && v[first].end <= time)
                    first++;
                assert_int_equal(pw_intervals_first(v, n, time, near), first);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_all_tables),
        cmocka_unit_test(test_first_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
