/* The tool halves of the modules mpi and annotations: from records to rows. */
#include "unit.h"

#include <stdlib.h>

#include "collectors/modules.h"
#include "core/ops.h"
#include "test_drain_bench.h"

static int setup(void **state)
{
    static struct pw_module table[3];
    table[0] = pw_module_mpi;
    table[1] = pw_module_annotations;
    return bench_create(state, table, PW_ACTIVITY_MPI | PW_ACTIVITY_ANNOTATIONS);
}

static struct pw_record op(uint16_t id, uint64_t start, uint64_t end, uint8_t flags)
{
    return (struct pw_record){.type = PW_REC_COMM,
                              .op = id,
                              .flags = flags,
                              .start = start,
                              .end = end,
                              .stack = 6,
                              .comm = {.comm = 0,
                                       .peer = 2,
                                       .tag = 9,
                                       .seq = 0,
                                       .sent_bytes = 64,
                                       .recv_bytes = 32,
                                       .request = 5}};
}

static void put_comm(struct bench *b, uint32_t comm, uint64_t uid, int32_t size, uint32_t name)
{
    bench_put(b, 0,
              &(struct pw_record){
                  .type = PW_REC_COMM_DEF,
                  .def = {.uid = uid, .comm = comm, .size = size, .my_rank = 1, .name = name}});
}

static void test_blocking_call(void **state)
{
    struct bench *b = *state;
    struct pw_row_comm_event *rows;
    size_t n;
    struct pw_record r = op(PW_OP_Allreduce, 100, 160, PW_FLAG_ROOT);
    r.comm.seq = 4;
    bench_thread(b, 0, 3, true);
    bench_put(b, 0, &r);
    r = op(PW_OP_COUNT + 5, 200, 210, 0); /* of no operation that we know */
    r.comm.comm = UINT32_MAX;
    bench_put(b, 0, &r);
    bench_close(b);
    rows = bench_rows(b, PW_TABLE_comm_event, &n);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].start, 100);
    assert_int_equal(rows[0].end, 160);
    assert_int_equal(rows[0].op, PW_OP_Allreduce);
    assert_int_equal(rows[0].source, PW_SOURCE_MPI);
    assert_int_equal(rows[0].flags, PW_FLAG_ROOT);
    assert_int_equal(rows[0].comm, 0);
    assert_int_equal(rows[0].seq, 4);
    assert_int_equal(rows[0].sent_bytes, 64);
    assert_int_equal(rows[0].recv_bytes, 32);
    assert_int_equal(rows[0].peer, 2);
    assert_int_equal(rows[0].tag, 0); /* of a collective, the record has the signature there */
    assert_int_equal(rows[0].thread, 3);
    assert_int_equal(rows[0].request, 5);
    assert_int_equal(rows[0].stack, 6);
    assert_int_equal(rows[0].inside_ns, 60);
    assert_int_equal(rows[0].wait_start, 0); /* it blocked */
    assert_int_equal(rows[1].op, PW_OP_None);
    assert_int_equal(rows[1].comm, -1);
    free(rows);
}

/* Isend from 1000, 32 ns inside (2 x 16 ticks); completed by a Wait from 1500 to 1700. */
static void test_nonblocking_call(void **state)
{
    struct bench *b = *state;
    struct pw_row_comm_event *rows;
    size_t n;
    struct pw_record wait = op(PW_OP_Wait, 1500, 1700, 0);
    struct pw_record done = op(PW_OP_Isend, 1000, 1700, PW_FLAG_NONBLOCKING);
    struct pw_record early = op(PW_OP_Isend, 1600, 1700, PW_FLAG_NONBLOCKING);
    struct pw_record other = op(PW_OP_Isend, 1000, 1650, PW_FLAG_NONBLOCKING);
    done.comm.begun = early.comm.begun = other.comm.begun = 2;
    bench_thread(b, 0, 0, true);
    bench_thread(b, 1, 1, false);
    bench_put(b, 0, &wait);
    bench_put(b, 0, &done);
    bench_put(b, 0, &early); /* began after the Wait was entered: not its */
    bench_put(b, 0, &other); /* ended at another time: not its */
    bench_put(b, 1, &done);  /* another thread's */
    bench_close(b);
    rows = bench_rows(b, PW_TABLE_comm_event, &n);
    assert_int_equal(n, 5);
    static const int64_t wait_start[] = {0, 1500, 0, 0, 0}, inside_ns[] = {200, 232, 32, 32, 32};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].wait_start, wait_start[i]);
        assert_int_equal(rows[i].inside_ns, inside_ns[i]);
    }
    free(rows);
}

