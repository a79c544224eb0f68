/* The bounds of forward and backward from operators, worked by hand: steps 10, 11 and 12 are
 * [0, 100), [100, 200) and [200, 300). */
#include "unit.h"

#include <string.h>

#include "aggregate/secondpass/points.h"

enum { STEPS = 3, CONV = 1, GRAD, OTHER, DATA_NAME, NAMES };

struct fixture {
    struct pw_world world;
    struct pw_input input;
    struct pw_points points;
    struct pw_point_names names;
    struct pw_row_c_step_trace trace[STEPS];
    struct pw_points_lack lack[2];
};

static int64_t numbers[STEPS] = {10, 11, 12};
static struct pw_row_step rows[STEPS];
static struct pw_point host[STEPS], device[STEPS];
static uint8_t roles[NAMES], phases[NAMES];

static struct fixture make(const char *first, const char *last)
{
    struct fixture f = {
        .world = {.step_numbers = numbers, .nsteps = STEPS},
        .input = {.steps = rows, .nsteps = STEPS, .phases = phases, .nphases = NAMES}};
    snprintf(f.names.first, sizeof(f.names.first), "%s", first);
    snprintf(f.names.last, sizeof(f.names.last), "%s", last);
    memset(f.trace, 0xff, sizeof(f.trace));
    memset(phases, PW_PHASE_NONE, sizeof(phases));
    phases[DATA_NAME] = PW_PHASE_DATA;
    for (int i = 0; i < STEPS; i++) {
        rows[i] = (struct pw_row_step){.step = 10 + i, .start = 100 * i, .end = 100 * i + 100};
        host[i] = device[i] = (struct pw_point){INT64_MAX, INT64_MIN};
        f.trace[i].total_ns = 100;
    }
    static const char *const texts[NAMES] = {"", "conv1", "conv1_grad", "relu", "data"};
    for (int i = 0; i < NAMES; i++)
        roles[i] = (uint8_t)pw_point_roles(texts[i], &f.names);
    return f;
}

/* After the fixture is where it stays. */
static void begin(struct fixture *f)
{
    f->points = (struct pw_points){.input = &f->input,
                                   .names = &f->names,
                                   .roles = roles,
                                   .nroles = NAMES,
                                   .host = host,
                                   .device = device,
                                   .near = -1};
}

static void add(struct fixture *f, uint32_t name, int64_t start, int64_t end)
{
    const struct pw_row_range range = {
        .start = start, .end = end, .name = name, .kind = PW_KIND_OPERATOR, .sequence = -1};
    pw_points_add_range(&f->points, &range);
}

static void add_numbered(struct fixture *f, uint32_t name, int64_t start, int64_t end)
{
    const struct pw_row_range range = {
        .start = start, .end = end, .name = name, .kind = PW_KIND_OPERATOR, .sequence = 7};
    pw_points_add_range(&f->points, &range);
}

static void apply(struct fixture *f)
{
    assert_int_equal(pw_points_apply(&f->points, &f->world, f->trace, f->lack), 0);
}

static void assert_step(const struct fixture *f, int step, int64_t interval, int64_t fp_bp,
                        int64_t tail)
{
    assert_int_equal(f->trace[step].interval_ns, interval);
    assert_int_equal(f->trace[step].fp_bp_ns, fp_bp);
    assert_int_equal(f->trace[step].tail_ns, tail);
}

