/* Alarms from the answers of collectors, made by hand: which steps are compared, and what is said
 * of them. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/tables.h"
#include "report/live/livealarm.h"

#define MS INT64_C(1000000)

enum { RANKS = 4, SLOW = 2, NOW = 1000 };

static struct pw_live lives[RANKS];
static struct pw_live_step rows[RANKS][PW_LIVE_STEPS];
static uint64_t seed = 5;

/* Rank r answers with the steps first to last: 50 ms forward, 30 ms backward, and MPI to the end of
 * the step of 100 ms; SLOW has `more_ms` more in backward. */
static void answer(int r, int64_t first, int64_t last, double more_ms)
{
    lives[r] = (struct pw_live){.rank = r,
                                .world_size = RANKS,
                                .step = last + 1,
                                .last_steps = rows[r],
                                .nlast_steps = (size_t)(last - first + 1)};
    snprintf(lives[r].hostname, sizeof(lives[r].hostname), "node%d", r / 2);
    for (int64_t s = first; s <= last; s++) {
        const int64_t noise = (int64_t)(200e3 * unit_normal(&seed));
        const int64_t more = r == SLOW ? (int64_t)(more_ms * 1e6) : 0;
        rows[r][s - first] = (struct pw_live_step){
            s, 100 * MS, 20 * MS - noise - more, {0, 50 * MS, 30 * MS + noise + more, 0, 0}};
    }
}

/* The counters until the step `last`: on a CPU for 80 ms of a step, SLOW for 5 ms less, and asleep
 * else. The ranks spin while they wait, so of SLOW's 100 ms the 85 % that are own work count: 21 ms
 * asleep, 5 more than the others. */
static void count(int r, int64_t last)
{
    lives[r].usage =
        (struct pw_live_usage){.samples = last, .cpu_ns = last * (r == SLOW ? 75 : 80) * MS};
}

static void answer_all(int64_t first, int64_t last, double more_ms)
{
    for (int r = 0; r < RANKS; r++)
        answer(r, first, last, more_ms);
    for (int r = 0; r < RANKS; r++)
        count(r, last);
}

static const char *state_of(const struct pw_livealarms *alarms, time_t now)
{
    static char text[256];
    const struct pw_livealarms_state state = pw_livealarms_state(alarms, now);
    return pw_livealarms_state_text(&state, text, sizeof(text));
}

static void test_begin_and_end(void **state)
{
    (void)state;
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    char text[256];
    size_t n;
    assert_non_null(alarms);
    assert_int_equal(pw_livealarms_after(alarms), -1);
    assert_string_equal(state_of(alarms, NOW),
                        "cannot tell: no step of two ranks or more has been compared");
    for (int i = 0; i < 20; i++) {
        answer_all(100 + 10 * i, 109 + 10 * i, 0);
        assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + i), 0);
        assert_int_equal(pw_livealarms_after(alarms), 109 + 10 * i);
    }
    assert_non_null(strstr(state_of(alarms, NOW + 19),
                           "none in 176 steps; 2 % of a step more work would show after "));
    assert_string_equal(state_of(alarms, NOW + 80), "cannot tell: no steps for 61 s");
    answer_all(300, 349, 5);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 20), 1);
    const struct pw_livealarm *alarm = pw_livealarms_borrow(alarms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(alarm->rank, SLOW);
    assert_int_equal(alarm->phase, PW_PHASE_BACKWARD);
    assert_int_equal(alarm->first, 300);
    assert_int_equal(alarm->last, 349);
    assert_int_equal(alarm->begun, NOW + 20);
    assert_true(alarm->excess_ns > 4.8e6 && alarm->excess_ns < 5.2e6);
    assert_true(alarm->cost_ns > 50 * 4.5e6 && alarm->cost_ns < 50 * 5.5e6);
    pw_livealarm_text(alarm, text, sizeof(text));
    assert_non_null(strstr(text, "rank 2 on node1 is slow in backward since step 300"));
    pw_livealarm_figures(alarm, text, sizeof(text));
    assert_non_null(strstr(text, " ms more than the others in a step of 100 ms; cost so far "));
    answer_all(350, 399, 5);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 21), 0);
    pw_livealarm_figures(alarm, text, sizeof(text));
    assert_non_null(strstr(text, "; cause: blocked off the CPU"));
    answer_all(400, 449, 0);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 22), 1);
    alarm = pw_livealarms_borrow(alarms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(alarm->ended, NOW + 22);
    pw_livealarm_text(alarm, text, sizeof(text));
    assert_non_null(strstr(text, "rank 2 on node1 was slow in backward in steps 300-4"));
    pw_livealarm_figures(alarm, text, sizeof(text));
    assert_non_null(strstr(text, " ms; cost 4")); /* the next rank has some noise */
    pw_livealarms_destroy(alarms);
}

