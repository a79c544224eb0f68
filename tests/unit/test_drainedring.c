/* When records can stay in a ring: how the drain sees that it fills, and what it takes when the
 * program wakes the collector before its time. */
#include "unit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ops.h"
#include "rank/collect/drainedring.h"
#include "test_drain_bench.h"

#define MS INT64_C(1000000)

enum { RING = 4096, LARGE = 32768 };

static int setup(void **state)
{
    static const struct pw_module none[] = {{.name = NULL}};
    return bench_create_of(state, none, PW_ACTIVITY_ANNOTATIONS, RING);
}

static int setup_large(void **state)
{
    static const struct pw_module none[] = {{.name = NULL}};
    return bench_create_of(state, none, PW_ACTIVITY_ANNOTATIONS, LARGE);
}

static void write_records(struct bench *b, int ring, int n)
{
    const struct pw_record record = {.type = PW_REC_RANGE, .start = 1, .end = 2};
    for (int i = 0; i < n; i++)
        bench_put(b, ring, &record);
}

/* A drain that has looked at the rings long before the program writes into them. */
static struct bench *start(void **state)
{
    struct bench *b = *state;
    pw_drain_run(b->drain);
    usleep(200000);
    return b;
}

static uint64_t tail_of(struct bench *b, int ring)
{
    return atomic_load(&b->rings[ring].shared->tail);
}

static void test_few_records_stay(void **state)
{
    struct bench *b = start(state);
    write_records(b, 0, RING / 8 * 7 - 1);
    assert_int_equal(pw_drain_relieve(b->drain), 0);
    assert_int_equal(tail_of(b, 0), 0);
    assert_false(pw_drain_must_go_on(b->drain));
    assert_int_equal(pw_drain_run(b->drain), RING / 8 * 7 - 1);
    assert_int_equal(tail_of(b, 0), RING / 8 * 7 - 1);
    assert_int_equal(pw_journal_position(b->journal, 0), RING / 8 * 7 - 1);
}

/* A thread that begins has its ring's number before the ring's memory. */
static void test_a_ring_without_memory_is_passed_over(void **state)
{
    struct bench *b = start(state);
    atomic_store(&b->segment->nrings, 4); /* the third has been made ready */
    write_records(b, 0, 100);
    assert_int_equal(pw_drain_relieve(b->drain), 0);
    assert_int_equal(pw_drain_run(b->drain), 100);
    assert_int_equal(pw_segment_allocate_ring(b->name, b->segment, 3), 0);
    assert_int_equal(pw_drain_relieve(b->drain), 0);
}

/* An eighth of the ring stays free, and what is taken is in the journal. */
static void test_an_eighth_stays_free(void **state)
{
    struct bench *b = start(state);
    write_records(b, 0, RING / 8 * 7 + 100);
    write_records(b, 1, 100);
    assert_int_equal(pw_drain_relieve(b->drain), 100 + RING / PW_RING_STEP_FULL);
    assert_int_equal(tail_of(b, 0), 100 + RING / PW_RING_STEP_FULL);
    assert_int_equal(pw_journal_position(b->journal, 0), tail_of(b, 0));
    assert_int_equal(tail_of(b, 1), 0);
    assert_int_equal(pw_drain_run(b->drain), RING / 8 * 7 - RING / PW_RING_STEP_FULL + 100);
}

static void test_all_leave_a_ring_with_little_room(void **state)
{
    struct bench *b = start(state);
    write_records(b, 0, RING / 16 * 15 + 1);
    write_records(b, 1, 100);
    assert_int_equal(pw_drain_relieve(b->drain), RING / 16 * 15 + 1 + 100);
    assert_int_equal(tail_of(b, 0), RING / 16 * 15 + 1);
    assert_int_equal(tail_of(b, 1), 100);
}

/* A /proc whose cores are never idle. */
static void use_all_cores(struct bench *b)
{
    void *dir = b->dir;
    char path[UNIT_PATH];
    mkdir(unit_path(path, &dir, "proc"), 0700);
    FILE *file = fopen(unit_path(path, &dir, "proc/stat"), "w");
    assert_non_null(file);
    for (int core = 0; core < CPU_SETSIZE; core++)
        fprintf(file, "cpu%d 1 0 3 0 0 6 7 8 9 10\n", core);
    fclose(file);
    pw_drain_spare_core(b->drain, b->dir);
}

/* While the program needs all cores, many records stay in a ring for a second, although it is time
 * to read it. */
