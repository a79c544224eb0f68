/* Calls that are open: shown in a ring by hand, read by the drain and explained by module mpi,
 * as rows of the file and while the program runs. */
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "collectors/modules.h"
#include "collectors/mpi/mpi_requeststate.h"
#include "core/ops.h"
#include "test_drain_bench.h"

enum { HANDLE = 0x7000, OTHER = 0x8000 };

static int setup(void **state)
{
    static struct pw_module table[2];
    table[0] = pw_module_mpi;
    int err = bench_create(state, table, PW_ACTIVITY_MPI);
    struct bench *b = *state;
    for (int i = 0; i < 2 && !err; i++)
        atomic_store(&b->segment->rings[i].state, PW_RING_OWNED);
    return err;
}

static void show(struct bench *b, int ring, const struct pw_shown_call *call)
{
    struct pw_open_call *open = &b->rings[ring].shared->open;
    atomic_store(&open->start, call->start);
    atomic_store(&open->peer, call->peer);
    atomic_store(&open->tag, call->tag);
    atomic_store(&open->handle, call->handle);
    atomic_store(&open->awaited, call->awaited);
    atomic_store(&open->op, call->op);
}

/* Communicator `index` of the world ranks first, first + 2, ... */
static void define(struct bench *b, uint32_t index, uint64_t uid, uint64_t handle, int32_t size,
                   int32_t first)
{
    bench_put(
        b, 0,
        &(struct pw_record){
            .type = PW_REC_COMM_DEF,
            .def = {.uid = uid, .comm = index, .size = size, .my_rank = 1, .handle = handle}});
    bench_put(
        b, 0,
        &(struct pw_record){.type = PW_REC_COMM_MEMBERS,
                            .members = {.comm = index, .nruns = 1, .runs = {{first, 2, size}}}});
}

static void check(struct bench *b, const struct pw_shown_call *call, const struct pw_row_open *want)
{
    size_t n;
    bench_thread(b, 0, 3, true);
    define(b, 0, 0x77, HANDLE, 4, 0);
    define(b, 1, 0x88, OTHER, 2, 5);
    atomic_store(&b->segment->collectives[0], 7);
    show(b, 0, call);
    bench_close(b);
    struct pw_row_open *rows = bench_rows(b, PW_TABLE_open, &n);
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].start, call->start);
    assert_true(rows[0].seen_until > rows[0].start);
    assert_int_equal(rows[0].op, want->op);
    assert_int_equal(rows[0].awaited, want->awaited);
    assert_int_equal(rows[0].comm, want->comm);
    assert_int_equal(rows[0].seq, want->seq);
    assert_int_equal(rows[0].peer, want->peer);
    assert_int_equal(rows[0].tag, want->tag);
    assert_int_equal(rows[0].thread, 3);
    free(rows);
}

/* It has no partner and no tag, whatever an earlier call has left. */
static void test_collective(void **state)
{
    check(*state,
          &(struct pw_shown_call){
              .start = 1000, .op = PW_OP_Allreduce, .peer = 2, .tag = 9, .handle = HANDLE},
          &(struct pw_row_open){.op = PW_OP_Allreduce, .comm = 0, .seq = 7, .peer = -1});
}

static void test_root_of_a_collective(void **state)
{
    check(*state,
          &(struct pw_shown_call){.start = 1000, .op = PW_OP_Bcast, .peer = 3, .handle = HANDLE},
          &(struct pw_row_open){.op = PW_OP_Bcast, .comm = 0, .seq = 7, .peer = 6});
}

static void test_message(void **state)
{
    check(*state,
          &(struct pw_shown_call){
              .start = 1000, .op = PW_OP_Recv, .peer = 1, .tag = 9, .handle = OTHER},
          &(struct pw_row_open){.op = PW_OP_Recv, .comm = 1, .seq = -1, .peer = 7, .tag = 9});
}

static void test_receive_from_any_source(void **state)
{
    check(*state,
          &(struct pw_shown_call){
              .start = 1000, .op = PW_OP_Probe, .peer = -1, .tag = -1, .handle = HANDLE},
          &(struct pw_row_open){.op = PW_OP_Probe, .comm = 0, .seq = -1, .peer = -1, .tag = -1});
}

