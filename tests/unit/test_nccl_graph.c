/* The tool half of module nccl: operations in replays of CUDA graphs. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/modules.h"
#include "core/ops.h"
#include "core/schedule.h"
#include "test_drain_bench.h"

enum { ALLREDUCE = 1, ALLGATHER = 2 }; /* names of kernels */

static int nkernels;

static void put_comm(struct bench *b, uint32_t comm, uint64_t uid, int32_t size)
{
    bench_put(b, 0,
              &(struct pw_record){
                  .type = PW_REC_NCCL_COMM,
                  .nccl_comm = {.uid = uid, .comm = comm, .size = size, .my_rank = 1, .nodes = 1}});
}

/* For gaps, which the collector of GPUs writes, and that of NCCL watches. */
static void ignore(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    (void)state, (void)record, (void)origin;
}

static int setup(void **state)
{
    static struct pw_module table[4];
    nkernels = 0;
    table[0] = bench_kernels;
    table[1] = pw_module_nccl;
    table[2] = (struct pw_module){.name = "gpu",
                                  .activity = PW_ACTIVITY_NULL,
                                  .first_type = PW_REC_GPU_GAP,
                                  .last_type = PW_REC_GPU_GAP,
                                  .create = bench_kernels.create,
                                  .record = ignore};
    int err = bench_create(state, table, PW_ACTIVITY_NULL | PW_ACTIVITY_NCCL);
    if (err)
        return err;
    struct bench *b = *state;
    bench_thread(b, 0, 0, true);
    bench_name(b, ALLREDUCE, "ncclDevKernel_AllReduce_LL");
    bench_name(b, ALLGATHER, "ncclDevKernel_AllGather_LL");
    put_comm(b, 0, 7, 4);
    put_comm(b, 1, 9, 2);
    return 0;
}

/* A call of 10 elements for the first number, 20 for the second, and so on. */
static void capture(struct bench *b, uint32_t number, uint16_t op, uint32_t comm, uint64_t start)
{
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_NCCL_CALL,
                                  .op = op,
                                  .flags = PW_NCCL_CALL_CAPTURED,
                                  .start = start,
                                  .end = start + 10,
                                  .nccl_call = {.id = number,
                                                .comm = comm,
                                                .count = 10 * number,
                                                .seq = number,
                                                .peer = -1,
                                                .element_bytes = 4}});
}

static void launch(struct bench *b, uint32_t comm, uint64_t time)
{
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_NCCL_TASK,
                                  .flags = PW_NCCL_TASK_CAPTURED,
                                  .start = time,
                                  .end = time,
                                  .nccl_task = {.comm = comm, .peer = -1}});
}

/* A call that is captured and launched at once. */
static void capture_launched(struct bench *b, uint32_t number, uint16_t op, uint32_t comm,
                             uint64_t start)
{
    capture(b, number, op, comm, start);
    launch(b, comm, start + 20);
}

static void replay(struct bench *b, uint64_t node, uint64_t correlation, int64_t start,
                   uint32_t name)
{
    bench_kernel[nkernels] = (struct pw_row_kernel){.start = start,
                                                    .end = start + 50,
                                                    .device = 3,
                                                    .correlation = correlation,
                                                    .graph_node = node,
                                                    .launch = start - 20,
                                                    .thread = -1,
                                                    .name = name};
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_MARK, .mark = {.value = nkernels++}});
}

struct wanted {
    int64_t start;
    uint16_t op;
    int64_t seq, count;
    uint64_t of; /* uid of the communicator that its one is made from */
    int32_t size;
};

static int by_start(const void *a, const void *b)
{
    const struct pw_row_comm_event *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->seq > y->seq) - (x->seq < y->seq);
}