static void test_records_stay_while_all_cores_are_used(void **state)
{
    struct bench *b = *state;
    use_all_cores(b);
    const int64_t emptied_ns = pw_local_ns();
    pw_drain_run(b->drain);
    usleep(200000);
    write_records(b, 0, LARGE / 4);
    int64_t taken = pw_drain_run(b->drain), after_ns = pw_local_ns() - emptied_ns;
    assert_true(taken == 0 || after_ns > 1000 * MS);
    assert_false(pw_drain_must_go_on(b->drain));
    while (taken == 0) {
        usleep(100000);
        taken = pw_drain_run(b->drain);
    }
    assert_int_equal(taken, LARGE / 4);
    assert_true(pw_local_ns() - emptied_ns >= 1000 * MS);
    assert_int_equal(pw_journal_position(b->journal, 0), LARGE / 4);
}

/* An answer to `profwrap ctl status` tells of the records that stayed in the rings. */
static void test_answers_have_all_records(void **state)
{
    struct bench *b = start(state);
    struct pw_live live = {0};
    write_records(b, 0, RING / 3);
    assert_int_equal(pw_drain_relieve(b->drain), 0);
    assert_int_equal(pw_drain_live(b->drain, &live), 0);
    assert_int_equal(live.events, RING / 3);
    pw_live_fini(&live);
}

static struct pw_drained_ring ring_of(struct pw_ring_shared *shared)
{
    memset(shared, 0, sizeof(*shared));
    return (struct pw_drained_ring){.shared = shared, .records = RING};
}

/* At the pace since the last look, there is room for 8 ms or more. */
static void test_pace_tells_whether_to_hurry(void **state)
{
    static struct pw_ring_shared shared;
    struct pw_drained_ring ring = ring_of(&shared);
    (void)state;
    assert_false(pw_drainedring_look(&ring, 100 * MS));
    atomic_store(&shared.head, RING / 2);
    assert_false(pw_drainedring_look(&ring, 109 * MS));
    ring = ring_of(&shared);
    assert_false(pw_drainedring_look(&ring, 100 * MS));
    atomic_store(&shared.head, RING / 2);
    assert_true(pw_drainedring_look(&ring, 107 * MS));
    assert_true(pw_drainedring_look(&ring, 1106 * MS)); /* another burst may come */
    assert_false(pw_drainedring_look(&ring, 1108 * MS));
    atomic_store(&shared.tail, ring.tail = RING / 2);
    atomic_store(&shared.head, RING / 2 + RING / 5);
    assert_false(pw_drainedring_look(&ring, 1109 * MS)); /* fast, but there is much room */
}

/* What the program writes in 16 ms at its pace has room, but no more than half of the ring is kept
 * free for it, and no less than an eighth. */
static void test_the_pace_tells_what_stays_free(void **state)
{
    static struct pw_ring_shared shared;
    struct pw_drained_ring ring = ring_of(&shared);
    const struct {
        int64_t ns; /* in which half of the ring was written */
        int kept;
    } cases[] = {
        {9 * MS, RING / 2}, {32 * MS, RING / 4}, {64 * MS, RING / 8}, {640 * MS, RING / 8}};
    (void)state;
    atomic_store(&shared.head, RING / 2);
    assert_int_equal(pw_drainedring_excess(&ring), RING / PW_RING_STEP_FULL); /* no pace yet */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ring = ring_of(&shared);
        assert_false(pw_drainedring_look(&ring, 100 * MS));
        atomic_store(&shared.head, RING / 2);
        assert_false(pw_drainedring_look(&ring, 100 * MS + cases[i].ns));
        atomic_store(&shared.head, (uint64_t)(RING - cases[i].kept - 1));
        assert_int_equal(pw_drainedring_excess(&ring), 0);
        atomic_store(&shared.head, (uint64_t)(RING - cases[i].kept));
        assert_int_equal(pw_drainedring_excess(&ring), RING / PW_RING_STEP_FULL);
    }
}

/* A program whose core the collector takes gets it back soon. */
static void test_a_sixteenth_is_taken_at_most(void **state)
{
    static struct pw_ring_shared shared;
    struct pw_drained_ring ring = ring_of(&shared);
    (void)state;
    atomic_store(&shared.head, RING / 4 * 3);
    assert_int_equal(pw_drainedring_excess(&ring), RING / 16);
}