/* An alarm is told once it has a cause, or some seconds old, and once more when it has ended. */
static void test_what_is_told(void **state)
{
    (void)state;
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    answer_all(0, 199, 0);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW), 0);
    answer_all(200, 249, 5);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 1), 1);
    assert_null(pw_livealarms_tell(alarms, NOW + 1));
    assert_null(pw_livealarms_tell(alarms, NOW + 5));
    const struct pw_livealarm *alarm = pw_livealarms_tell(alarms, NOW + 6);
    assert_non_null(alarm);
    json_t *object = pw_livealarm_json(alarm, "a line");
    assert_string_equal(json_string_value(json_object_get(object, "event")), "slow_rank");
    assert_string_equal(json_string_value(json_object_get(object, "text")), "a line");
    assert_int_equal(json_integer_value(json_object_get(object, "rank")), SLOW);
    assert_string_equal(json_string_value(json_object_get(object, "phase")), "backward");
    assert_int_equal(json_integer_value(json_object_get(object, "first_step")), 200);
    assert_int_equal(json_integer_value(json_object_get(object, "time")), NOW + 1);
    assert_true(json_is_true(json_object_get(object, "is_calibrated")));
    json_decref(object);
    assert_null(pw_livealarms_tell(alarms, NOW + 60));
    answer_all(250, 349, 0);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 61), 1);
    alarm = pw_livealarms_tell(alarms, NOW + 61);
    object = pw_livealarm_json(alarm, "");
    assert_string_equal(json_string_value(json_object_get(object, "event")), "over");
    assert_int_equal(json_integer_value(json_object_get(object, "time")), NOW + 61);
    json_decref(object);
    assert_null(pw_livealarms_tell(alarms, NOW + 90));
    pw_livealarms_destroy(alarms);
}

/* The program counts its steps anew, and its first step takes long: the steps of before are not
 * compared again. */
static void test_old_numbers(void **state)
{
    (void)state;
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    size_t n;
    answer_all(0, 199, 5);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW), 1);
    for (int look = 0; look < 5; look++) {
        for (int r = 0; r < RANKS; r++)
            lives[r].step = 0;
        assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 1 + look), 0);
    }
    pw_livealarms_borrow(alarms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(pw_livealarms_after(alarms), -1);
    answer_all(0, 0, 5);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 7), 0);
    assert_int_equal(pw_livealarms_after(alarms), 0);
    pw_livealarms_destroy(alarms);
}

/* Who looks at a job that has been slow for long learns the cause as well. */
static void test_cause_after_a_late_begin(void **state)
{
    (void)state;
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    char text[256];
    size_t n;
    answer_all(1000, 1199, 5);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW), 1);
    answer_all(1200, 1249, 5);
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW + 1), 0);
    const struct pw_livealarm *alarm = pw_livealarms_borrow(alarms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(alarm->phase, PW_PHASE_BACKWARD);
    pw_livealarm_figures(alarm, text, sizeof(text));
    assert_non_null(strstr(text, "; cause: blocked off the CPU"));
    pw_livealarms_destroy(alarms);
}

