/* The nearest roof of a GPU, with values worked by hand. */
#include "unit.h"

#include "analysis/gpu.h"

static void assert_roof(struct pw_roofline_input in, const char *name, double share)
{
    const struct pw_roof roof = pw_roofline_nearest(&in);
    if (name)
        assert_string_equal(roof.name, name);
    else
        assert_null(roof.name);
    assert_float_equal(roof.share, share, 1e-12);
}

/* Engine, tensor cores, fp64, fp32, fp16, memory. */
static void the_nearest(void **state)
{
    (void)state;
    assert_roof((struct pw_roofline_input){1, 0.6, 0, 0.1, 0, 0.4}, "tensor cores", 0.6);
    assert_roof((struct pw_roofline_input){1, 0.2, 0, 0.1, 0, 0.7}, "memory", 0.7);
    assert_roof((struct pw_roofline_input){1, 0, 0.5, 0.1, 0, 0.3}, "fp64", 0.5);
    assert_roof((struct pw_roofline_input){1, -1, -1, 0.3, 0.4, 0.1}, "fp16", 0.4);
}

static void while_it_has_work(void **state)
{
    (void)state;
    assert_roof((struct pw_roofline_input){0.5, 0.2, 0, 0.1, 0, 0.4}, "memory", 0.8);
    assert_roof((struct pw_roofline_input){0.3, 0.31, 0, 0, 0, 0.1}, "tensor cores", 1);
}

static void what_is_not_known(void **state)
{
    (void)state;
    assert_roof((struct pw_roofline_input){1, -1, -1, -1, -1, 0.5}, NULL, -1);
    assert_roof((struct pw_roofline_input){1, 0.5, 0, 0, 0, -1}, NULL, -1);
    assert_roof((struct pw_roofline_input){0, 0, 0, 0, 0, 0}, NULL, -1);
    assert_roof((struct pw_roofline_input){-1, 0.5, 0, 0, 0, 0.1}, NULL, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest),
        cmocka_unit_test(while_it_has_work),
        cmocka_unit_test(what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
