/* Samples of a GPU summed up, with values worked by hand. */
#include "unit.h"

#include "analysis/gpu.h"

static struct pw_row_gpu sample_of(int64_t gpm_ns, double sm, double tensor)
{
    return (struct pw_row_gpu){.sm_clock_mhz = 1000,
                               .power_mw = -1,
                               .power_instant_mw = -1,
                               .temperature_c = -1,
                               .memory_used_bytes = -1,
                               .power_capped_ns = -1,
                               .heat_slowed_ns = -1,
                               .brake_slowed_ns = -1,
                               .gpm_ns = gpm_ns,
                               .sm_active = sm,
                               .tensor_active = tensor,
                               .dram_active = -1};
}

static void means_are_by_time(void **state)
{
    (void)state;
    struct pw_gpu_samples s = {0};
    struct pw_row_c_gpu_device row = {0};
    const struct pw_row_gpu samples[] = {
        sample_of(1000, 0.9, 0.5),
        sample_of(0, 0.1, 0.1), /* not measured */
        sample_of(3000, 0.5, -1),
        sample_of(-5, 0.1, 0.1),
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        pw_gpu_samples_add(&s, &samples[i]);
    pw_gpu_samples_fill(&s, &row);
    assert_int_equal(row.gpm_ns, 4000);
    assert_float_equal(row.sm_active, (0.9 + 3 * 0.5) / 4, 1e-12);
    assert_float_equal(row.tensor_active, 0.5, 1e-12);
    assert_float_equal(row.dram_active, -1, 0);
}

static void power_memory_and_slowing(void **state)
{
    (void)state;
    struct pw_gpu_samples s = {0};
    struct pw_row_c_gpu_device row = {0};
    struct pw_row_gpu a = sample_of(0, 0, 0), b = a, unread = a;
    a.power_mw = 300000, a.power_instant_mw = 710000, a.memory_used_bytes = 50,
    a.temperature_c = 60;
    a.heat_slowed_ns = 1000, a.power_capped_ns = 7;
    b.power_mw = 500000, b.power_instant_mw = 400000, b.memory_used_bytes = 40,
    b.temperature_c = 80;
    b.heat_slowed_ns = 5000, b.power_capped_ns = 7;
    pw_gpu_samples_add(&s, &a);
    pw_gpu_samples_add(&s, &unread);
    pw_gpu_samples_add(&s, &b);
    pw_gpu_samples_fill(&s, &row);
    assert_float_equal(row.power_w, 400, 1e-9);
    assert_float_equal(row.power_most_w, 710, 1e-9);
    assert_float_equal(row.temperature_most_c, 80, 0);
    assert_int_equal(row.memory_most_bytes, 50);
    assert_int_equal(row.heat_slowed_ns, 4000);
    assert_int_equal(row.power_capped_ns, 0);
    assert_int_equal(row.brake_slowed_ns, -1);
    assert_int_equal(row.samples, 3);
}

static void without_samples(void **state)
{
    (void)state;
    const struct pw_gpu_samples s = {0};
    struct pw_row_c_gpu_device row = {0};
    pw_gpu_samples_fill(&s, &row);
    assert_float_equal(row.power_w, -1, 0);
    assert_float_equal(row.power_most_w, -1, 0);
    assert_float_equal(row.sm_active, -1, 0);
    assert_int_equal(row.memory_most_bytes, -1);
    assert_int_equal(row.heat_slowed_ns, -1);
    assert_int_equal(row.gpm_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_by_time),
        cmocka_unit_test(power_memory_and_slowing),
        cmocka_unit_test(without_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