static void test_named_operators_bound_each_step(void **state)
{
    (void)state;
    struct fixture f = make("conv1", "conv1_grad");
    begin(&f);
    f.trace[0].interval_ns = 1; /* marks of the program do not count */
    f.trace[0].tail_ns = 2;
    f.trace[0].fp_bp_ns = 97;
    add(&f, OTHER, 5, 8);
    add(&f, CONV, 10, 20); /* the first start counts, the last end */
    add(&f, CONV, 30, 35);
    add(&f, GRAD, 50, 60);
    add(&f, GRAD, 62, 85);
    add(&f, OTHER, 86, 99);
    add(&f, CONV, 120, 130); /* no backward operator in step 11 */
    add(&f, GRAD, 270, 280); /* no forward operator in step 12 */
    apply(&f);
    assert_step(&f, 0, 10, 75, 15);
    assert_step(&f, 1, 20, -1, -1);
    assert_step(&f, 2, -1, -1, 20);
    assert_int_equal(f.lack[0].steps, 1);
    assert_string_equal(f.lack[0].list, "12");
    assert_int_equal(f.lack[1].steps, 1);
    assert_string_equal(f.lack[1].list, "11");
    assert_int_equal(f.lack[1].of, STEPS);
}

static void test_name_that_never_ran_is_said_and_marks_do_not_replace_it(void **state)
{
    (void)state;
    struct fixture f = make("conv7", "");
    begin(&f);
    for (int i = 0; i < STEPS; i++)
        f.trace[i] = (struct pw_row_c_step_trace){
            .interval_ns = 5, .fp_bp_ns = 90, .tail_ns = 5, .total_ns = 100};
    add(&f, CONV, 10, 20);
    apply(&f);
    assert_step(&f, 0, -1, -1, 5);
    assert_int_equal(f.lack[0].steps, 3);
    assert_string_equal(f.lack[0].list, "10-12");
    assert_int_equal(f.lack[1].steps, 0);
}

static void test_backward_before_forward_or_after_the_step_is_not_known(void **state)
{
    (void)state;
    struct fixture f = make("conv1", "conv1_grad");
    begin(&f);
    add(&f, GRAD, 10, 20);
    add(&f, CONV, 30, 40);
    add(&f, CONV, 110, 120);
    add(&f, GRAD, 150, 230);
    apply(&f);
    assert_step(&f, 0, 30, -1, 80);
    assert_step(&f, 1, 10, -1, -1);
}

static void test_kernels_of_the_operator_count_in_place_of_its_launch(void **state)
{
    (void)state;
    struct fixture f = make("conv1", "conv1_grad");
    begin(&f);
    add(&f, CONV, 10, 12);
    add(&f, GRAD, 14, 16);
    pw_points_add_kernel(
        &f.points, &(struct pw_row_kernel){
                       .start = 25, .end = 30, .launch = 11, .name = OTHER, .launched_by = CONV});
    /* Imported: the kernel has the operator's name, and no launch. */
    pw_points_add_kernel(
        &f.points, &(struct pw_row_kernel){.start = 70, .end = 90, .launch = -1, .name = GRAD});
    apply(&f);
    assert_step(&f, 0, 25, 65, 10);
}

static void test_scopes_and_numbers_bound_steps_without_marks(void **state)
{
    (void)state;
    struct fixture f = make("", "");
    begin(&f);
    roles[CONV] = (uint8_t)pw_point_roles("Default/network/conv1-Conv2d/Conv2D-op1", &f.names);
    roles[GRAD] = (uint8_t)pw_point_roles("Gradients/Default/network/conv1/Conv2D-op9", &f.names);
    add(&f, CONV, 10, 20);
    add(&f, GRAD, 50, 85);
    add(&f, OTHER, 86, 99); /* has neither a scope nor a number */
    /* PyTorch: operators while a batch is made come before the range of the data. */
    add_numbered(&f, OTHER, 105, 110);
    add(&f, DATA_NAME, 101, 115);
    add_numbered(&f, OTHER, 125, 130);
    add(&f, GRAD, 150, 190);
    f.trace[2] = (struct pw_row_c_step_trace){
        .interval_ns = 30, .fp_bp_ns = 50, .tail_ns = 20, .total_ns = 100};
    add(&f, CONV, 205, 210); /* the program's marks are kept */
    add(&f, GRAD, 290, 299);
    apply(&f);
    assert_step(&f, 0, 10, 75, 15);
    assert_step(&f, 1, 25, 65, 10);
    assert_step(&f, 2, 30, 50, 20);
    assert_int_equal(f.lack[0].steps + f.lack[1].steps, 0);
}