static void check(struct bench *b, const struct wanted *wanted, size_t n)
{
    size_t nevents, nmore, ncomms;
    bench_close(b);
    struct pw_row_comm_event *events = bench_rows(b, PW_TABLE_comm_event, &nevents);
    struct pw_row_nccl *more = bench_rows(b, PW_TABLE_nccl, &nmore);
    struct pw_row_comms *comms = bench_rows(b, PW_TABLE_comms, &ncomms);
    assert_int_equal(nevents, n);
    assert_int_equal(nmore, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(more[i].timed, PW_TIMED_KERNEL);
    qsort(events, n, sizeof(*events), by_start);
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_comms *comm = &comms[events[i].comm];
        assert_int_equal(events[i].start, wanted[i].start);
        assert_int_equal(events[i].end, wanted[i].start + 50);
        assert_int_equal(events[i].op, wanted[i].op);
        assert_int_equal(events[i].seq, wanted[i].seq);
        assert_int_equal(comm->size, wanted[i].size);
        assert_int_not_equal(comm->uid, wanted[i].of);
        assert_in_range(events[i].seq, 0, comm->collectives - 1);
        if (wanted[i].op == PW_OP_Allreduce)
            assert_int_equal(events[i].sent_bytes, wanted[i].count < 0 ? -1 : 4 * wanted[i].count);
    }
    free(events);
    free(more);
    free(comms);
}

/* Two communicators, and a group of two calls in one kernel; the second kernel of the first replay
 * is reported last, and one of the second replay was lost. */
static void test_two_communicators(void **state)
{
    struct bench *b = *state;
    capture_launched(b, 1, PW_OP_Allreduce, 0, 1000);
    capture_launched(b, 2, PW_OP_Allgather, 1, 1100);
    launch(b, 0, 1230);
    capture(b, 3, PW_OP_Allreduce, 0, 1200); /* told of when they are over, as an AlltoAll is */
    capture(b, 4, PW_OP_Allreduce, 0, 1205);
    replay(b, 101, 500, 5000, ALLREDUCE);
    replay(b, 103, 500, 5200, ALLREDUCE);
    replay(b, 102, 500, 5100, ALLGATHER);
    replay(b, 101, 501, 6000, ALLREDUCE);
    replay(b, 103, 501, 6200, ALLREDUCE);
    replay(b, 102, 502, 7100, ALLGATHER);
    static const struct wanted wanted[] = {
        {5000, PW_OP_Allreduce, 0, 10, 7, 4}, {5100, PW_OP_Allgather, 0, 20, 9, 2},
        {5200, PW_OP_Allreduce, 1, 30, 7, 4}, {5200, PW_OP_Allreduce, 2, 40, 7, 4},
        {6000, PW_OP_Allreduce, 3, 10, 7, 4}, {6200, PW_OP_Allreduce, 4, 30, 7, 4},
        {6200, PW_OP_Allreduce, 5, 40, 7, 4}, {7100, PW_OP_Allgather, 2, 20, 9, 2},
    };
    check(b, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

/* Another graph is replayed before the launch of a call is reported, which another thread made. */
static void test_launch_that_is_reported_late(void **state)
{
    struct bench *b = *state;
    capture_launched(b, 1, PW_OP_Allreduce, 0, 1000);
    capture(b, 2, PW_OP_Allgather, 1, 1100);
    for (int i = 0; i < 18; i++) /* more than are waited for */
        replay(b, 55, 500 + (uint64_t)i, 9000 + 100 * i, ALLREDUCE);
    launch(b, 1, 1120);
    replay(b, 77, 600, 20000, ALLGATHER);
    struct wanted wanted[19];
    for (int i = 0; i < 18; i++)
        wanted[i] = (struct wanted){9000 + 100 * i, PW_OP_Allreduce, i, 10, 7, 4};
    wanted[18] = (struct wanted){20000, PW_OP_Allgather, 0, 20, 9, 2};
    check(b, wanted, 19);
}

/* Three graphs are alike, of which one is replayed: whose its count is cannot be told, its
 * communicator can. */
static void test_alike_graphs(void **state)
{
    struct bench *b = *state;
    for (uint32_t i = 1; i <= 3; i++)
        capture_launched(b, i, PW_OP_Allreduce, 0, i * 1000);
    replay(b, 55, 500, 9000, ALLREDUCE);
    replay(b, 55, 501, 9100, ALLREDUCE);
    static const struct wanted wanted[] = {{9000, PW_OP_Allreduce, 0, -1, 7, 4},
                                           {9100, PW_OP_Allreduce, 1, -1, 7, 4}};
    check(b, wanted, 2);
}

/* Kernels that may be of either communicator have no operation; others have. */
static void test_cannot_tell(void **state)
{
    struct bench *b = *state;
    capture_launched(b, 1, PW_OP_Allreduce, 0, 1000);
    capture_launched(b, 2, PW_OP_Allreduce, 1, 1100);
    capture_launched(b, 3, PW_OP_Allgather, 1, 1200);
    replay(b, 55, 500, 9000, ALLREDUCE);
    replay(b, 77, 501, 9100, ALLGATHER);
    static const struct wanted wanted[] = {{9100, PW_OP_Allgather, 0, 30, 9, 2}};
    check(b, wanted, 1);
}

/* What was lost may have been replays: from then on their numbers would not be other ranks'. */
static void test_interrupted(void **state)
{
    struct bench *b = *state;
    capture_launched(b, 1, PW_OP_Allreduce, 0, 1000);
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_WINDOW, .flags = PW_WINDOW_ACTIVE, .end = 8000});
    replay(b, 55, 500, 9000, ALLREDUCE);
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_WINDOW, .start = 9050, .end = 9050});
    replay(b, 55, 501, 9100, ALLREDUCE);
    static const struct wanted wanted[] = {{9000, PW_OP_Allreduce, 0, 10, 7, 4}};
    check(b, wanted, 1);
}

