/* Events of NCCL under way: handles that mean nothing find nothing, and what finds no room is
 * counted. */
#include "unit.h"

#include "collectors/nccl/nccl_slot.h"

static void *handle_of(enum pw_nccl_kind kind, struct pw_nccl_slot *slot)
{
    return pw_nccl_handle(kind, atomic_load(&slot->number));
}

static void test_handles(void **state)
{
    (void)state;
    struct pw_nccl_slot *slot = pw_nccl_slot_take(PW_NCCL_IS_PROXY);
    void *handle = handle_of(PW_NCCL_IS_PROXY, slot);
    assert_non_null(handle);
    slot->id = 5;
    assert_ptr_equal(pw_nccl_slot_find(handle), slot);
    assert_int_equal(pw_nccl_slot_id(handle), 5);
    assert_null(pw_nccl_slot_find(handle_of(PW_NCCL_IS_STEP, slot)));
    assert_null(pw_nccl_slot_find(NULL));
    pw_nccl_slot_end(PW_NCCL_IS_PROXY, slot);
    assert_null(pw_nccl_slot_find(handle));
    for (uintptr_t i = 0; i < 4096; i++) /* what others may have given out */
        pw_nccl_slot_find((void *)(i * 0x9e3779b97f4a7c15u));
}

/* A task is needed after its end, until as many more have come. */
static void test_task_slots_are_kept_after_their_end(void **state)
{
    (void)state;
    struct pw_nccl_slot *first = pw_nccl_slot_take(PW_NCCL_IS_TASK);
    void *handle = handle_of(PW_NCCL_IS_TASK, first);
    const uint64_t before = pw_nccl_slot_refused();
    int found = 0;
    first->id = 9;
    pw_nccl_slot_end(PW_NCCL_IS_TASK, first);
    for (int i = 0; i < 100000; i++) {
        found += pw_nccl_slot_id(handle) == 9;
        struct pw_nccl_slot *slot = pw_nccl_slot_take(PW_NCCL_IS_TASK);
        assert_non_null(slot);
        pw_nccl_slot_end(PW_NCCL_IS_TASK, slot);
    }
    assert_in_range(found, 1000, 10000);
    assert_int_equal(pw_nccl_slot_refused(), before);
    for (int i = 0; i < 10000; i++) /* none of these ends */
        assert_non_null(pw_nccl_slot_take(PW_NCCL_IS_TASK));
    assert_in_range(pw_nccl_slot_refused() - before, 5000, 10000);
}

static void test_full_table_refuses_slots(void **state)
{
    (void)state;
    const uint64_t before = pw_nccl_slot_refused();
    int taken = 0, refused = 0;
    for (int i = 0; i < 10000; i++)
        if (pw_nccl_slot_take(PW_NCCL_IS_CHANNEL))
            taken++;
        else
            refused++;
    assert_in_range(taken, 1000, 5000);
    assert_int_equal(taken + refused, 10000);
    assert_int_equal(pw_nccl_slot_refused() - before, refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_task_slots_are_kept_after_their_end),
        cmocka_unit_test(test_full_table_refuses_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
