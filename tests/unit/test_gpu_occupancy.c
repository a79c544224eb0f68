/* Occupancy, against what NVIDIA's cuda_occupancy.h answers for an H100 (capability 9.0). */
#include "unit.h"

#include "analysis/gpu.h"

static const struct pw_row_device h100 = {
    .capability = 900, .warps = 64, .blocks = 32, .shared_bytes = 228 << 10, .registers = 64 << 10};

static struct pw_row_kernel kernel_of(int threads, int registers, int static_bytes, int dynamic)
{
    return (struct pw_row_kernel){.block_x = threads,
                                  .block_y = 1,
                                  .block_z = 1,
                                  .registers = registers,
                                  .static_shared_bytes = static_bytes,
                                  .dynamic_shared_bytes = dynamic};
}

static void assert_blocks(const struct pw_row_kernel *kernel, int blocks, int warps)
{
    assert_float_equal(pw_occupancy(&h100, kernel), blocks * warps / 64.0, 1e-12);
}

static void what_limits(void **state)
{
    (void)state;
    static const struct {
        int threads, registers, static_bytes, dynamic, blocks;
    } of[] = {
        {256, 64, 0, 0, 4},         /* registers: 8 of 2048 to a quarter's 16384 */
        {256, 40, 1024, 200000, 1}, /* shared memory */
        {1024, 64, 0, 0, 1},        /* registers */
        {96, 168, 0, 0, 4},         /* 12 warps, of which 4 blocks of 3 */
        {32, 16, 0, 0, 32},         /* blocks */
        {128, 32, 0, 49152, 4},     /* 48 KiB and one for the driver, of 228 */
        {160, 40, 0, 0, 9},         /* 48 warps, of which 9 blocks of 5 */
        {512, 128, 0, 0, 1},        {1024, 32, 0, 0, 2}, /* threads */
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        const struct pw_row_kernel k =
            kernel_of(of[i].threads, of[i].registers, of[i].static_bytes, of[i].dynamic);
        assert_blocks(&k, of[i].blocks, (of[i].threads + 31) / 32);
    }
}

static void blocks_of_three_sides(void **state)
{
    (void)state;
    struct pw_row_kernel k = kernel_of(16, 64, 0, 0);
    k.block_y = 8;
    k.block_z = 2;
    assert_blocks(&k, 4, 8);
}

static void not_known(void **state)
{
    (void)state;
    struct pw_row_device older = h100, none = {.capability = 900};
    struct pw_row_kernel k = kernel_of(256, 64, 0, 0);
    older.capability = 0;
    assert_float_equal(pw_occupancy(&older, &k), -1, 0);
    assert_float_equal(pw_occupancy(&none, &k), -1, 0);
    k.dynamic_shared_bytes = -1; /* an import's */
    assert_float_equal(pw_occupancy(&h100, &k), -1, 0);
    k = kernel_of(512, 255, 0, 0); /* 16 warps of 8192 registers */
    assert_float_equal(pw_occupancy(&h100, &k), -1, 0);
    k = kernel_of(1024, 32, 0, 0);
    k.block_y = 2;
    assert_float_equal(pw_occupancy(&h100, &k), -1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_limits),
        cmocka_unit_test(blocks_of_three_sides),
        cmocka_unit_test(not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
