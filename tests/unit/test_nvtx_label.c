/* What texts of NVTX ranges say: operators in all spellings of emit_nvtx, steps, phases; and text
 * that only looks like one of them. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/nvtx/nvtx_label.h"

struct wanted {
    const char *text, *name;
    enum pw_kind kind;
    int64_t sequence;
    const char *shapes;
};

static void check(const struct wanted *w)
{
    char *exact = strdup(w->text); /* so that a read beyond is seen */
    assert_non_null(exact);
    struct pw_nvtx_label label = pw_nvtx_label_read(exact, strlen(exact));
    print_message("%s\n", w->text);
    assert_int_equal(label.kind, w->kind);
    assert_int_equal(label.name_length, strlen(w->name));
    assert_memory_equal(exact, w->name, label.name_length);
    assert_int_equal(label.is_part, strlen(w->name) != strlen(w->text));
    assert_int_equal(label.sequence, w->sequence);
    assert_int_equal(label.shapes_length, strlen(w->shapes));
    if (label.shapes_length)
        assert_memory_equal(label.shapes, w->shapes, label.shapes_length);
    assert_int_equal(pw_nvtx_label_step(exact, strlen(exact)),
                     w->kind == PW_KIND_STEP ? w->sequence : -1);
    assert_true(w->kind != PW_KIND_STEP || pw_nvtx_label_may_be_step((unsigned char)exact[0]));
    free(exact);
}

static void test_operators(void **state)
{
    (void)state;
    static const struct wanted rows[] = {
        {"aten::addmm, seq = 12, op_id = 34, sizes = [[32, 64], []], input_op_ids = [(3,0), (4,1)]",
         "aten::addmm", PW_KIND_OPERATOR, 12, "[[32, 64], []]"},
        {"aten::addmm, seq = 12, op_id = 34, sizes = [[32, 64], []]", "aten::addmm",
         PW_KIND_OPERATOR, 12, "[[32, 64], []]"},
        {"aten::empty, op_id = 7, sizes = [[], [], []]", "aten::empty", PW_KIND_OPERATOR, -1,
         "[[], [], []]"},
        {"aten::empty, op_id = 7", "aten::empty", PW_KIND_OPERATOR, -1, ""},
        {"aten::empty", "aten::empty", PW_KIND_OPERATOR, -1, ""},
        {"addmm, seq = 0", "addmm", PW_KIND_OPERATOR, 0, ""},
        {"addmm, sizes = [[1, 2]]", "addmm", PW_KIND_OPERATOR, -1, "[[1, 2]]"},
        {"addmm, seq=5", "addmm", PW_KIND_OPERATOR, 5, ""},
        {"AddmmBackward, stashed seq=17", "AddmmBackward", PW_KIND_OPERATOR, 17, ""},
        {"AddmmBackward, stashed seq = 17, seq = 2", "AddmmBackward", PW_KIND_OPERATOR, 2, ""},
        {"autograd::engine::evaluate_function: AddmmBackward0, seq = 3, op_id = 9",
         "autograd::engine::evaluate_function: AddmmBackward0", PW_KIND_OPERATOR, 3, ""},
        {"my::op<int, float>, seq = 4", "my::op<int, float>", PW_KIND_OPERATOR, 4, ""},
        /* Numbers that are none, or none that fits: an operator, but which is not known. */
        {"mul, seq = -1", "mul", PW_KIND_OPERATOR, -1, ""},
        {"mul, seq = 99999999999999999999", "mul", PW_KIND_OPERATOR, -1, ""},
        {"mul, sizes = [[1, 2], [3", "mul", PW_KIND_OPERATOR, -1, "[[1, 2], [3"},
        {"mul, sizes = none", "mul", PW_KIND_OPERATOR, -1, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(&rows[i]);
}

static void test_steps_and_phases(void **state)
{
    (void)state;
    static const struct wanted rows[] = {
        {"ProfilerStep#0", "ProfilerStep", PW_KIND_STEP, 0, ""},
        {"ProfilerStep#123", "ProfilerStep", PW_KIND_STEP, 123, ""},
        {"step 7", "step", PW_KIND_STEP, 7, ""},
        {"Step: 7", "Step", PW_KIND_STEP, 7, ""},
        {"step #7", "step", PW_KIND_STEP, 7, ""},
        {"iteration 8", "iteration", PW_KIND_STEP, 8, ""},
        {"Iteration_8", "Iteration", PW_KIND_STEP, 8, ""},
        {"iter_9", "iter", PW_KIND_STEP, 9, ""},
        {"forward", "forward", PW_KIND_PHASE, -1, ""},
        {"data", "data", PW_KIND_PHASE, -1, ""},
        {"allreduce", "allreduce", PW_KIND_PHASE, -1, ""},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
         "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", PW_KIND_DATA, -1, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(&rows[i]);
}

static void test_names_that_are_no_operators_or_steps(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",        "step",      "step 7 of 9", "stepping 7",      "step7",         "step -1",
        "other",   "none",      "forward ",    "Forward",         "a, b",          "a, seq",
        "a,seq=1", "sequence,", ", ",          "step 5000000000", "ProfilerStep#", "iter 1e3",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct wanted w = {texts[i], texts[i], PW_KIND_USER, -1, ""};
        check(&w);
    }
}

static void test_random_texts_are_survived(void **state)
{
    (void)state;
    static const char *const pieces[] = {", ",    "seq",  " = ",   "sizes",   "[",     "]",
                                         "step ", "12",   "op_id", "\xff",    "=",     " ",
                                         "#",     "iter", "[[,",   "stashed", "aten::"};
    uint64_t seed = 3;
    for (int round = 0; round < 20000; round++) {
        char text[256] = "";
        for (int n = (int)(unit_random(&seed) % 16); n > 0; n--)
            strcat(text, pieces[unit_random(&seed) % (sizeof(pieces) / sizeof(pieces[0]))]);
        char *exact = malloc(strlen(text) + 1);
        assert_non_null(exact);
        memcpy(exact, text, strlen(text)); /* without its NUL */
        struct pw_nvtx_label label = pw_nvtx_label_read(exact, strlen(text));
        assert_in_range(label.name_length, 0, strlen(text));
        if (label.shapes_length) {
            assert_true(label.shapes >= exact);
            assert_true(label.shapes + label.shapes_length <= exact + strlen(text));
        }
        assert_true(label.sequence >= -1 && label.sequence < UINT32_MAX);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_steps_and_phases),
        cmocka_unit_test(test_names_that_are_no_operators_or_steps),
        cmocka_unit_test(test_random_texts_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