/* Kernels are lost from 100 to `end`; a graph that was captured at 1000 is replayed after that. */
static void lose_and_replay(struct bench *b, uint64_t end)
{
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_GPU_GAP, .start = 100, .end = end});
    capture_launched(b, 1, PW_OP_Allreduce, 0, 1000);
    replay(b, 55, 500, 9000, ALLREDUCE);
}

/* Kernels that were lost before a graph was captured are none of its. */
static void test_lost_before_the_capture(void **state)
{
    struct bench *b = *state;
    lose_and_replay(b, 900);
    static const struct wanted wanted[] = {{9000, PW_OP_Allreduce, 0, 10, 7, 4}};
    check(b, wanted, 1);
}

/* Another thread reports the loss, perhaps before a call that was captured meanwhile. */
static void test_lost_after_the_capture(void **state)
{
    struct bench *b = *state;
    lose_and_replay(b, 1100);
    size_t n;
    double unplaced = 0;
    bench_close(b);
    struct pw_row_overhead *rows = bench_rows(b, PW_TABLE_overhead, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, "nccl_replay_unplaced") == 0)
            unplaced += rows[i].value;
    free(rows);
    assert_true(unplaced == 1);
}

/* RCCL's kernels by MSCCL have operations, as all of its others. */
static void test_msccl(void **state)
{
    struct bench *b = *state;
    bench_name(b, 3, "mscclKernel_Sum(ncclComm)");
    capture_launched(b, 1, PW_OP_Allreduce, 0, 1000);
    replay(b, 55, 500, 9000, 3);
    static const struct wanted wanted[] = {{9000, PW_OP_Allreduce, 0, 10, 7, 4}};
    check(b, wanted, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_two_communicators),
        ON_BENCH(test_launch_that_is_reported_late),
        ON_BENCH(test_alike_graphs),
        ON_BENCH(test_cannot_tell),
        ON_BENCH(test_interrupted),
        ON_BENCH(test_lost_before_the_capture),
        ON_BENCH(test_lost_after_the_capture),
        ON_BENCH(test_msccl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