static void test_communicators(void **state)
{
    struct bench *b = *state;
    struct pw_row_comms *comms;
    struct pw_row_member *members;
    size_t n;
    bench_thread(b, 0, 0, true);
    put_comm(b, 0, 77, 4, 0);
    /* 0 2 4, then 7: in two runs, of which the second says more than there is room for. */
    bench_put(
        b, 0,
        &(struct pw_record){.type = PW_REC_COMM_MEMBERS,
                            .members = {.comm = 0, .nruns = 2, .runs = {{0, 2, 3}, {7, 1, 100}}}});
    put_comm(b, 1, 88, 3, 0);
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_COMM_MEMBERS,
                                  .members = {.comm = 1, .nruns = 1, .runs = {{9, -1, 2}}}});
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_COMM_MEMBERS,
                                  .members = {.comm = 1, .nruns = 1, .runs = {{5, 1, 1}}}});
    struct pw_record r = op(PW_OP_Barrier, 10, 20, 0);
    r.comm.seq = 6;
    bench_put(b, 0, &r);
    r.comm.seq = 2; /* out of order: the most counts */
    bench_put(b, 0, &r);
    r = op(PW_OP_Send, 30, 40, 0);
    r.comm.seq = 50; /* no collective */
    bench_put(b, 0, &r);
    put_comm(b, 1, 88, 3, 4); /* named later, by MPI_Comm_set_name */
    bench_close(b);
    comms = bench_rows(b, PW_TABLE_comms, &n);
    assert_int_equal(n, 2);
    bench_assert_comm(&comms[0], 77, 4, 1, 7);
    assert_int_equal(comms[0].first_member, 0);
    assert_int_equal(comms[1].uid, 88);
    assert_int_equal(comms[1].first_member, 4);
    assert_int_equal(comms[1].collectives, 0);
    assert_int_equal(comms[1].name, 4);
    free(comms);
    members = bench_rows(b, PW_TABLE_member, &n);
    assert_int_equal(n, 7);
    static const int32_t expected[] = {0, 2, 4, 7, 9, 8, 5};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(members[i].world_rank, expected[i]);
    free(members);
}

static void test_second_process_has_its_own_communicators(void **state)
{
    struct bench *b = *state;
    struct pw_row_comm_event *rows;
    struct pw_row_comms *comms;
    size_t n;
    struct pw_record r = op(PW_OP_Barrier, 10, 20, 0);
    bench_thread(b, 0, 0, true);
    put_comm(b, 0, 77, 4, 0);
    bench_put(b, 0, &r);
    bench_thread(b, 0, 1, true);
    put_comm(b, 0, 99, 2, 0);
    bench_put(b, 0, &r);
    bench_close(b);
    rows = bench_rows(b, PW_TABLE_comm_event, &n);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].comm, 0);
    assert_int_equal(rows[1].comm, 1);
    free(rows);
    comms = bench_rows(b, PW_TABLE_comms, &n);
    assert_int_equal(n, 2);
    assert_int_equal(comms[1].uid, 99);
    free(comms);
}