static void test_the_first_look_hurries(void **state)
{
    static struct pw_ring_shared shared;
    struct pw_drained_ring ring = ring_of(&shared);
    (void)state;
    atomic_store(&shared.head, RING / 2);
    assert_true(pw_drainedring_look(&ring, 100 * MS));
}

static void test_damaged_numbers_are_no_records(void **state)
{
    static struct pw_ring_shared shared;
    struct pw_drained_ring ring = ring_of(&shared);
    (void)state;
    atomic_store(&shared.head, RING + 1);
    assert_int_equal(pw_drainedring_used(&ring), 0);
    assert_int_equal(pw_drainedring_excess(&ring), 0);
    assert_false(pw_drainedring_look(&ring, 100 * MS));
}

static void look(struct pw_drained_ring *ring, uint64_t tests, uint64_t what, bool is_polling)
{
    struct pw_shown_requests *shown = &ring->shared->shown;
    atomic_fetch_add(&shown->polls, tests * what);
    atomic_store(&shown->poll_what, what);
    assert_int_equal(pw_drainedring_look_at_polls(ring, true), atomic_load(&ring->shared->head));
    assert_int_equal(ring->is_polling, is_polling);
}

/* A thread tests so often between two looks; the sum wraps around. */
static void test_tests_without_success(void **state)
{
    static struct pw_ring_shared shared;
    struct pw_drained_ring ring = ring_of(&shared);
    struct pw_shown_call call;
    bool polls;
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15), other = UINT64_C(0xd1b54a32d192ed03);
    (void)state;
    atomic_store(&shared.head, 3);
    atomic_store(&shared.shown.poll_op, PW_OP_Test);
    look(&ring, 5, one, false);
    look(&ring, 0, one, false);
    look(&ring, 1, one, false);
    look(&ring, 1, one, true);
    look(&ring, 0, one, false);
    look(&ring, 100000000, one, true);
    assert_false(ring.polls_differ);
    look(&ring, 1, other, true); /* it tests something else now */
    assert_true(ring.polls_differ);
    atomic_store(&shared.head, 4); /* it has completed something */
    look(&ring, 7, other, false);
    look(&ring, 7, other, true);
    assert_false(ring.polls_differ);
    atomic_fetch_add(&shared.shown.polls, 3 * one);
    look(&ring, 2, other, true); /* both in turn */
    assert_true(ring.polls_differ);
    atomic_store(&shared.head, 5);
    atomic_store(&shared.open.awaited, PW_OP_Irecv);
    look(&ring, 2, other, false);
    look(&ring, 2, other, true);
    assert_true(pw_drainedring_read_state(&ring, &call, &polls) && polls);
    assert_int_equal(call.op, PW_OP_Test);
    assert_int_equal(call.awaited, PW_OP_Irecv);
    atomic_fetch_add(&shared.shown.polls, 3 * one); /* it tests another since the last look */
    assert_true(pw_drainedring_read_state(&ring, &call, &polls) && polls);
    assert_int_equal(call.awaited, PW_OP_None);
    atomic_store(&shared.open.op, PW_OP_Test); /* between two of them, or in one */
    assert_true(pw_drainedring_read_state(&ring, &call, &polls) && polls);
    atomic_store(&shared.open.op, PW_OP_Barrier); /* it has gone on */
    atomic_store(&shared.open.start, 77);
    assert_true(pw_drainedring_read_state(&ring, &call, &polls));
    assert_false(polls);
    assert_int_equal(call.op, PW_OP_Barrier);
    assert_int_equal(call.start, 77);
    assert_int_equal(pw_drainedring_look_at_polls(&ring, false), 0); /* the thread has ended */
    assert_false(ring.is_polling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_few_records_stay),
        ON_BENCH(test_a_ring_without_memory_is_passed_over),
        ON_BENCH(test_an_eighth_stays_free),
        ON_BENCH(test_all_leave_a_ring_with_little_room),
        cmocka_unit_test_setup_teardown(test_records_stay_while_all_cores_are_used, setup_large,
                                        bench_destroy),
        ON_BENCH(test_answers_have_all_records),
        cmocka_unit_test(test_pace_tells_whether_to_hurry),
        cmocka_unit_test(test_the_pace_tells_what_stays_free),
        cmocka_unit_test(test_a_sixteenth_is_taken_at_most),
        cmocka_unit_test(test_the_first_look_hurries),
        cmocka_unit_test(test_damaged_numbers_are_no_records),
        cmocka_unit_test(test_tests_without_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
