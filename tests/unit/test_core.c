/* The small parts of core: operations, table descriptors, clock maps and quantities as text. */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "core/clockmap.h"
#include "core/ops.h"
#include "core/tables.h"
#include "core/text.h"

static void test_ops(void **state)
{
    (void)state;
    for (uint32_t op = 0; op < PW_OP_COUNT; op++) {
        const struct pw_op_info *info = pw_op_info(op);
        assert_true(info->name[0] >= 'A' && info->name[0] <= 'Z');
        assert_in_range(info->level, 0, 2);
        /* Only collectives have a shape, and only what moves data has a factor. */
        assert_int_equal(info->cls == PW_CLASS_COLL, info->shape != PW_SHAPE_NONE);
        if (info->factor != PW_FACTOR_NO)
            assert_true(info->cls == PW_CLASS_COLL || info->cls == PW_CLASS_SEND ||
                        info->cls == PW_CLASS_RECV || info->cls == PW_CLASS_RMA);
        if (info->cls == PW_CLASS_COLL)
            assert_int_equal(info->level, 0);
        for (uint32_t other = 0; other < op; other++)
            assert_string_not_equal(info->name, pw_op_info(other)->name);
        assert_string_equal(pw_enum_name(PW_F_OP, (int)op), info->name);
    }
    assert_string_equal(pw_op_info(PW_OP_Iallreduce)->name, "Iallreduce");
    assert_int_equal(pw_op_info(PW_OP_Reduce)->shape, PW_SHAPE_TO_ROOT);
    assert_int_equal(PW_OP_LEVEL_Send, 1);
    assert_string_equal(pw_op_info(PW_OP_COUNT)->name, "None");
    assert_true(pw_op_is_even(pw_op_info(PW_OP_Barrier)));
    assert_true(pw_op_is_even(pw_op_info(PW_OP_Ireduce_scatter_block)));
    assert_false(pw_op_is_even(pw_op_info(PW_OP_Reduce_scatter)));
    assert_false(pw_op_is_even(pw_op_info(PW_OP_Allgatherv)));
    assert_false(pw_op_is_even(pw_op_info(PW_OP_Bcast)));
    assert_false(pw_op_is_even(pw_op_info(PW_OP_Win_fence)));
    assert_true(pw_op_has_parts(pw_op_info(PW_OP_Neighbor_alltoallw)));
    assert_false(pw_op_has_parts(pw_op_info(PW_OP_Allgatherv)));
    assert_false(pw_op_has_parts(pw_op_info(PW_OP_Alltoall)));
    assert_string_equal(pw_op_info(UINT32_MAX)->name, "None");
}

/* Whether `name` is that of MPI_I<blocking> or MPI_<blocking>_init. */
static bool is_sibling(const char *name, const char *blocking)
{
    const size_t length = strlen(blocking);
    return (name[0] == 'I' && strcasecmp(name + 1, blocking) == 0) ||
           (strncmp(name, blocking, length) == 0 && strcmp(name + length, "_init") == 0);
}

/* A nonblocking or persistent collective is to the analyses what its blocking sibling is, and moves
 * the same bytes. */
static void test_ops_agree_with_their_siblings(void **state)
{
    (void)state;
    int pairs = 0;
    for (uint32_t i = 0; i < PW_OP_COUNT; i++)
        for (uint32_t b = 0; b < PW_OP_COUNT; b++) {
            const struct pw_op_info *info = pw_op_info(i), *blocking = pw_op_info(b);
            if (info->cls != PW_CLASS_COLL || blocking->cls != PW_CLASS_COLL ||
                !is_sibling(info->name, blocking->name))
                continue;
            pairs++;
            assert_int_equal(info->shape, blocking->shape);
            assert_int_equal(info->factor, blocking->factor);
            assert_int_equal(info->sent, blocking->sent);
            assert_int_equal(info->received, blocking->received);
        }
    assert_int_equal(pairs, 2 * 22); /* MPI 3.1: 17 of chapter 5.12, 5 neighbourhoods of 7.7 */
}

static void test_tables_are_valid(void **state)
{
    (void)state;
    for (int id = 0; id < PW_TABLE_COUNT; id++)
        assert_true(pw_table_is_valid(pw_table_borrow(id)));
}

static const struct pw_field *hand_made_fields(void)
{
    static const struct pw_field fields[] = {{"start", PW_F_I64, 0, 8, "ns", "what it is"},
                                             {"peer", PW_F_I32, 8, 4, "", "what it is"},
                                             {"op", PW_F_OP, 12, 2, "", "what it is"}};
    return fields;
}

static const struct pw_field *overlapping_fields(void)
{
    static const struct pw_field fields[] = {{"start", PW_F_I64, 0, 8, "ns", "what it is"},
                                             {"peer", PW_F_I32, 4, 4, "", "what it is"}};
    return fields;
}

