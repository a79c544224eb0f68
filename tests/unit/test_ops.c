/* Operations and their groups. */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "core/ops.h"
#include "core/tables.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_ops_agree_with_their_siblings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