static void test_call_on_an_unknown_communicator(void **state)
{
    check(*state, &(struct pw_shown_call){.start = 1000, .op = PW_OP_Barrier, .handle = 0x9999},
          &(struct pw_row_open){.op = PW_OP_Barrier, .comm = -1, .seq = -1, .peer = -1});
}

/* A completion call shows an index and a world rank. */
static void test_wait(void **state)
{
    check(*state,
          &(struct pw_shown_call){.start = 1000,
                                  .op = PW_OP_Wait,
                                  .awaited = PW_OP_Irecv,
                                  .peer = 5,
                                  .tag = 9,
                                  .handle = 1},
          &(struct pw_row_open){
              .op = PW_OP_Wait, .awaited = PW_OP_Irecv, .comm = 1, .seq = -1, .peer = 5, .tag = 9});
}

static void test_wait_for_a_collective(void **state)
{
    check(*state,
          &(struct pw_shown_call){.start = 1000,
                                  .op = PW_OP_Wait,
                                  .awaited = PW_OP_Iallreduce,
                                  .peer = -1,
                                  .tag = 6,
                                  .handle = 0},
          &(struct pw_row_open){
              .op = PW_OP_Wait, .awaited = PW_OP_Iallreduce, .comm = 0, .seq = 6, .peer = -1});
}

static void test_wait_for_several(void **state)
{
    check(*state,
          &(struct pw_shown_call){
              .start = 1000, .op = PW_OP_Waitall, .peer = 2, .tag = 9, .handle = HANDLE},
          &(struct pw_row_open){.op = PW_OP_Waitall, .comm = -1, .seq = -1, .peer = -1});
}

/* No thread of ours shows these: nothing of them is an index. */
static void test_malformed_shown_calls_are_survived(void **state)
{
    struct bench *b = *state;
    size_t n;
    bench_thread(b, 0, 0, true);
    define(b, 0, 0x77, HANDLE, 4, 0);
    show(b, 0, &(struct pw_shown_call){.start = 1000, .op = PW_OP_COUNT, .handle = HANDLE});
    show(b, 1,
         &(struct pw_shown_call){.start = UINT64_MAX,
                                 .op = PW_OP_Wait,
                                 .awaited = UINT32_MAX,
                                 .peer = INT32_MIN,
                                 .handle = UINT64_MAX});
    bench_close(b);
    struct pw_row_open *rows = bench_rows(b, PW_TABLE_open, &n);
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].awaited, PW_OP_None);
    assert_int_equal(rows[0].comm, -1);
    assert_int_equal(rows[0].peer, -1);
    free(rows);
}

/* A handle that came back is the newest communicator's. */
static void test_reused_handle_is_the_newest_communicator(void **state)
{
    struct bench *b = *state;
    size_t n;
    bench_thread(b, 0, 0, true);
    define(b, 0, 0x77, HANDLE, 4, 0);
    define(b, 1, 0x88, OTHER, 2, 5);
    define(b, 2, 0x99, OTHER, 3, 1);
    show(b, 0, &(struct pw_shown_call){.start = 1, .op = PW_OP_Recv, .peer = 2, .handle = OTHER});
    bench_close(b);
    struct pw_row_open *rows = bench_rows(b, PW_TABLE_open, &n);
    assert_int_equal(rows[0].comm, 2);
    assert_int_equal(rows[0].peer, 5);
    free(rows);
}

