/* Which of its steps a straggler lost. Own work of three ranks in ten steps, made by hand. */
#include "unit.h"

#include <string.h>

#include "aggregate/findings/findings.h"

enum { STEPS = 10, RANKS = 3, FIRST = 3 };
#define MS ((int64_t)1000000)

struct run {
    struct pw_findings findings;
    struct pw_matrix matrix;
    struct pw_row_c_step steps[STEPS];
    int64_t own_ns[STEPS * RANKS];
    struct pw_row_c_straggler row;
};

/* 20 ms in each step. Rank 1 has 100 ms more in steps 5 and 9, and 40 ms in step 7; in step 11 the
 * other ranks are not known. */
static void make(struct run *run)
{
    memset(run, 0, sizeof(*run));
    for (size_t s = 0; s < STEPS; s++) {
        const int64_t step = FIRST + (int64_t)s;
        run->steps[s].step = step;
        for (size_t r = 0; r < RANKS; r++)
            run->own_ns[s * RANKS + r] = step == 11 && r != 1 ? -1 : 20 * MS;
        run->own_ns[s * RANKS + 1] += step == 5 || step == 9 || step == 11 ? 100 * MS
                                      : step == 7                          ? 40 * MS
                                                                           : 0;
    }
    run->findings.steps = run->steps;
    run->findings.nsteps = STEPS;
    run->matrix.own_ns = run->own_ns;
    run->matrix.nsteps = STEPS;
    run->matrix.nranks = RANKS;
    run->row = (struct pw_row_c_straggler){
        .rank = 1, .first_step = FIRST, .last_step = FIRST + STEPS - 1, .excess_ns = 100 * MS};
}

static void test_lost_steps(void **state)
{
    struct run run;
    int64_t numbers[STEPS];
    (void)state;
    make(&run);
    assert_int_equal(pw_findings_lost_steps(&run.findings, &run.matrix, &run.row, numbers, STEPS),
                     2);
    assert_int_equal(numbers[0], 5);
    assert_int_equal(numbers[1], 9);
    run.row.excess_ns = 80 * MS; /* 40 ms are half of it */
    assert_int_equal(pw_findings_lost_steps(&run.findings, &run.matrix, &run.row, numbers, STEPS),
                     3);
    assert_int_equal(numbers[1], 7);
    run.row.first_step = 6;
    assert_int_equal(pw_findings_lost_steps(&run.findings, &run.matrix, &run.row, numbers, STEPS),
                     2);
    assert_int_equal(numbers[0], 7);
    assert_int_equal(pw_findings_lost_steps(&run.findings, &run.matrix, &run.row, numbers, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
