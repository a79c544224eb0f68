/* What a collector tells of the last steps: how long, how much of it inside MPI, of how many. */
#include "unit.h"

#include "core/tables.h"
#include "rank/collect/pace.h"

static struct pw_live live;

static void mark(struct pw_pace *pace, int ring, int64_t step, int64_t at, int flags)
{
    const struct pw_record record = {
        .type = PW_REC_STEP, .flags = (uint8_t)flags, .step.step = step};
    const struct pw_origin origin = {.start = at, .end = at};
    pw_pace_record(pace, ring, &record, &origin);
}

/* One tick is 2 ns. */
static void call(struct pw_pace *pace, int ring, int64_t start, int64_t end, uint32_t begun)
{
    const struct pw_record record = {
        .type = PW_REC_COMM,
        .flags = begun ? PW_FLAG_NONBLOCKING : 0,
        .start = (uint64_t)start / 2,
        .end = (uint64_t)end / 2,
        .comm.begun = begun,
    };
    const struct pw_origin origin = {.start = start, .end = end};
    pw_pace_record(pace, ring, &record, &origin);
}

static void tell(const struct pw_pace *pace)
{
    live = (struct pw_live){.step_last_ns = -1, .step_mean_ns = -1, .step_mpi_ns = -1};
    pw_pace_live(pace, &live);
}

static void test_steps(void **state)
{
    static struct pw_pace pace;
    (void)state;
    tell(&pace);
    assert_int_equal(live.steps, 0);
    assert_int_equal(live.step_mean_ns, -1);
    mark(&pace, 0, 0, 1000, 0);
    call(&pace, 0, 1100, 1400, 0);
    call(&pace, 1, 1100, 1900, 0); /* of another thread: in the total only */
    mark(&pace, 0, 1, 2000, 0);
    call(&pace, 0, 2000, 4000, 2); /* 32 ticks in the call that began it */
    mark(&pace, 0, 2, 5000, 0);
    tell(&pace);
    assert_int_equal(live.steps, 2);
    assert_int_equal(live.steps_ns, 4000);
    assert_int_equal(live.step_last_ns, 3000);
    assert_int_equal(live.step_mean_ns, 2000);
    assert_int_equal(live.step_mpi_ns, (300 + 64) / 2);
    assert_int_equal(live.mpi_ns, 300 + 800 + 64);
    mark(&pace, 0, -1, 5500, 0); /* ends it, begins none */
    mark(&pace, 0, 8, 6000, 0);
    mark(&pace, 0, -1, 8000, PW_STEP_CANCEL); /* it was none */
    mark(&pace, 0, 9, 9000, 0);
    tell(&pace);
    assert_int_equal(live.steps, 3);
    assert_int_equal(live.step_last_ns, 500);
}

/* The mean is of the last ones. */
/* The call that begins an operation of a PyTorch process group and the wait for it are inside
 * communication; that it ended, on another thread, is not. */
static void test_process_groups(void **state)
{
    static struct pw_pace pace;
    static const struct {
        enum pw_record_type type;
        int64_t start, end;
    } records[] = {{PW_REC_TORCH_CALL, 1100, 1110},
                   {PW_REC_TORCH_DONE, 1150, 1400},
                   {PW_REC_TORCH_WAIT, 1200, 1450}};
    (void)state;
    mark(&pace, 0, 0, 1000, 0);
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        const struct pw_record record = {.type = (uint8_t)records[i].type};
        const struct pw_origin origin = {.start = records[i].start, .end = records[i].end};
        pw_pace_record(&pace, 0, &record, &origin);
    }
    mark(&pace, 0, 1, 2000, 0);
    tell(&pace);
    assert_int_equal(live.step_mpi_ns, 10 + 250);
}

static void phase(struct pw_pace *pace, int ring, int number, int64_t start, int64_t end)
{
    const struct pw_origin origin = {.start = start, .end = end};
    pw_pace_phase(pace, ring, number, &origin);
}

/* A phase is recorded when it ends. Calls inside it are no own work of it; calls before it are not
 * inside it. */
