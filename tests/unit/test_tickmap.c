/* The record clock's map to local time, and offsets from ping-pongs. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/clocks/envelope.h"
#include "rank/clocks/tickmap.h"

static struct pw_tickmap map;
static const struct pw_testclock right;

static void read_clocks(void)
{
    uint64_t ticks;
    int64_t ns;
    pw_tickmap_read(map.source, &ticks, &ns);
    pw_tickmap_add(&map, ticks, ns);
}

static void test_raw_is_identity(void **state)
{
    (void)state;
    pw_tickmap_init(&map, PW_TICK_RAW, &right);
    read_clocks();
    assert_int_equal(pw_tickmap_ns(&map, 0), 0);
    assert_int_equal(pw_tickmap_ns(&map, 123456789012345), 123456789012345);
}

/* The fast conversion gives the same times, in any order and while readings are added. */
static void test_next_is_the_same(void **state)
{
    (void)state;
    uint64_t seed = 5, ticks = 1000, ns = 77;
    pw_tickmap_init(&map, PW_TICK_TSC, &right);
    for (int i = 0; i < 3 * PW_TICKMAP_KNOTS; i++) {
        ticks += 1 + unit_random(&seed) % 1000000;
        ns += 1 + unit_random(&seed) % 1000000;
        pw_tickmap_add(&map, ticks, (int64_t)ns);
        for (uint64_t k = 0; k < 8; k++) { /* after the last reading, and long before it */
            const uint64_t at = k % 2 ? ticks + k * 1000 : 1 + unit_random(&seed) % (ticks + 5000);
            for (uint64_t n = 0; n < 3; n++)
                assert_int_equal(pw_tickmap_next(&map, at + n), pw_tickmap_ns(&map, at + n));
        }
    }
}

/* A reading of the tick between two of the local clock must map to between them. */
static int64_t worst_miss(int rounds)
{
    int64_t worst = 0, last = INT64_MIN;
    for (int i = 0; i < rounds; i++) {
        int64_t before = pw_local_ns();
        uint64_t ticks = pw_tick_read(map.source);
        int64_t after = pw_local_ns(), ns = pw_tickmap_ns(&map, ticks);
        assert_true(ns >= last); /* monotone */
        last = ns;
        int64_t miss = ns < before ? before - ns : ns > after ? ns - after : 0;
        worst = miss > worst ? miss : worst;
        usleep(1500);
        read_clocks();
    }
    return worst;
}

static void test_tsc_follows_the_clock(void **state)
{
    (void)state;
    if (pw_tick_choose("") != PW_TICK_TSC)
        skip(); /* the kernel does not trust it either */
    pw_tickmap_init(&map, PW_TICK_TSC, &right);
    assert_int_equal(pw_tickmap_ns(&map, 4711), 4711); /* nothing is known yet */
    read_clocks();
    usleep(1000);
    read_clocks();
    assert_int_equal(map.n, 2);
    int64_t worst = worst_miss(200);
    print_message("off by %lld ns at most\n", (long long)worst);
    assert_in_range(worst, 0, 3000);
    assert_in_range(map.n, 100, 202);
}

/* Readings of a clock whose rate changes in the middle: after the table was thinned out, times of
 * the readings that stayed are exact, and those between them as far off as the curve is bent. */
static void test_decimation(void **state)
{
    (void)state;
    uint64_t now = pw_tick_read(PW_TICK_TSC), base = now - UINT64_C(4096) * 1000000;
    if (pw_tick_read(PW_TICK_TSC) <= now || now < UINT64_C(4096) * 1000000)
        skip(); /* no such clock */
    map.source = PW_TICK_TSC;
    map.n = PW_TICKMAP_KNOTS;
    for (int64_t i = 0; i < PW_TICKMAP_KNOTS; i++) { /* 1 tick a ns, then 2 */
        map.knots[i].ticks = base + (uint64_t)i * 1000000;
        map.knots[i].ns = i < 1001 ? i * 1000000 : 500500000 + i * 500000;
    }
    read_clocks();
    assert_int_equal(map.n, PW_TICKMAP_KNOTS - PW_TICKMAP_KNOTS / 4 + 1);
    for (size_t i = 1; i < map.n; i++)
        assert_true(map.knots[i].ticks > map.knots[i - 1].ticks);
    for (int64_t i = 0; i < PW_TICKMAP_KNOTS - 1; i++) {
        int64_t expected = i < 1001 ? i * 1000000 : 500500000 + i * 500000;
        int64_t got = pw_tickmap_ns(&map, base + (uint64_t)i * 1000000);
        int64_t off = got > expected ? got - expected : expected - got;
        assert_in_range(off, 0, i == 1001 ? 300000 : 2); /* only the bend itself was smoothed */
    }
    assert_int_equal(pw_tickmap_ns(&map, base - 1000000), -1000000); /* before the first */
}