/* A graph is one phase, forward, of which only the operators tell where backward ends. */
static void test_backward_operators_complete_a_marked_forward(void **state)
{
    (void)state;
    struct fixture f = make("", "");
    begin(&f);
    roles[GRAD] = (uint8_t)pw_point_roles("Gradients/Default/network/conv1/Conv2D-op9", &f.names);
    f.trace[0].interval_ns = 7;
    f.trace[1].interval_ns = 7;
    add(&f, GRAD, 50, 85);
    apply(&f);
    assert_step(&f, 0, 7, 78, 15);
    assert_step(&f, 1, 7, -1, -1);
}

static void test_roles_of_names(void **state)
{
    (void)state;
    const struct pw_point_names names = {"a", "a"}, none = {"", ""};
    static const struct {
        const char *name;
        unsigned roles;
    } cases[] = {
        {"Default/network-Net/conv1-Conv2d/Conv2D-op1", PW_POINT_FORWARD},
        {"Default/GetNext-op1", 0},
        {"Default/data/GetNext-op1", 0},
        {"Default/RealDiv-op0", 0},
        {"Default/optimizer-Momentum/ApplyMomentum-op4", 0},
        {"Gradients/Default/network-Net/gradConv2D-expand/Conv2DBackpropInput-op5",
         PW_POINT_BACKWARD},
        {"autograd::engine::evaluate_function: AddmmBackward0", PW_POINT_BACKWARD},
        {"AddmmBackward0", PW_POINT_BACKWARD},
        {"Backward0", 0},
        {"AddmmBackward", 0},
        {"aten::convolution_backward", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(pw_point_roles(cases[i].name, &none), cases[i].roles);
    assert_int_equal(pw_point_roles("a", &names), PW_POINT_FIRST | PW_POINT_LAST);
}

static void test_long_list_of_steps_is_cut(void **state)
{
    (void)state;
    enum { MANY = 400 };
    static int64_t many[MANY];
    static struct pw_row_step steps[MANY];
    static struct pw_point points[MANY];
    static struct pw_row_c_step_trace trace[MANY];
    struct fixture f = make("conv1", "");
    begin(&f);
    for (int i = 0; i < MANY; i++) {
        many[i] = i;
        steps[i] = (struct pw_row_step){.step = i, .start = 100 * i, .end = 100 * i + 100};
        points[i] = (struct pw_point){i % 2 ? 100 * i + 1 : INT64_MAX, INT64_MIN};
        trace[i].total_ns = 100;
    }
    f.world = (struct pw_world){.step_numbers = many, .nsteps = MANY};
    f.input.steps = steps;
    f.input.nsteps = MANY;
    f.points.host = points;
    assert_int_equal(pw_points_apply(&f.points, &f.world, trace, f.lack), 0);
    assert_int_equal(f.lack[0].steps, MANY / 2);
    assert_memory_equal(f.lack[0].list, "0, 2, 4, 6, ", 12);
    assert_string_equal(f.lack[0].list + strlen(f.lack[0].list) - 5, ", ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named_operators_bound_each_step),
        cmocka_unit_test(test_name_that_never_ran_is_said_and_marks_do_not_replace_it),
        cmocka_unit_test(test_backward_before_forward_or_after_the_step_is_not_known),
        cmocka_unit_test(test_kernels_of_the_operator_count_in_place_of_its_launch),
        cmocka_unit_test(test_scopes_and_numbers_bound_steps_without_marks),
        cmocka_unit_test(test_backward_operators_complete_a_marked_forward),
        cmocka_unit_test(test_roles_of_names),
        cmocka_unit_test(test_long_list_of_steps_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
