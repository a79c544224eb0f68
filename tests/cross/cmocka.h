/* The part of cmocka that the unit tests use, for processors whose cmocka is not installed. Used by
 * test_aarch64.py only; a test program must not include it beside the real one. */
#ifndef PW_TESTS_CROSS_CMOCKA_H
#define PW_TESTS_CROSS_CMOCKA_H

#include <math.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int cmocka_setup(void **state);

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
    cmocka_setup *setup, *teardown;
};

enum { CMOCKA_FAILED = 1, CMOCKA_SKIPPED };

/* Where a test that fails or is skipped returns to. */
__attribute__((weak)) jmp_buf cmocka_leave;

_Noreturn static inline void cmocka_fail(const char *file, int line, const char *what)
{
    printf("%s:%d: %s\n", file, line, what);
    longjmp(cmocka_leave, CMOCKA_FAILED);
}

static inline void cmocka_check(int truth, const char *file, int line, const char *what)
{
    if (!truth)
        cmocka_fail(file, line, what);
}

static inline void cmocka_equal(uintmax_t a, uintmax_t b, const char *file, int line,
                                const char *what)
{
    if (a != b) {
        printf("%#jx != %#jx: ", a, b);
        cmocka_fail(file, line, what);
    }
}

static inline int cmocka_is_in(uintmax_t a, uintmax_t low, uintmax_t high)
{
    return a >= low && a <= high;
}

#define CMOCKA_CHECK(truth, what) cmocka_check((truth) != 0, __FILE__, __LINE__, what)

#define assert_true(c) CMOCKA_CHECK(c, #c)
#define assert_false(c) CMOCKA_CHECK(!(c), "not " #c)
#define assert_null(p) CMOCKA_CHECK(!(p), #p " is NULL")
#define assert_non_null(p) CMOCKA_CHECK(p, #p " is not NULL")
#define assert_int_equal(a, b) \
    cmocka_equal((uintmax_t)(a), (uintmax_t)(b), __FILE__, __LINE__, #a " == " #b)
#define assert_ptr_equal(a, b) CMOCKA_CHECK((uintptr_t)(a) == (uintptr_t)(b), #a " == " #b)
#define assert_ptr_not_equal(a, b) CMOCKA_CHECK((uintptr_t)(a) != (uintptr_t)(b), #a " != " #b)
#define assert_string_equal(a, b) CMOCKA_CHECK(strcmp(a, b) == 0, #a " == " #b)
#define assert_string_not_equal(a, b) CMOCKA_CHECK(strcmp(a, b) != 0, #a " != " #b)
#define assert_memory_equal(a, b, n) CMOCKA_CHECK(memcmp(a, b, n) == 0, #a " == " #b)
#define assert_float_equal(a, b, e) \
    CMOCKA_CHECK(fabs((double)(a) - (double)(b)) <= (e), #a " == " #b)
#define assert_in_range(a, low, high)                                               \
    CMOCKA_CHECK(cmocka_is_in((uintmax_t)(a), (uintmax_t)(low), (uintmax_t)(high)), \
                 #a " in " #low " .. " #high)
#define fail_msg(...)                                   \
    do {                                                \
        printf(__VA_ARGS__);                            \
        cmocka_fail(__FILE__, __LINE__, " (fail_msg)"); \
    } while (0)
#define skip() longjmp(cmocka_leave, CMOCKA_SKIPPED)
#define print_message(...) printf(__VA_ARGS__)

#define cmocka_unit_test(f) \
    {                       \
#f, f, NULL, NULL   \
    }
#define cmocka_unit_test_setup(f, s) \
    {                                \
#f, f, s, NULL               \
    }
#define cmocka_unit_test_setup_teardown(f, s, t) \
    {                                            \
#f, f, s, t                              \
    }

static inline int cmocka_run_one(const struct CMUnitTest *test, void **state)
{
    if (test->setup && test->setup(state))
        return CMOCKA_FAILED;
    const int outcome = setjmp(cmocka_leave);
    if (outcome == 0)
        test->run(state);
    if (test->teardown && test->teardown(state))
        return CMOCKA_FAILED;
    return outcome;
}

/* Prints the counts in a last line. Returns the number of failed tests. */
static inline int cmocka_run(const struct CMUnitTest *tests, size_t n, cmocka_setup *setup,
                             cmocka_setup *teardown)
{
    void *group = NULL;
    volatile int passed = 0, failed = 0, skipped = 0;
    if (setup && setup(&group))
        return 1;
    for (volatile size_t i = 0; i < n; i++) {
        void *state = group;
        const int outcome = cmocka_run_one(&tests[i], &state);
        passed += outcome == 0;
        failed += outcome == CMOCKA_FAILED;
        skipped += outcome == CMOCKA_SKIPPED;
        if (outcome == CMOCKA_FAILED)
            printf("failed: %s\n", tests[i].name);
    }
    failed += teardown && teardown(&group);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed;
}
#define cmocka_run_group_tests(tests, setup, teardown) \
    cmocka_run(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

#endif