static const struct pw_field *twins(void)
{
    static const struct pw_field fields[] = {{"peer", PW_F_I32, 0, 4, "", "what it is"},
                                             {"peer", PW_F_I32, 4, 4, "", "what it is"}};
    return fields;
}

static const struct pw_field *wrong_size(void)
{
    static const struct pw_field fields[] = {{"start", PW_F_I64, 0, 8, "ns", "what it is"},
                                             {"op", PW_F_OP, 8, 8, "", "what it is"}};
    return fields;
}

static void test_tables_that_are_not_valid(void **state)
{
    (void)state;
    assert_true(pw_table_is_valid(&(struct pw_table){"/t", 16, 3, hand_made_fields}));
    assert_false(pw_table_is_valid(&(struct pw_table){"/t", 12, 3, hand_made_fields}));
    assert_false(pw_table_is_valid(&(struct pw_table){"/t", 24, 3, hand_made_fields}));
    assert_false(pw_table_is_valid(&(struct pw_table){"t", 16, 3, hand_made_fields}));
    assert_false(pw_table_is_valid(&(struct pw_table){"/t", 8, 2, overlapping_fields}));
    assert_false(pw_table_is_valid(&(struct pw_table){"/t", 8, 2, twins}));
    assert_false(pw_table_is_valid(&(struct pw_table){"/t", 16, 2, wrong_size}));
}

static void test_descriptors_name_the_struct(void **state)
{
    (void)state;
    const struct pw_table *table = pw_table_borrow(PW_TABLE_comm_event);
    assert_int_equal(table->row_size, sizeof(struct pw_row_comm_event));
    assert_int_equal(table->nfields, 16);
    assert_string_equal(table->fields()[2].name, "op");
    assert_int_equal(table->fields()[2].offset, offsetof(struct pw_row_comm_event, op));
    assert_int_equal(table->fields()[2].type, PW_F_OP);
    assert_string_equal(table->fields()[15].name, "wait_start");
    table = pw_table_borrow(PW_TABLE_c_straggler);
    assert_int_equal(table->row_size, sizeof(struct pw_row_c_straggler));
    assert_string_equal(table->fields()[13].name, "evidence");
    assert_int_equal(table->fields()[13].offset, offsetof(struct pw_row_c_straggler, evidence));
    assert_int_equal(table->fields()[13].size, 256);
}

static void test_paths_of_tables_differ(void **state)
{
    (void)state;
    for (int a = 0; a < PW_TABLE_COUNT; a++)
        for (int b = a + 1; b < PW_TABLE_COUNT; b++)
            if ((a < PW_RANK_TABLE_COUNT) == (b < PW_RANK_TABLE_COUNT)) /* in one file */
                assert_string_not_equal(pw_table_borrow(a)->path, pw_table_borrow(b)->path);
}

static void test_enums(void **state)
{
    (void)state;
    for (int type = PW_F_I64; type < PW_F_OP; type++)
        assert_null(pw_enum_borrow((enum pw_field_type)type));
    for (int type = PW_F_OP; type < PW_F_END; type++) {
        const struct pw_enum_item *item = pw_enum_borrow((enum pw_field_type)type);
        assert_non_null(item);
        for (; item->name; item++)
            assert_string_equal(pw_enum_name((enum pw_field_type)type, item->value), item->name);
    }
    assert_string_equal(pw_enum_name(PW_F_CAUSE, PW_CAUSE_FILE_IO), "file_io");
    assert_string_equal(pw_enum_name(PW_F_CAUSE, 99), "?");
    assert_string_equal(pw_enum_name(PW_F_SOURCE, -1), "?");
    assert_string_equal(pw_enum_name(PW_F_I64, 0), "?");
}

/* Knots at 1 s and 3 s; the offset grows from 100 to 300 ns between them. */
static const struct pw_row_clock two[] = {{1000000000, 100, 10}, {3000000000, 300, 40}};

static void test_clock_times(void **state)
{
    (void)state;
    assert_int_equal(pw_clock_to_cluster(NULL, 0, 12345), 12345);
    assert_int_equal(pw_clock_to_cluster(two, 1, 0), 100);
    assert_int_equal(pw_clock_to_cluster(two, 1, 9000000000), 9000000100);
    assert_int_equal(pw_clock_to_cluster(two, 2, 0), 100); /* before: held */
    assert_int_equal(pw_clock_to_cluster(two, 2, 1000000000), 1000000100);
    assert_int_equal(pw_clock_to_cluster(two, 2, 2000000000), 2000000200); /* half-way */
    assert_int_equal(pw_clock_to_cluster(two, 2, 1500000000), 1500000150);
    assert_int_equal(pw_clock_to_cluster(two, 2, 3000000000), 3000000300);
    assert_int_equal(pw_clock_to_cluster(two, 2, 5000000000), 5000000300); /* after: held */
    const struct pw_row_clock falls[] = {{0, 1000, 1}, {10, -1000, 1}};
    assert_int_equal(pw_clock_to_cluster(falls, 2, 5), 5);
    assert_int_equal(pw_clock_to_cluster(falls, 2, -5), 995);
}

