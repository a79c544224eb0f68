/* Achieved FLOP/s and MFU, and the table of peaks, with values worked by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/gpu.h"

static void two_steps(void **state)
{
    (void)state;
    struct pw_mfu mfu = {0};
    pw_mfu_add(&mfu, 3e12, 20000000); /* 3 TFLOP in 20 ms */
    pw_mfu_add(&mfu, 1e12, 5000000);  /* 1 TFLOP in 5 ms */
    assert_int_equal(mfu.steps, 2);
    assert_float_equal(pw_mfu_rate(&mfu), 160e12, 1); /* 4 TFLOP in 25 ms */
    assert_float_equal(pw_mfu_share(pw_mfu_rate(&mfu), 312e12), 160.0 / 312.0, 1e-12);
}

/* PaLM 540B (Chowdhery et al. 2022): 238.3 thousand tokens a second on 6144 TPU v4 of 275 TFLOP/s
 * are 46.2 %, with attention; its table 3 and appendix B have the numbers. */
static void what_palm_says(void **state)
{
    (void)state;
    const double token = 6 * 540.35e9 + 12.0 * 118 * 48 * 256 * 2048;
    struct pw_mfu mfu = {0};
    pw_mfu_add(&mfu, token * 238300, 1000000000);
    assert_float_equal(pw_mfu_share(pw_mfu_rate(&mfu), 6144 * 275e12), 0.462, 0.0006);
}

static void what_is_no_step(void **state)
{
    (void)state;
    struct pw_mfu mfu = {0};
    pw_mfu_add(&mfu, -1, 10);
    pw_mfu_add(&mfu, (double)NAN, 10);
    pw_mfu_add(&mfu, 1e31, 10);
    pw_mfu_add(&mfu, 1e12, 0);
    pw_mfu_add(&mfu, 1e12, INT64_MAX);
    assert_int_equal(mfu.steps, 0);
    assert_true(pw_mfu_rate(&mfu) < 0);
    assert_true(pw_mfu_share(-1, 1e12) < 0);
    assert_true(pw_mfu_share(1e12, -1) < 0);
    assert_true(pw_mfu_share(1e12, 0) < 0);
}

/* Multiprocessors x boost clock x FLOPs in a clock of each: 2048 in bf16 on A100, 4096 on H100. */
static void peaks(void **state)
{
    (void)state;
    assert_float_equal(pw_peak_flops("NVIDIA A100-SXM4-80GB", 108, "bf16"), 108 * 1.41e9 * 2048,
                       0.2e12);
    assert_float_equal(pw_peak_flops("NVIDIA H100 80GB HBM3", 132, "bf16"), 132 * 1.83e9 * 4096,
                       0.2e12);
    assert_float_equal(pw_peak_flops("NVIDIA H100 80GB HBM3", 132, "fp8"), 2 * 989.45e12, 0.1e12);
    assert_float_equal(pw_peak_flops("Tesla V100-SXM2-32GB", 80, "fp16"), 80 * 1.53e9 * 1024,
                       0.4e12);
}

static void peaks_that_are_not_known(void **state)
{
    (void)state;
    assert_true(pw_peak_flops("NVIDIA H100", 132, "bf16") < 0);
    assert_true(pw_peak_flops("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16, "bf16") < 0);
    assert_true(pw_peak_flops("NVIDIA H100 80GB HBM3", 16, "bf16") < 0);
    assert_true(pw_peak_flops("NVIDIA H100 80GB HBM3", -1, "bf16") > 0);
    assert_true(pw_peak_flops("Tesla V100-SXM2-32GB", 80, "bf16") < 0);
    assert_true(pw_peak_flops("NVIDIA A100-SXM4-80GB", 108, "fp8") < 0);
    assert_true(pw_peak_flops("NVIDIA A100-SXM4-80GB", 108, "int8") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_steps),
        cmocka_unit_test(what_palm_says),
        cmocka_unit_test(what_is_no_step),
        cmocka_unit_test(peaks),
        cmocka_unit_test(peaks_that_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