static void test_live(void **state)
{
    struct bench *b = *state;
    struct pw_live live = {0};
    uint64_t start = 0, now = pw_tick_read(PW_TICK_RAW);
    bench_thread(b, 0, 0, true);
    bench_thread(b, 1, 1, false);
    define(b, 0, 0x77, HANDLE, 4, 0);
    define(b, 1, 0x88, OTHER, 2, 5);
    atomic_store(&b->segment->collectives[1], 3);
    bench_put(b, 1,
              &(struct pw_record){.type = PW_REC_COMM,
                                  .op = PW_OP_Barrier,
                                  .start = now - 9000000000,
                                  .end = now - 8000000000,
                                  .comm = {.seq = 4}});
    show(b, 0,
         &(struct pw_shown_call){.start = now - 5000000000, .op = PW_OP_Barrier, .handle = OTHER});
    pw_drain_run(b->drain);
    assert_int_equal(pw_drain_live(b->drain, &live), 0);
    assert_int_equal(live.nthreads, 2);
    assert_int_equal(live.threads[0].op, PW_OP_Barrier);
    assert_int_equal(live.threads[0].comm_uid, 0x88);
    assert_int_equal(live.threads[0].seq, 3);
    assert_in_range(live.threads[0].since_ns, 5000000000, 7000000000);
    assert_int_equal(live.threads[1].op, PW_OP_None);
    assert_in_range(live.threads[1].since_ns, 8000000000, 10000000000);
    assert_int_equal(live.ncomms, 2);
    assert_int_equal(pw_live_comm(&live, 0x88)->reached, 3);
    assert_int_equal(pw_live_comm(&live, 0x77)->reached, 5); /* recorded, if not counted */
    assert_int_equal(pw_live_main(&live)->thread, 0);
    pw_live_fini(&live);

    assert_in_range(pw_drain_longest_call(b->drain, 0, &start), 5000000000, 7000000000);
    assert_int_equal(start, now - 5000000000);
    assert_int_equal(pw_drain_longest_call(b->drain, now, &start), 0); /* it is in a report */
    assert_int_equal(pw_drain_last_entry(b->drain, 5000000000), start);
    assert_int_equal(pw_drain_last_entry(b->drain, 60000000000), 0); /* it is too young */
    /* A thread that has ended left no call. */
    atomic_store(&b->segment->rings[0].state, PW_RING_RELEASED);
    assert_int_equal(pw_drain_longest_call(b->drain, 0, &start), 0);
}

/* The thread tests for `what` once more without success. */
static void poll(struct bench *b, uint64_t what)
{
    struct pw_shown_requests *shown = &b->rings[0].shared->shown;
    atomic_fetch_add(&shown->polls, what);
    atomic_store(&shown->poll_what, what);
    atomic_store(&shown->poll_op, PW_OP_Test);
}

/* A collection of garbage is recorded meanwhile. */
static void collect(struct bench *b)
{
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_RUNTIME, .start = 1, .end = 2});
    atomic_fetch_add(&b->rings[0].shared->shown.runtime, 1);
}

/* A loop of tests has gone on since the thread's last record; garbage collections are none. */
static void test_loop_of_tests_that_collects_garbage(void **state)
{
    struct bench *b = *state;
    uint64_t start = 0, first = 0;
    bench_thread(b, 0, 0, true);
    pw_drain_run(b->drain);
    poll(b, 3);
    pw_drain_look_at_polls(b->drain, INT64_C(1000000000));
    poll(b, 3);
    pw_drain_look_at_polls(b->drain, INT64_C(2000000000));
    assert_int_equal(pw_drain_longest_call(b->drain, 0, &start), 0); /* it has to go on */
    collect(b);
    poll(b, 3);
    pw_drain_look_at_polls(b->drain, INT64_C(3000000000));
    assert_true(pw_drain_longest_call(b->drain, 0, &first) > 0);
    collect(b);
    collect(b);
    poll(b, 3);
    pw_drain_look_at_polls(b->drain, INT64_C(4000000000));
    assert_true(pw_drain_longest_call(b->drain, 0, &start) > 0);
    assert_int_equal(start, first);
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_COMM, .op = PW_OP_Send, .end = 3});
    poll(b, 3);
    pw_drain_look_at_polls(b->drain, INT64_C(5000000000));
    assert_int_equal(pw_drain_longest_call(b->drain, 0, &start), 0);
}

/* The numbers of messages are asked for, in a program that has no open request. */
static void ask_for_numbers(struct bench *b)
{
    static uint64_t front[PW_REQUEST_FRONT * PW_REQUEST_BYTES / 8], segments[PW_REQUEST_SEGMENTS];
    static uint32_t nbuckets;
    struct pw_request_places *places = &b->segment->requests;
    b->segment->level = 1;
    atomic_store(&places->front, (uintptr_t)front);
    atomic_store(&places->segments, (uintptr_t)segments);
    atomic_store(&places->buckets, (uintptr_t)&nbuckets);
    atomic_store(&places->handle_bytes, 8);
    bench_thread(b, 0, 0, true);
    define(b, 0, 0x77, HANDLE, 4, 0);
}