static void test_clock_errors(void **state)
{
    (void)state;
    assert_int_equal(pw_clock_error(NULL, 0, 0), -1);
    assert_int_equal(pw_clock_error(two, 2, 2000000000), 25 + 1000); /* half-way */
    assert_int_equal(pw_clock_error(two, 2, 1200000000), 13 + 200);
    assert_int_equal(pw_clock_error(two, 2, 1000000000), 10);
    assert_int_equal(pw_clock_error_max(two, 2, 1000000000, 3000000000), 1025);
    assert_int_equal(pw_clock_error_max(two, 2, 1000000000, 1200000000), 213);
    assert_int_equal(pw_clock_error(two, 2, 3000000000), 40);
    /* 100 us per second outside. */
    assert_int_equal(pw_clock_error(two, 2, 0), 10 + 100001);
    assert_int_equal(pw_clock_error(two, 2, 5000000000), 40 + 200001);
    assert_int_equal(pw_clock_error(two, 1, 1000000000), 10);
    assert_int_equal(pw_clock_error(two, 1, 1500000000), 10 + 50001);
}

static void test_clock_validity(void **state)
{
    (void)state;
    assert_true(pw_clock_is_valid(NULL, 0));
    assert_true(pw_clock_is_valid(two, 2));
    struct pw_row_clock bad[][2] = {
        {{5, 0, 0}, {5, 0, 0}},         /* does not rise */
        {{5, 0, 0}, {4, 0, 0}},         /* falls */
        {{5, 0, -1}, {6, 0, 0}},        /* negative error */
        {{5, 0, 0}, {6, 0, INT64_MAX}}, /* error beyond all use */
        {{5, INT64_MAX, 0}, {6, 0, 0}}, /* offsets whose step would overflow */
        {{5, INT64_MIN, 0}, {6, 0, 0}}, /* the same */
        {{INT64_MIN, 0, 0}, {6, 0, 0}}, /* times that cannot be subtracted */
        {{5, 0, 0}, {INT64_MAX, 0, 0}}, /* the same */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(pw_clock_is_valid(bad[i], 2));
}

static void test_text_ns(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{-1, "n/a"},
                 {0, "0 ns"},
                 {999, "999 ns"},
                 {1000, "1.0 us"},
                 {12345, "12.3 us"},
                 {123456, "123 us"},
                 {999499, "999 us"},
                 {999500, "1.0 ms"},
                 {18000000, "18.0 ms"},
                 {731000000, "731 ms"},
                 {2410000000, "2.41 s"},
                 {59900000000, "59.9 s"},
                 {INT64_C(600) * 1000000000, "10 min"},
                 {INT64_C(3720) * 1000000000, "1 h 02 min"},
                 {INT64_C(90060) * 1000000000, "25 h 01 min"}};
    char text[32];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(pw_text_ns(text, sizeof(text), cases[i].ns), cases[i].text);
    assert_string_equal(pw_text_ns(text, 4, 12345), "12."); /* cut, not overrun */
}

static void test_text_bytes_and_rates(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(pw_text_bytes(text, sizeof(text), -1), "n/a");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 0), "0 B");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 1023), "1023 B");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 4096), "4.0 KiB");
    assert_string_equal(pw_text_bytes(text, sizeof(text), 3 << 19), "1.5 MiB");
    assert_string_equal(pw_text_bytes(text, sizeof(text), INT64_C(5) << 50), "5.0 PiB");
    assert_string_equal(pw_text_rate(text, sizeof(text), 0), "n/a");
    assert_string_equal(pw_text_rate(text, sizeof(text), -5), "n/a");
    assert_string_equal(pw_text_rate(text, sizeof(text), 0.0 / 0.0 * 1), "n/a");
    assert_string_equal(pw_text_rate(text, sizeof(text), 0.8e6), "800.0 kB/s");
    assert_string_equal(pw_text_rate(text, sizeof(text), 12.4e9), "12.4 GB/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_ops_agree_with_their_siblings),
        cmocka_unit_test(test_tables_are_valid),
        cmocka_unit_test(test_tables_that_are_not_valid),
        cmocka_unit_test(test_descriptors_name_the_struct),
        cmocka_unit_test(test_paths_of_tables_differ),
        cmocka_unit_test(test_enums),
        cmocka_unit_test(test_clock_times),
        cmocka_unit_test(test_clock_errors),
        cmocka_unit_test(test_clock_validity),
        cmocka_unit_test(test_text_ns),
        cmocka_unit_test(test_text_bytes_and_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