/* A step is compared when all ranks that answer have it; one that does not answer is not waited
 * for, and is not known. */
static void test_ranks_apart(void **state)
{
    (void)state;
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    answer_all(0, 9, 0);
    answer(1, 0, 4, 0);
    pw_livealarms_take(alarms, lives, RANKS, NOW);
    assert_int_equal(pw_livealarms_after(alarms), 4);
    assert_string_equal(state_of(alarms, NOW),
                        "cannot tell yet: the noise of 5 steps was measured");
    answer_all(5, 9, 0);
    pw_livealarms_take(alarms, lives, RANKS, NOW);
    assert_int_equal(pw_livealarms_after(alarms), 9);
    answer_all(10, 59, 0);
    pw_livealarms_take(alarms, lives, RANKS - 1, NOW);
    assert_int_equal(pw_livealarms_after(alarms), 59);
    assert_int_equal(pw_livealarms_state(alarms, NOW).tested, 60 - 24); /* 24 are measured only */
    pw_livealarms_take(alarms, lives, 0, NOW);                          /* nobody answers */
    assert_int_equal(pw_livealarms_after(alarms), 59);
    for (int r = 0; r < RANKS; r++) /* more steps than are kept */
        answer(r, 1000, 1000 + PW_LIVE_STEPS - 1, 0);
    pw_livealarms_take(alarms, lives, RANKS, NOW);
    assert_int_equal(pw_livealarms_after(alarms), 1000 + PW_LIVE_STEPS - 1);
    pw_livealarms_destroy(alarms);
}

/* The program counts its steps anew, or has more ranks. */
static void test_anew(void **state)
{
    (void)state;
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    size_t n;
    for (int i = 0; i < 6; i++) {
        answer_all(100 + 50 * i, 149 + 50 * i, i > 3 ? 5 : 0);
        pw_livealarms_take(alarms, lives, RANKS, NOW);
    }
    const struct pw_livealarm *alarm = pw_livealarms_borrow(alarms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(alarm->ended, 0);
    answer_all(5, 4, 0); /* in step 5 now, and has sent no step */
    pw_livealarms_take(alarms, lives, RANKS, NOW + 1);
    assert_int_equal(alarm->ended, NOW + 1);
    assert_int_equal(pw_livealarms_after(alarms), -1);
    answer_all(0, 9, 0);
    pw_livealarms_take(alarms, lives, RANKS, NOW + 2);
    assert_int_equal(pw_livealarms_after(alarms), 9);
    lives[0].world_size = RANKS + 1;
    pw_livealarms_take(alarms, lives, RANKS, NOW + 3);
    assert_int_equal(pw_livealarms_after(alarms), -1);
    pw_livealarms_destroy(alarms);
}

/* Without communication, ranks that wait for each other have equal steps. */
static void test_silent(void **state)
{
    (void)state;
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    answer_all(0, 99, 0);
    for (int r = 0; r < RANKS; r++)
        for (int s = 0; s < 100; s++)
            rows[r][s].mpi_ns = 0;
    pw_livealarms_take(alarms, lives, RANKS, NOW);
    assert_string_equal(state_of(alarms, NOW),
                        "cannot tell: no communication was recorded in the last steps");
    answer_all(100, 199, 0); /* MPI of one rank is not recorded: nothing is said of that rank */
    lives[SLOW].unrecorded = PW_UNRECORDED_BYPASSED;
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, NOW), 0);
    assert_int_equal(pw_livealarms_state(alarms, NOW).tested, 100 - 24);
    pw_livealarms_destroy(alarms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begin_and_end), cmocka_unit_test(test_what_is_told),
        cmocka_unit_test(test_old_numbers),   cmocka_unit_test(test_cause_after_a_late_begin),
        cmocka_unit_test(test_ranks_apart),   cmocka_unit_test(test_anew),
        cmocka_unit_test(test_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