static bool are_numbers_known(struct bench *b)
{
    struct pw_live live = {.pid = getpid()};
    assert_int_equal(pw_drain_live(b->drain, &live), 0);
    const bool are = live.pairs_known;
    pw_live_fini(&live);
    return are;
}

static void put_receive(struct bench *b, int peer, int tag, uint8_t flags)
{
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_COMM,
                                  .op = PW_OP_Irecv,
                                  .flags = flags | PW_FLAG_NONBLOCKING,
                                  .start = 1,
                                  .end = 2,
                                  .comm = {.peer = peer, .tag = tag}});
}

/* Calls inside calls are not recorded, and dropped records not counted. */
static void test_messages_that_are_not_counted(void **state)
{
    struct bench *b = *state;
    struct pw_ring_shared *ring = b->rings[1].shared;
    ask_for_numbers(b);
    put_receive(b, 2, 9, 0);
    assert_true(are_numbers_known(b));
    atomic_store(&ring->nested, 1);
    assert_false(are_numbers_known(b));
    atomic_store(&ring->nested, 0);
    atomic_store(&ring->lost[PW_LOST_COMMUNICATION], 1);
    assert_false(are_numbers_known(b));
    atomic_store(&ring->lost[PW_LOST_COMMUNICATION], 0);
    assert_true(are_numbers_known(b));
}

/* MPI_PROC_NULL has a tag below 0; another sender that is not known is a rank. */
static void test_message_of_an_unknown_sender(void **state)
{
    struct bench *b = *state;
    ask_for_numbers(b);
    put_receive(b, -1, -1, 0);
    assert_true(are_numbers_known(b));
    put_receive(b, -1, 9, 0);
    assert_false(are_numbers_known(b));
}

/* The message may come after the receive's request has been freed. */
static void test_freed_receive(void **state)
{
    struct bench *b = *state;
    ask_for_numbers(b);
    put_receive(b, 2, 9, PW_FLAG_FREED);
    assert_false(are_numbers_known(b));
}

/* The look is only taken about once a second; a test that is called twice meanwhile is a loop then,
 * also when another one is called in turn. */
static void test_loop_of_tests(void **state)
{
    struct bench *b = *state;
    struct pw_live live = {0};
    struct pw_shown_requests *shown = &b->rings[0].shared->shown;
    bench_thread(b, 0, 0, true);
    pw_drain_run(b->drain);
    atomic_store(&shown->peer_tag, 7);
    for (int i = 0; i < 4; i++) {
        const uint64_t probe = UINT64_C(0x9e3779b97f4a7c15);
        static const int64_t looks[] = {1000000000, 1020000000, 2000000000, 3000000000};
        poll(b, probe);
        poll(b, i == 3 ? UINT64_C(0x1c69b3f74ac4ae35) : probe);
        poll(b, probe);
        atomic_store(&shown->poll_op, PW_OP_Iprobe);
        pw_drain_look_at_polls(b->drain, looks[i]);
        assert_int_equal(pw_drain_live(b->drain, &live), 0);
        assert_int_equal(live.threads[0].polls, i >= 2);
        assert_int_equal(live.threads[0].op, i >= 2 ? PW_OP_Iprobe : PW_OP_None);
        assert_int_equal(live.threads[0].tag, i == 2 ? 7 : 0);
        pw_live_fini(&live);
        live = (struct pw_live){0};
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_collective),
        ON_BENCH(test_root_of_a_collective),
        ON_BENCH(test_message),
        ON_BENCH(test_receive_from_any_source),
        ON_BENCH(test_call_on_an_unknown_communicator),
        ON_BENCH(test_wait),
        ON_BENCH(test_wait_for_a_collective),
        ON_BENCH(test_wait_for_several),
        ON_BENCH(test_malformed_shown_calls_are_survived),
        ON_BENCH(test_reused_handle_is_the_newest_communicator),
        ON_BENCH(test_loop_of_tests_that_collects_garbage),
        ON_BENCH(test_live),
        ON_BENCH(test_messages_that_are_not_counted),
        ON_BENCH(test_message_of_an_unknown_sender),
        ON_BENCH(test_freed_receive),
        ON_BENCH(test_loop_of_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
