/* When a rank is called slow while a job runs, from steps made by hand. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/alarm.h"

#define MS INT64_C(1000000)

enum { MOST = 16 };

static int64_t own[MOST];

static struct pw_alarm *open_alarm(size_t nranks, double rate, double delta)
{
    const struct pw_alarm_setup setup = {nranks, nranks, rate, delta};
    struct pw_alarm *alarm = malloc(sizeof(*alarm));
    void *memory = malloc(pw_alarm_size(nranks));
    assert_non_null(alarm);
    assert_non_null(memory);
    pw_alarm_init(alarm, &setup, memory);
    return alarm;
}

static void close_alarm(struct pw_alarm *alarm)
{
    free(alarm->ranks);
    free(alarm);
}

static void near(double value, double wanted)
{
    assert_true(fabs(value - wanted) <= 1e-4 * fabs(wanted));
}

/* All ranks work 80 ms of a step of 100 ms, with some noise in us, `slow` works more. */
static size_t make_step(struct pw_alarm *alarm, int64_t step, int slow, double more_ms)
{
    static uint64_t seed = 7;
    for (size_t r = 0; r < alarm->setup.nranks; r++)
        own[r] = 80 * MS + (int64_t)(100e3 * unit_normal(&seed)) +
                 ((int)r == slow ? (int64_t)(more_ms * 1e6) : 0);
    return pw_alarm_step(alarm, step, 100 * MS, own);
}

/* Two ranks have the scores -+0.67449. Of the effect 1: exp(0.67449) = 1.96303 and 0.50942, whose
 * mean is 1.23622, so f is 1.58792 and 0.41208. The budget is 172800 alarms a day x 10 ms / 1 day /
 * 2 ranks = 0.01. The order of the ranks has never changed before; when it has changed once, rho is
 * taken to be 0.5: (1 + 0.5) / (1 - 0.5) = 3 times the variance, so f is multiplied by
 * 1 / 1.23622^2 = 0.65435. */
static void test_evidence_by_hand(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(2, 172800, 0.01);
    const struct pw_alarm_track *low = &alarm->ranks[0].tracks[2];
    const struct pw_alarm_track *high = &alarm->ranks[1].tracks[2];
    own[0] = own[1] = 1000;
    for (int64_t step = 0; step < PW_ALARM_FEWEST; step++)
        assert_int_equal(pw_alarm_step(alarm, step, 10 * MS, own), 0);
    assert_true(high->evidence == 0); /* not judged yet */
    assert_int_equal(alarm->tested, 0);
    own[1] = 1000 + MS; /* delta is 0.1 ms */
    assert_int_equal(pw_alarm_step(alarm, 24, 10 * MS, own), 0);
    near(high->evidence, 0.01 * 1.58792);
    near(low->evidence, 0.01 * 0.41208);
    assert_int_equal(pw_alarm_step(alarm, 25, 10 * MS, own), 0);
    near(high->evidence, (0.01 * 1.58792 + 0.01) * 1.58792 * 0.65435);
    near(high->rise, 1.58792 * 1.58792 * 0.65435);
    assert_int_equal(high->from.step, 23);
    assert_int_equal(alarm->ranks[1].sums.excess_ns, 2 * MS);
    assert_int_equal(alarm->ranks[1].sums.cost_ns, 2 * MS);
    assert_int_equal(alarm->ranks[0].sums.cost_ns, 0);
    assert_int_equal(alarm->tested, 2);
    own[1] = 1000 + MS / 10; /* not more than delta: its place is the last one */
    const double before = high->evidence;
    pw_alarm_step(alarm, 26, 10 * MS, own);
    near(high->evidence, (before + 0.01) * 0.41208 * 0.65435);
    close_alarm(alarm);
}

/* The mean of f over the places is 1 for any number of ranks and effect. */
static void test_mean_of_e_values(void **state)
{
    (void)state;
    for (size_t n = 2; n <= MOST; n++) {
        struct pw_alarm *alarm = open_alarm(n, 1, 0);
        make_step(alarm, 0, -1, 0);
        for (size_t e = 0; e < PW_ALARM_EFFECTS; e++) {
            const size_t places = n < 3 ? n : n - 1;
            double sum = 0;
            assert_int_equal(alarm->peers.n, places);
            for (size_t k = 0; k < places; k++)
                sum += alarm->peers.f[e * places + k];
            near(sum, (double)places);
        }
        close_alarm(alarm);
    }
}

