/* Whether a core is spare, from files as /proc has them. */
#include "unit.h"

#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/collect/sparecore.h"

#define MS INT64_C(1000000)

static int core; /* the first one on which this process may run */

static void find_core(void)
{
    cpu_set_t mine;
    assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
    for (core = 0; !CPU_ISSET(core, &mine); core++)
        ;
}

static FILE *create(void **state, const char *name)
{
    char path[UNIT_PATH];
    mkdir(unit_path(path, state, "proc"), 0700);
    mkdir(unit_path(path, state, "proc/self"), 0700);
    FILE *file = fopen(unit_path(path, state, name), "w");
    assert_non_null(file);
    return file;
}

/* The idle time of the first core of this process, a tenth of it in programs that yield, and of a
 * core that it may not use; ms. */
static void idle(void **state, long mine, long other)
{
    const long ticks = sysconf(_SC_CLK_TCK);
    FILE *file = create(state, "proc/stat");
    fprintf(file, "cpu  1 2 3 999999999 5 6 7 8 9 10\n");
    fprintf(file, "cpu%d 1 %ld 3 %ld 0 6 7 8 9 10\n", core, mine / 10 * ticks / 1000,
            mine / 10 * 9 * ticks / 1000);
    fprintf(file, "cpu8191 1 2 3 %ld 0 6 7 8 9 10\n", other * ticks / 1000);
    fprintf(file, "intr 5 cpu0\n");
    fclose(file);
}

static void scheduled(void **state, int64_t ran_ns, int64_t waited_ns)
{
    FILE *file = create(state, "proc/self/schedstat");
    fprintf(file, "%lld %lld 77\n", (long long)ran_ns, (long long)waited_ns);
    fclose(file);
}

static void test_idle_for_half_the_time(void **state)
{
    find_core();
    struct pw_sparecore spare;
    scheduled(state, 0, 0);
    idle(state, 1000, 1000);
    pw_sparecore_init(&spare, *state, 5000 * MS);
    assert_false(pw_sparecore_look(&spare, 5040 * MS, 0)); /* too early */
    idle(state, 1060, 1000);
    assert_true(pw_sparecore_look(&spare, 5100 * MS, 0));
    assert_true(pw_sparecore_look(&spare, 5140 * MS, 0)); /* too early for another look */
    assert_false(pw_sparecore_look(&spare, 5200 * MS, 0));
    idle(state, 1060, 9000); /* a core that is not this process's */
    assert_false(pw_sparecore_look(&spare, 5300 * MS, 0));
}

static void test_long_ago_says_nothing(void **state)
{
    find_core();
    struct pw_sparecore spare;
    scheduled(state, 0, 0);
    idle(state, 1000, 1000);
    pw_sparecore_init(&spare, *state, 5000 * MS);
    idle(state, 6000, 1000); /* idle all the time */
    assert_false(pw_sparecore_look(&spare, 10000 * MS, 0));
    idle(state, 6100, 1000);
    assert_true(pw_sparecore_look(&spare, 10100 * MS, 0));
}

/* The collector itself uses the spare core; or it uses one that others wait for, and so waits, too.
 */
static void test_own_use_counts_as_idle(void **state)
{
    find_core();
    struct pw_sparecore spare;
    idle(state, 1000, 1000);
    scheduled(state, 0, 0);
    pw_sparecore_init(&spare, *state, 5000 * MS);
    scheduled(state, 90 * MS, 2 * MS);
    assert_true(pw_sparecore_look(&spare, 5100 * MS, 0));
    scheduled(state, 140 * MS, 52 * MS);
    assert_false(pw_sparecore_look(&spare, 5200 * MS, 0));
}

/* 16384 records or more since the look before: the spare core is one in load. */
static void test_spare_in_load(void **state)
{
    find_core();
    struct pw_sparecore spare;
    scheduled(state, 0, 0);
    idle(state, 1000, 1000);
    pw_sparecore_init(&spare, *state, 5000 * MS);
    idle(state, 1100, 1000);
    assert_true(pw_sparecore_look(&spare, 5100 * MS, 16383));
    assert_false(pw_sparecore_is_in_load(&spare));
    idle(state, 1200, 1000);
    assert_true(pw_sparecore_look(&spare, 5200 * MS, 2 * 16384 - 1));
    assert_true(pw_sparecore_is_in_load(&spare));
    assert_true(pw_sparecore_look(&spare, 5240 * MS, 2 * 16384)); /* too early for another look */
    assert_true(pw_sparecore_is_in_load(&spare));
    assert_false(pw_sparecore_look(&spare, 5300 * MS, 3 * 16384)); /* much, and none is spare */
    assert_false(pw_sparecore_is_in_load(&spare));
}

static void test_spare_when_nothing_is_known(void **state)
{
    (void)state;
    struct pw_sparecore spare;
    pw_sparecore_init(&spare, "/no/such/root", 5000 * MS);
    assert_true(pw_sparecore_look(&spare, 5100 * MS, 0));
    pw_sparecore_init(&spare, NULL, 0);
    assert_true(pw_sparecore_look(&spare, 5100 * MS, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_idle_for_half_the_time),           UNIT_IN_DIR(test_long_ago_says_nothing),
        UNIT_IN_DIR(test_own_use_counts_as_idle),           UNIT_IN_DIR(test_spare_in_load),
        cmocka_unit_test(test_spare_when_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
