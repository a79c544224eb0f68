/* rocprofiler-sdk's layouts, its clock in terms of ours, and what is freed. */
#include "unit.h"

#include <assert.h>

#include "collectors/rocm/rocm_clock.h"
#include "collectors/rocm/rocm_layout.h"
#include "collectors/rocm/rocm_memory.h"

/* Worked from the headers of 1.0.0: buffer_tracing.h, fwd.h, callback_tracing.h and agent.h. */
#define AT(type, field, offset) \
    static_assert(offsetof(struct type, field) == (offset), #type " " #field)
#define SIZE(type, size) static_assert(sizeof(struct type) == (size), #type)

SIZE(pw_rocp_header, 16);
SIZE(pw_rocp_call, 64);
AT(pw_rocp_call, correlation, 16);
AT(pw_rocp_call, start, 40);
AT(pw_rocp_call, thread, 56);
SIZE(pw_rocp_dispatch_info, 128); /* fwd.h asserts it, too */
AT(pw_rocp_dispatch_info, group_bytes, 44);
AT(pw_rocp_dispatch_info, workgroup, 48);
AT(pw_rocp_dispatch_info, grid, 60);
SIZE(pw_rocp_dispatch, 184);
AT(pw_rocp_dispatch, correlation, 16);
AT(pw_rocp_dispatch, thread, 32);
AT(pw_rocp_dispatch, info, 56);
AT(pw_rocp_memory_copy, start, 40);
AT(pw_rocp_memory_copy, dst_agent, 56);
AT(pw_rocp_memory_copy, bytes, 72);
SIZE(pw_rocp_memory, 88);
AT(pw_rocp_memory, thread, 40);
AT(pw_rocp_memory, agent, 64);
AT(pw_rocp_memory, bytes, 80);
AT(pw_rocp_scratch_memory, agent, 40);
AT(pw_rocp_scratch_memory, thread, 56);
AT(pw_rocp_scratch_memory, end, 72);
SIZE(pw_rocp_called, 64);
AT(pw_rocp_called, kind, 40);
AT(pw_rocp_called, payload, 56);
AT(pw_rocp_kernel_symbol, name, 24);
AT(pw_rocp_kernel_symbol, group_bytes, 48);
AT(pw_rocp_agent, type, 16);
AT(pw_rocp_agent, lds_kib, 52);
AT(pw_rocp_agent, compute_units, 72);
AT(pw_rocp_agent, gfx_version, 100);
AT(pw_rocp_agent, location, 108);
AT(pw_rocp_agent, memory_bytes, 176);
AT(pw_rocp_agent, name, 248);
AT(pw_rocp_agent, product_name, 264);
AT(pw_rocp_agent, gpu_number, 288);
AT(pw_rocp_agent, uuid, 296);
SIZE(pw_rocp_tool, 32);
AT(pw_rocp_client, handle, 16);

/* Theirs ticks once in two of ours, and then, from 1000 on, once in four. */
static void test_clock(void **state)
{
    struct pw_rocm_clock clock = {0};
    const struct pw_rocm_reading now = {.ticks = 24000, .ns = 6000};
    (void)state;
    assert_int_equal(pw_rocm_clock_ticks(&clock, now, 6000), 24000);
    pw_rocm_clock_add(&clock, (struct pw_rocm_reading){.ticks = 2000, .ns = 0});
    pw_rocm_clock_add(&clock, (struct pw_rocm_reading){.ticks = 4000, .ns = 1000});
    pw_rocm_clock_add(&clock, (struct pw_rocm_reading){.ticks = 1, .ns = 1000}); /* not later */
    pw_rocm_clock_add(&clock, (struct pw_rocm_reading){.ticks = 20000, .ns = 5000});
    assert_int_equal(pw_rocm_clock_ticks(&clock, now, 0), 2000);
    assert_int_equal(pw_rocm_clock_ticks(&clock, now, 500), 3000);
    assert_int_equal(pw_rocm_clock_ticks(&clock, now, 1000), 4000);
    assert_int_equal(pw_rocm_clock_ticks(&clock, now, 3000), 12000);
    assert_int_equal(pw_rocm_clock_ticks(&clock, now, 5500), 22000);
    /* Later than now: by the rate of all, 22000 ticks in 6000 ns. */
    assert_int_equal(pw_rocm_clock_ticks(&clock, now, 6600), 24000 + 2200);
}

static void test_clock_goes_round(void **state)
{
    struct pw_rocm_clock clock = {0};
    (void)state;
    for (uint64_t i = 0; i < 3 * PW_ROCM_READINGS; i++)
        pw_rocm_clock_add(&clock,
                          (struct pw_rocm_reading){.ticks = 7 + 3 * i * 100, .ns = i * 100});
    const uint64_t last = (3 * PW_ROCM_READINGS - 1) * 100;
    const struct pw_rocm_reading now = {.ticks = 7 + 3 * (last + 10), .ns = last + 10};
    for (uint64_t ns = last - 2000; ns <= last + 20; ns += 7)
        assert_int_equal(pw_rocm_clock_ticks(&clock, now, ns), 7 + 3 * ns);
}

static bool allocate(uint64_t address, bool is_handle, struct pw_rocm_change given, uint64_t ns,
                     struct pw_rocm_change *replaced)
{
    return pw_rocm_memory_allocate(&(struct pw_rocm_place){address, is_handle, ns}, given,
                                   replaced);
}

static bool release(uint64_t address, bool is_handle, uint64_t ns, struct pw_rocm_change *freed)
{
    return pw_rocm_memory_free(&(struct pw_rocm_place){address, is_handle, ns}, freed);
}

static void test_memory(void **state)
{
    struct pw_rocm_change change = {0};
    (void)state;
    assert_true(allocate(0x1000, false, (struct pw_rocm_change){2, 100}, 10, &change));
    assert_int_equal(change.delta_bytes, 0);
    assert_true(
        allocate(0x1000, true, (struct pw_rocm_change){1, 7}, 10, &change)); /* a handle: another */
    assert_int_equal(change.delta_bytes, 0);
    assert_false(release(0x2000, false, 20, &change));
    assert_true(release(0x1000, false, 20, &change));
    assert_int_equal(change.device, 2);
    assert_int_equal(change.delta_bytes, -100);
    assert_false(release(0x1000, false, 21, &change));
    assert_true(release(0x1000, true, 30, &change));
    assert_int_equal(change.delta_bytes, -7);
}

/* Freed at 50 by one thread, allocated anew at 60 by another, which is reported first. */
static void test_memory_told_late(void **state)
{
    struct pw_rocm_change change = {0};
    (void)state;
    assert_true(allocate(0x5000, false, (struct pw_rocm_change){0, 100}, 40, &change));
    assert_true(allocate(0x5000, false, (struct pw_rocm_change){0, 200}, 60, &change));
    assert_int_equal(change.delta_bytes, -100);
    assert_false(release(0x5000, false, 50, &change));
    assert_true(release(0x5000, false, 70, &change));
    assert_int_equal(change.delta_bytes, -200);
}

static void test_memory_is_limited(void **state)
{
    struct pw_rocm_change change = {0};
    uint64_t kept = 0;
    (void)state;
    while (kept < 1 << 20 &&
           allocate(0x10000 + 0x1000 * kept, false, (struct pw_rocm_change){0, 1}, 1, &change))
        kept++;
    assert_in_range(kept, 1 << 14, 1 << 16);
    for (uint64_t i = 0; i < kept; i++)
        assert_true(release(0x10000 + 0x1000 * i, false, 2, &change));
    assert_true(allocate(0x10000, false, (struct pw_rocm_change){0, 1}, 3, &change));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_clock_goes_round),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_told_late),
        cmocka_unit_test(test_memory_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