static void test_begin_and_end(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(8, 0.01, PW_ALARM_DELTA);
    int64_t step = 0;
    for (; step < 500; step++)
        assert_int_equal(make_step(alarm, step, -1, 0), 0);
    while (!make_step(alarm, step++, 3, 5))
        assert_true(step < 540); /* ln(5 x 8 x 864000 / 0.01) / ln 8 is 10.6 */
    const struct pw_alarm_rank *rank = &alarm->ranks[3];
    assert_int_equal(rank->change, PW_ALARM_BEGUN);
    assert_true(rank->is_slow);
    assert_int_equal(rank->from.step, 499);
    assert_true(fabs(pw_alarm_excess_ns(rank) - 5e6) < 0.2e6);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(make_step(alarm, step++, 3, 5), 0);
    const double cost = rank->sums.cost_ns - rank->from.cost_ns;
    assert_true(cost > 4.5e6 * 1000 && cost < 5.2e6 * 1020);
    const int64_t until = step + 40;
    while (!make_step(alarm, step++, -1, 0))
        assert_true(step < until);
    assert_int_equal(rank->change, PW_ALARM_ENDED);
    assert_false(rank->is_slow);
    for (int i = 0; i < 500; i++)
        assert_int_equal(make_step(alarm, step++, -1, 0), 0);
    assert_false(alarm->is_uncalibrated);
    close_alarm(alarm);
}

static void test_two_ranks_are_uncalibrated(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(2, 0.01, PW_ALARM_DELTA);
    own[0] = own[1] = 80 * MS;
    for (int64_t step = 0; step < 100; step++)
        assert_int_equal(pw_alarm_step(alarm, step, 100 * MS, own), 0);
    assert_true(alarm->is_uncalibrated);
    close_alarm(alarm);
}

/* A rank that always has 0.8 % of a step more than the others is none to be named, even at a rate
 * of 1000 alarms a day; one with 1.5 % is. */
static void test_less_than_delta(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(8, 1000, PW_ALARM_DELTA);
    for (int64_t step = 0; step < 20000; step++)
        assert_int_equal(make_step(alarm, step, 5, 0.5), 0);
    int64_t step = 20000;
    while (!make_step(alarm, step++, 5, 1.5))
        assert_true(step < 20100);
    assert_int_equal(alarm->ranks[5].change, PW_ALARM_BEGUN);
    close_alarm(alarm);
}

/* Rank 0 has less work than all others, which are not slow for that. */
static void test_fast_rank(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(8, 1, PW_ALARM_DELTA);
    int64_t step = 0;
    for (; step < 20000; step++)
        assert_int_equal(make_step(alarm, step, 0, -20), 0);
    for (int r = 0; r < 8; r++)
        own[r] = (r ? 80 : 60) * MS + (r == 4 ? 5 * MS : r);
    while (!pw_alarm_step(alarm, step++, 100 * MS, own))
        assert_true(step < 20100);
    assert_int_equal(alarm->ranks[4].change, PW_ALARM_BEGUN);
    close_alarm(alarm);
}

/* In a small job with much noise one rank has less work: that the others have more than it is no
 * slowness. */
static void test_one_light_rank_of_few(void **state)
{
    (void)state;
    for (size_t n = 3; n <= 6; n++) {
        struct pw_alarm *alarm = open_alarm(n, 0.01, PW_ALARM_DELTA);
        uint64_t seed = 11;
        for (int64_t step = 0; step < 10000; step++) {
            for (size_t r = 0; r < n; r++)
                own[r] = (r ? 80 : 70) * MS + (int64_t)(3e6 * unit_normal(&seed));
            assert_int_equal(pw_alarm_step(alarm, step, 100 * MS, own), 0);
        }
        close_alarm(alarm);
    }
}

/* Work that grows with the rank: not more than half of the ranks are in alarms. */
static void test_unequal_work(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(8, 0.01, PW_ALARM_DELTA);
    size_t slow = 0;
    for (int64_t step = 0; step < 2000; step++) {
        for (int r = 0; r < 8; r++)
            own[r] = (60 + 3 * r) * MS;
        pw_alarm_step(alarm, step, 100 * MS, own);
    }
    for (int r = 0; r < 8; r++)
        slow += alarm->ranks[r].is_slow != 0;
    assert_true(slow >= 1 && slow <= 4);
    assert_int_equal(alarm->nslow, slow);
    close_alarm(alarm);
}

/* One slow rank of two: the other one is no peer of its own afterwards. */
static void test_two_ranks(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(2, 0.01, PW_ALARM_DELTA);
    int64_t step = 0;
    while (!make_step(alarm, step++, 1, 5))
        assert_true(step < 200);
    assert_true(alarm->ranks[1].is_slow && !alarm->ranks[0].is_slow);
    for (int i = 0; i < 200; i++)
        assert_int_equal(make_step(alarm, step++, 1, 5), 0);
    const int64_t until = step + 100;
    while (!make_step(alarm, step++, -1, 0))
        assert_true(step < until);
    assert_false(alarm->ranks[1].is_slow);
    close_alarm(alarm);
}

/* With delta 0 the mean number of alarms is at most rate x time. Here 20 are expected at most; a
 * Poisson distribution with that mean exceeds 35 with a chance of 0.001. Since evidence is above 1
 * when it makes an alarm, there are fewer. */