/* Sizes and numbers that no probe of ours writes must not take the collector down. */
static void test_hostile_communicators(void **state)
{
    struct bench *b = *state;
    struct pw_row_comms *comms;
    size_t n;
    bench_thread(b, 0, 0, true);
    put_comm(b, UINT32_MAX - 1, 1, 4, 0);
    put_comm(b, 0, 2, -5, 0);
    put_comm(b, 1, 3, INT32_MAX, 0);
    put_comm(b, 2, 4, 2, 0);
    for (uint32_t comm = 0; comm < 3; comm++)
        bench_put(b, 0,
                  &(struct pw_record){.type = PW_REC_COMM_MEMBERS,
                                      .members = {.comm = comm,
                                                  .nruns = UINT32_MAX,
                                                  .runs = {{INT32_MAX, INT32_MAX, INT32_MAX},
                                                           {INT32_MIN, INT32_MIN, -1}}}});
    struct pw_record r = op(PW_OP_Barrier, 20, 10, PW_FLAG_NONBLOCKING); /* ends before it starts */
    r.comm.begun = UINT32_MAX;
    bench_put(b, 0, &r);
    bench_close(b);
    comms = bench_rows(b, PW_TABLE_comms, &n);
    assert_int_equal(n, 3);
    free(comms);
}

static void test_clock_knots(void **state)
{
    struct bench *b = *state;
    struct pw_row_clock *knots;
    struct pw_row_overhead *overhead;
    size_t n;
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_CLOCK,
                                  .clock = {.local_ns = 5, .offset_ns = -6, .error_ns = 7}});
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_MPI_STATE,
                                  .mpi = {.state = PW_MPI_BEGAN, .sync_ns = 1000}});
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_MPI_STATE,
                                  .mpi = {.state = PW_MPI_ENDING, .sync_ns = 500}});
    bench_close(b);
    knots = bench_rows(b, PW_TABLE_clock, &n);
    assert_int_equal(n, 1);
    assert_int_equal(knots[0].local_ns, 5);
    assert_int_equal(knots[0].offset_ns, -6);
    assert_int_equal(knots[0].error_ns, 7);
    free(knots);
    overhead = bench_rows(b, PW_TABLE_overhead, &n);
    assert_string_equal(overhead[0].name, "clock_sync");
    assert_true(overhead[0].value == 1500);
    free(overhead);
}

static void put_step(struct bench *b, int64_t step, uint64_t time)
{
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_STEP, .start = time, .end = time, .step = {step}});
}

static void test_steps_and_ranges(void **state)
{
    struct bench *b = *state;
    struct pw_row_step *steps;
    struct pw_row_range *ranges;
    size_t n;
    bench_thread(b, 0, 2, true);
    put_step(b, 0, 100);
    put_step(b, 1, 200);  /* ends step 0 */
    put_step(b, -1, 290); /* ends step 1, begins none */
    put_step(b, -1, 295);
    put_step(b, 5, 400);
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_RANGE,
                                  .start = 410,
                                  .end = 480,
                                  .range = {.name = 3, .depth = 1, .kind = PW_KIND_PHASE}});
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_RANGE, .start = 420, .end = 450});
    bench_close(b); /* step 5 was not ended: its last range ends it */
    steps = bench_rows(b, PW_TABLE_step, &n);
    static const int64_t expected[3][3] = {{0, 100, 200}, {1, 200, 290}, {5, 400, 480}};
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(steps[i].step, expected[i][0]);
        assert_int_equal(steps[i].start, expected[i][1]);
        assert_int_equal(steps[i].end, expected[i][2]);
    }
    free(steps);
    ranges = bench_rows(b, PW_TABLE_range, &n);
    assert_int_equal(n, 2);
    assert_int_equal(ranges[0].start, 410);
    assert_int_equal(ranges[0].name, 3);
    assert_int_equal(ranges[0].kind, PW_KIND_PHASE);
    assert_int_equal(ranges[0].depth, 1);
    assert_int_equal(ranges[0].thread, 2);
    assert_int_equal(ranges[1].name, 0);
    free(ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_blocking_call),
        ON_BENCH(test_nonblocking_call),
        ON_BENCH(test_communicators),
        ON_BENCH(test_second_process_has_its_own_communicators),
        ON_BENCH(test_hostile_communicators),
        ON_BENCH(test_clock_knots),
        ON_BENCH(test_steps_and_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