static void test_choose(void **state)
{
    static const char *const dirs[] = {"sys",
                                       "sys/devices",
                                       "sys/devices/system",
                                       "sys/devices/system/clocksource",
                                       "sys/devices/system/clocksource/clocksource0",
                                       "proc"};
    char path[UNIT_PATH], source[UNIT_PATH], cpus[UNIT_PATH];
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
        assert_int_equal(mkdir(unit_path(path, state, dirs[i]), 0700), 0);
    unit_path(source, state, "sys/devices/system/clocksource/clocksource0/current_clocksource");
    unit_path(cpus, state, "proc/cpuinfo");
    assert_int_equal(pw_tick_choose(*state), PW_TICK_RAW); /* nothing known */
    unit_write(source, "tsc\n", 4, 0600);
    assert_int_equal(pw_tick_choose(*state), PW_TICK_RAW);
    unit_write(cpus, "flags\t: fpu constant_tsc\n", 25, 0600); /* it may stop */
    assert_int_equal(pw_tick_choose(*state), PW_TICK_RAW);
    unit_write(cpus, "flags\t: fpu constant_tsc nonstop_tsc\n", 37, 0600);
#if defined(__x86_64__)
    assert_int_equal(pw_tick_choose(*state), PW_TICK_TSC);
    assert_string_equal(pw_tick_name(PW_TICK_TSC), "tsc");
#endif
    unit_write(source, "arch_sys_counter\n", 17, 0600);
#if defined(__aarch64__)
    assert_int_equal(pw_tick_choose(*state), PW_TICK_TSC);
    assert_string_equal(pw_tick_name(PW_TICK_TSC), "cntvct_el0");
#else
    assert_int_equal(pw_tick_choose(*state), PW_TICK_RAW);
#endif
    unit_write(source, "hpet\n", 5, 0600);
    assert_int_equal(pw_tick_choose(*state), PW_TICK_RAW);
}

/* Exchanges are far apart by hand: 1000 ns of time allow 0 ns of drift, rounded up to 1. */
static void test_envelope(void **state)
{
    (void)state;
    struct pw_envelope e = {0};
    struct pw_knot knot;
    assert_int_equal(pw_envelope_knot(&e, &knot), -1);
    pw_envelope_add(&e, 100, 1150, 200); /* offset in [950, 1050] */
    assert_int_equal(pw_envelope_knot(&e, &knot), 0);
    assert_int_equal(knot.local_ns, 150);
    assert_int_equal(knot.offset_ns, 1000);
    assert_int_equal(knot.error_ns, 51); /* half of [950, 1050], and one */
    pw_envelope_add(&e, 300, 1290, 320); /* in [970, 990] */
    assert_int_equal(pw_envelope_knot(&e, &knot), 0);
    assert_int_equal(knot.local_ns, 310); /* the faster exchange is where the offset holds */
    assert_int_equal(knot.offset_ns, 980);
    assert_int_equal(knot.error_ns, 11);
    pw_envelope_add(&e, 0, 5000, 9000); /* a slow one adds nothing */
    pw_envelope_add(&e, 500, 1, 400);   /* nor does an impossible one */
    assert_int_equal(pw_envelope_knot(&e, &knot), 0);
    assert_int_equal(knot.offset_ns, 980);
    pw_envelope_add(&e, 400, 1430, 420); /* in [1009, 1031]: contradicts, the clock has stepped */
    assert_int_equal(pw_envelope_knot(&e, &knot), 0);
    assert_int_equal(knot.offset_ns, 1000);
    assert_int_equal(knot.error_ns, 10); /* half of 991 to 1009, and one */
}

/* Two clocks that part by 100 us/s, the most that is allowed for: exchanges a second apart bound
 * the offset at the faster one. */
static void test_envelope_drift(void **state)
{
    (void)state;
    struct pw_envelope e = {0};
    struct pw_knot knot;
    const int64_t second = 1000000000;
    pw_envelope_add(&e, 0, 50, 100);                               /* [-50, 50] at 50 */
    pw_envelope_add(&e, second, second + 100000 + 5, second + 10); /* [99995, 100005] at s + 5 */
    assert_int_equal(pw_envelope_knot(&e, &knot), 0);
    assert_int_equal(knot.local_ns, second + 5);
    assert_int_equal(knot.offset_ns, 100000); /* its own: the other allows [-100050, 100051] */
    assert_int_equal(knot.error_ns, 6);
}

static void test_envelope_full(void **state)
{
    (void)state;
    struct pw_envelope e = {0};
    struct pw_knot knot;
    for (int i = 0; i < PW_ENVELOPE_EXCHANGES + 8; i++)
        pw_envelope_add(&e, 100 * i, 100 * i + 10, 100 * i + 20);
    assert_int_equal(e.n, PW_ENVELOPE_EXCHANGES);
    assert_int_equal(pw_envelope_knot(&e, &knot), 0);
    assert_int_equal(knot.offset_ns, 0);
}

static void test_test_clock(void **state)
{
    (void)state;
    struct pw_testclock c = {0};
    static const char *const wrong[] = {
        "",      "5",       "5:1",     "5:1:1:1", "5:1:1x",
        "x:1:1", "5:500:0", "5:0:nan", "5:nan:0", "99999999999999999:0:0"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(pw_testclock_parse(wrong[i], &c), -EINVAL);
    assert_false(c.on);
    const int64_t s = 1000000000;
    assert_int_equal(pw_testclock_parse("-5000:0:0", &c), 0);
    assert_int_equal(pw_testclock_warp(&c, 7 * s), 7 * s - 5000);
    assert_int_equal(pw_testclock_parse("0:50:0", &c), 0);
    assert_int_equal(pw_testclock_warp(&c, 60 * s), 60 * s + 3000000);
    /* 1 us/s of wander: 5 s from -1 to 0 us/s are -2.5 us, and it is back after 10 and 20 s. */
    assert_int_equal(pw_testclock_parse("0:0:1", &c), 0);
    assert_int_equal(pw_testclock_warp(&c, 5 * s), 5 * s - 2500);
    assert_int_equal(pw_testclock_warp(&c, 10 * s), 10 * s);
    assert_int_equal(pw_testclock_warp(&c, 15 * s), 15 * s + 2500);
    assert_int_equal(pw_testclock_warp(&c, 40 * s), 40 * s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_is_the_same),
        cmocka_unit_test(test_raw_is_identity),
        cmocka_unit_test(test_tsc_follows_the_clock),
        cmocka_unit_test(test_decimation),
        UNIT_IN_DIR(test_choose),
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_envelope_drift),
        cmocka_unit_test(test_envelope_full),
        cmocka_unit_test(test_test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