static void test_rate_of_false_alarms(void **state)
{
    (void)state;
    enum { STEPS = 100000 };
    struct pw_alarm *alarm = open_alarm(8, 20 * 86400 / (0.1 * STEPS), 0);
    size_t begun = 0;
    for (int64_t step = 0; step < STEPS; step++) {
        make_step(alarm, step, 0, -20); /* the others are equal */
        for (int r = 0; r < 8; r++)
            begun += alarm->ranks[r].change == PW_ALARM_BEGUN;
    }
    assert_true(begun >= 1 && begun <= 35);
    assert_int_equal(alarm->block, 1);
    close_alarm(alarm);
}

/* Noise that stays: more steps are added up. A sum of 32 steps with the correlation r = 0.95 from
 * step to step has the variance 32 (1 + r) / (1 - r) - 2 r (1 - r^32) / (1 - r)^2 = 635, and with
 * the next sum the covariance r (1 - r^32)^2 / (1 - r)^2 = 247: rho is 0.39. */
static void test_dependence(void **state)
{
    (void)state;
    uint64_t seed = 11;
    double noise[8] = {0};
    struct pw_alarm *alarm = open_alarm(8, 0.01, PW_ALARM_DELTA);
    for (int64_t step = 0; step < 60000; step++) {
        for (int r = 0; r < 8; r++) {
            noise[r] = 0.95 * noise[r] + sqrt(1 - 0.9025) * unit_normal(&seed);
            own[r] = 80 * MS + (int64_t)(3e6 * noise[r]);
        }
        assert_int_equal(pw_alarm_step(alarm, step, 100 * MS, own), 0);
    }
    assert_int_equal(alarm->block, PW_ALARM_BLOCK);
    const double rho = 1 - alarm->dependence.all_near / alarm->dependence.all_far;
    assert_true(rho > 0.29 && rho < 0.45);
    assert_true(alarm->is_uncalibrated);
    close_alarm(alarm);
}

static void test_missing(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(4, 0.01, PW_ALARM_DELTA);
    for (int r = 0; r < 4; r++)
        own[r] = -1;
    for (int64_t step = 0; step < 20; step++)
        assert_int_equal(pw_alarm_step(alarm, step, 100 * MS, own), 0);
    assert_int_equal(alarm->tested, 0);
    assert_true(pw_alarm_delay(alarm, 0.05) < 0);
    for (int64_t step = 20; step < 2000; step++) {
        make_step(alarm, step, -1, 0);
        own[0] = own[1] = own[2] = -1; /* no peers */
        assert_int_equal(pw_alarm_step(alarm, step, 100 * MS, own), 0);
    }
    for (int64_t step = 2000; step < 2500; step++) { /* rank 2 is gone; rank 3 becomes slow */
        for (int r = 0; r < 4; r++)
            own[r] = r == 2 ? -1 : 80 * MS + (r == 3 ? 9 * MS : r);
        pw_alarm_step(alarm, step, 100 * MS, own);
    }
    assert_true(alarm->ranks[3].is_slow);
    assert_int_equal(alarm->ranks[3].sums.steps, 1980 + 500);
    assert_int_equal(alarm->ranks[2].sums.steps, 1980);
    close_alarm(alarm);
}

/* Equal work everywhere: nobody is slow, and no place is above another. */
static void test_ties(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(4, 1e4, 0);
    for (int r = 0; r < 4; r++)
        own[r] = 80 * MS;
    for (int64_t step = 0; step < 5000; step++)
        assert_int_equal(pw_alarm_step(alarm, step, 100 * MS, own), 0);
    close_alarm(alarm);
}

/* A spread of 1 ms, a step of 100 ms: an excess of 4 % exceeds delta by 3 sigma, which grows by
 * more than ln 8 a step. */
static void test_delay(void **state)
{
    (void)state;
    struct pw_alarm *alarm = open_alarm(8, 0.01, PW_ALARM_DELTA);
    make_step(alarm, 0, -1, 0);
    alarm->spread_ns = 1e6;
    alarm->dependence = (struct pw_alarm_dependence){.blocks = 100}; /* rho is 0 */
    const double size = log(5 / (0.01 * 0.1 / 86400 / 8));           /* 22.0 */
    near(pw_alarm_delay(alarm, 0.04), ceil(size / log(7)));
    near(pw_alarm_delay(alarm, 0.02), ceil(size / 0.5));
    assert_true(pw_alarm_delay(alarm, 0.01) < 0);
    close_alarm(alarm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evidence_by_hand),
        cmocka_unit_test(test_mean_of_e_values),
        cmocka_unit_test(test_begin_and_end),
        cmocka_unit_test(test_less_than_delta),
        cmocka_unit_test(test_one_light_rank_of_few),
        cmocka_unit_test(test_unequal_work),
        cmocka_unit_test(test_two_ranks),
        cmocka_unit_test(test_rate_of_false_alarms),
        cmocka_unit_test(test_dependence),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_fast_rank),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_two_ranks_are_uncalibrated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