static void test_phases(void **state)
{
    static struct pw_pace pace;
    struct pw_live_step steps[PW_LIVE_STEPS];
    (void)state;
    mark(&pace, 0, 7, 1000, 0);
    phase(&pace, 0, PW_PHASE_DATA, 1000, 1100);
    call(&pace, 0, 1100, 1150, 0); /* between two phases */
    call(&pace, 0, 1210, 1240, 0);
    call(&pace, 1, 1200, 1300, 0); /* of another thread */
    phase(&pace, 0, PW_PHASE_FORWARD, 1200, 1300);
    phase(&pace, 1, PW_PHASE_OPTIMIZER, 1200, 1300);
    phase(&pace, 0, PW_PHASE_OPTIMIZER + 1, 1300, 1400);
    phase(&pace, 0, PW_PHASE_FORWARD, 1300, 1350); /* once more */
    call(&pace, 0, 1360, 1400, 0);
    phase(&pace, 0, PW_PHASE_ALLREDUCE, 1350, 1410);
    mark(&pace, 0, 8, 2000, 0);
    mark(&pace, 0, -1, 2100, 0);
    assert_int_equal(pw_pace_steps(&pace, -1, steps), 2);
    assert_int_equal(steps[0].step, 7);
    assert_int_equal(steps[0].ns, 1000);
    assert_int_equal(steps[0].mpi_ns, 50 + 30 + 40);
    const int64_t wanted[PW_LIVE_PHASES] = {100, 70 + 50, 0, 20, 0};
    assert_memory_equal(steps[0].phase_ns, wanted, sizeof(wanted));
    assert_int_equal(steps[1].step, 8);
    assert_int_equal(steps[1].phase_ns[0], 0);
    assert_int_equal(pw_pace_steps(&pace, 7, steps), 1);
    assert_int_equal(steps[0].step, 8);
    assert_int_equal(pw_pace_steps(&pace, 8, steps), 0);
}

/* Only the last steps are kept, and none from before their numbers began anew. */
static void test_last_steps(void **state)
{
    static struct pw_pace pace;
    struct pw_live_step steps[PW_LIVE_STEPS];
    (void)state;
    for (int i = 0; i < 1000; i++)
        mark(&pace, 0, i, 10 * i, 0);
    assert_int_equal(pw_pace_steps(&pace, -1, steps), PW_LIVE_STEPS);
    assert_int_equal(steps[0].step, 999 - PW_LIVE_STEPS);
    assert_int_equal(steps[PW_LIVE_STEPS - 1].step, 998);
    for (int i = 0; i < 3; i++)
        mark(&pace, 0, i, 10000 + 10 * i, 0);
    assert_int_equal(pw_pace_steps(&pace, -1, steps), 2);
    assert_int_equal(steps[0].step, 0);
    assert_int_equal(pw_pace_steps(&pace, 500, steps), 0);
}

static void test_old_steps_go(void **state)
{
    static struct pw_pace pace;
    int64_t at = 0;
    (void)state;
    for (int i = 0; i < 100; i++, at += 1000)
        mark(&pace, 0, i, at, 0);
    for (int i = 100; i < 100 + PW_PACE_STEPS; i++, at += 10)
        mark(&pace, 0, i, at, 0);
    mark(&pace, 0, -1, at, 0);
    tell(&pace);
    assert_int_equal(live.steps, 100 + PW_PACE_STEPS);
    assert_int_equal(live.step_mean_ns, 10);
}

/* A step that is not recorded whole counts as one, and says nothing of how long they are. */
static void test_partial(void **state)
{
    static struct pw_pace pace;
    (void)state;
    mark(&pace, 0, 0, 0, 0);
    mark(&pace, 0, 1, 100, 0);
    mark(&pace, 0, 1, 150, PW_STEP_PARTIAL);
    mark(&pace, 0, 2, 9100, 0);
    tell(&pace);
    assert_int_equal(live.steps, 2);
    assert_int_equal(live.step_mean_ns, 100);
}

static void test_arbitrary_times_are_survived(void **state)
{
    static const int64_t times[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1000};
    static struct pw_pace pace;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        call(&pace, i % 3, times[i % 6], times[i / 6 % 6], (uint32_t)i % 2 * UINT32_MAX);
        mark(&pace, i % 2, times[i / 7 % 6], times[i / 36 % 6], i % 4);
    }
    phase(&pace, 1, PW_PHASE_DATA, INT64_MIN, INT64_MAX);
    struct pw_live_step steps[PW_LIVE_STEPS];
    const size_t n = pw_pace_steps(&pace, -1, steps);
    for (size_t i = 0; i < n; i++)
        assert_true(steps[i].mpi_ns >= 0 && steps[i].mpi_ns <= steps[i].ns);
    tell(&pace);
    assert_true(live.steps >= 0 && live.steps_ns >= 0 && live.mpi_ns >= 0);
    assert_true(live.step_mpi_ns >= 0 && live.step_mpi_ns <= live.step_mean_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_process_groups),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_last_steps),
        cmocka_unit_test(test_old_steps_go),
        cmocka_unit_test(test_partial),
        cmocka_unit_test(test_arbitrary_times_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
