/* Table descriptors and enumerations. */
#include "unit.h"

#include "core/tables.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_valid),
        cmocka_unit_test(test_tables_that_are_not_valid),
        cmocka_unit_test(test_descriptors_name_the_struct),
        cmocka_unit_test(test_paths_of_tables_differ),
        cmocka_unit_test(test_enums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
