/* The tool half of module nccl: which kernel is whose, and what the rows say when none is known.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/modules.h"
#include "core/ops.h"
#include "test_drain_bench.h"

static int setup(void **state)
{
    static struct pw_module table[4];
    memset(bench_kernel, 0, sizeof(bench_kernel));
    table[0] = bench_kernels;
    table[1] = pw_module_nccl;
    table[2] = pw_module_nvtx;
    return bench_create(state, table, PW_ACTIVITY_NULL | PW_ACTIVITY_NCCL | PW_ACTIVITY_NVTX);
}

static void begin(struct bench *b)
{
    bench_thread(b, 0, 0, true);
    bench_name(b, 1, "ncclDevKernel_AllReduce");
    bench_name(b, 2, "gemm");
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_NCCL_COMM,
                                  .nccl_comm = {.uid = 7, .size = 4, .my_rank = 1, .nodes = 1}});
}

static void call(struct bench *b, uint64_t id, uint16_t op, uint64_t start, uint8_t flags)
{
    bench_put(
        b, 0,
        &(struct pw_record){
            .type = PW_REC_NCCL_CALL,
            .op = op,
            .flags = flags,
            .start = start,
            .end = start + 10,
            .nccl_call = {
                .id = id, .count = 100, .seq = (uint32_t)id, .peer = -1, .element_bytes = 4}});
}

static void task(struct bench *b, uint64_t id, uint64_t plan, uint64_t start, uint8_t flags)
{
    bench_put(
        b, 0,
        &(struct pw_record){.type = PW_REC_NCCL_TASK,
                            .flags = flags,
                            .start = start,
                            .end = start + 10,
                            .nccl_task = {.id = id, .plan = plan, .peer = -1, .channels = 2}});
}

static void kernel(struct bench *b, int i, int64_t launch, int64_t start, uint32_t name)
{
    bench_kernel[i] = (struct pw_row_kernel){.start = start,
                                             .end = start + 50,
                                             .device = 3,
                                             .stream = 9,
                                             .correlation = 1000 + (uint64_t)i,
                                             .launch = launch,
                                             .name = name};
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_MARK, .mark = {.value = i}});
}

struct rows {
    struct pw_row_comm_event *events;
    struct pw_row_nccl *more;
    size_t n;
};

/* Closed; rows in the order of operations. */
static struct rows close_bench(struct bench *b, size_t wanted)
{
    struct rows r;
    size_t n;
    bench_close(b);
    r.more = bench_rows(b, PW_TABLE_nccl, &n);
    r.events = bench_rows(b, PW_TABLE_comm_event, &r.n);
    assert_int_equal(n, wanted);
    assert_int_equal(r.n, wanted);
    return r;
}

static const struct pw_row_nccl *row_of(const struct rows *r, int64_t operation)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->more[i].operation == operation)
            return &r->more[i];
    fail_msg("operation %d has no row", (int)operation);
    return NULL;
}

static void check_kernel(const struct rows *r, int64_t operation, int i)
{
    const struct pw_row_nccl *row = row_of(r, operation);
    assert_int_equal(row->timed, PW_TIMED_KERNEL);
    assert_int_equal(row->correlation, 1000 + i);
    assert_int_equal(row->device, 3);
    assert_int_equal(r->events[row->comm_row].start, bench_kernel[i].start);
    assert_int_equal(r->events[row->comm_row].end, bench_kernel[i].end);
    assert_int_equal(r->events[row->comm_row].flags & PW_FLAG_ENQUEUED, 0);
}

static void check_enqueued(const struct rows *r, int64_t operation, int64_t start)
{
    const struct pw_row_nccl *row = row_of(r, operation);
    assert_int_equal(row->timed, PW_TIMED_ENQUEUED);
    assert_int_equal(row->device, -1);
    assert_int_equal(r->events[row->comm_row].start, start);
    assert_int_equal(r->events[row->comm_row].flags & PW_FLAG_ENQUEUED, PW_FLAG_ENQUEUED);
}

static void drop(struct rows *r)
{
    free(r->events);
    free(r->more);
}

/* By the launch that NCCL reports; the kernels come late, in another order, among others. */
static void test_reported_launches(void **state)
{
    struct bench *b = *state;
    begin(b);
    for (uint64_t id = 1; id <= 3; id++) {
        call(b, id, PW_OP_Allreduce, id * 1000, 0);
        task(b, id, 50 + id, id * 1000 + 100, PW_NCCL_TASK_LAUNCHED);
    }
    kernel(b, 0, 2105, 5000, 1);
    kernel(b, 1, 1101, 4000, 1);
    kernel(b, 2, 3101, 6000, 2); /* of the program */
    struct rows r = close_bench(b, 3);
    check_kernel(&r, 1, 1);
    check_kernel(&r, 2, 0);
    check_enqueued(&r, 3, 3000);
    assert_int_equal(r.events[0].sent_bytes, 400);
    drop(&r);
}

/* The GPU's clock may be converted with an error: a known launch decides, not the kernel's start.
 */
static void test_kernel_that_seems_to_start_before_its_call(void **state)
{
    struct bench *b = *state;
    begin(b);
    call(b, 1, PW_OP_Allreduce, 1000, 0);
    task(b, 1, 51, 1100, PW_NCCL_TASK_LAUNCHED);
    call(b, 2, PW_OP_Allreduce, 2000, PW_NCCL_CALL_ALONE);
    kernel(b, 0, 1105, 990, 1);
    kernel(b, 1, 2005, 1990, 1);
    struct rows r = close_bench(b, 2);
    check_kernel(&r, 1, 0);
    check_kernel(&r, 2, 1);
    drop(&r);
}

/* Those of one plan share its kernel, also the one that is reported after it. */
static void test_operations_of_one_plan_share_its_kernel(void **state)
{
    struct bench *b = *state;
    begin(b);
    call(b, 1, PW_OP_Allreduce, 1000, 0);
    call(b, 2, PW_OP_Allgather, 1020, 0);
    call(b, 3, PW_OP_Allreduce, 1040, 0);
    task(b, 1, 50, 1100, PW_NCCL_TASK_LAUNCHED);
    task(b, 2, 50, 1100, PW_NCCL_TASK_LAUNCHED);
    kernel(b, 0, 1105, 5000, 1);
    task(b, 3, 50, 1100, PW_NCCL_TASK_LAUNCHED);
    struct rows r = close_bench(b, 3);
    for (int id = 1; id <= 3; id++)
        check_kernel(&r, id, 0);
    drop(&r);
}

/* Before 2.28: the kernel was launched before the task was reported. One of them is lost. */
static void test_launched_before(void **state)
{
    struct bench *b = *state;
    begin(b);
    for (uint64_t id = 1; id <= 3; id++) {
        call(b, id, PW_OP_Allreduce, id * 1000, 0);
        task(b, id, 50 + id, id * 1000, 0);
    }
    kernel(b, 0, 990, 5000, 1);
    kernel(b, 1, 2990, 7000, 1);
    struct rows r = close_bench(b, 3);
    check_kernel(&r, 1, 0);
    check_enqueued(&r, 2, 2000);
    check_kernel(&r, 3, 1);
    drop(&r);
}

/* The kernel may be known before the records of its launch, which are in another ring. */
static void test_kernel_first(void **state)
{
    struct bench *b = *state;
    begin(b);
    kernel(b, 0, 1105, 5000, 1);
    call(b, 1, PW_OP_Allreduce, 1000, 0);
    task(b, 1, 50, 1100, PW_NCCL_TASK_LAUNCHED);
    struct rows r = close_bench(b, 1);
    check_kernel(&r, 1, 0);
    drop(&r);
}

/* Symmetric kernels have a call and a kernel, and nothing in between. */
static void test_symmetric_kernels_have_a_call_only(void **state)
{
    struct bench *b = *state;
    begin(b);
    call(b, 1, PW_OP_Allreduce, 1000, 0);
    kernel(b, 0, 1005, 5000, 1);
    call(b, 2, PW_OP_Allreduce, 2000, PW_NCCL_CALL_ALONE); /* a wrapper's, in a group */
    kernel(b, 1, 2500, 6000, 1);
    call(b, 3, PW_OP_Allreduce, 3000, PW_NCCL_CALL_ALONE);
    kernel(b, 2, 3005, 7000, 1);
    struct rows r = close_bench(b, 3);
    check_kernel(&r, 1, 0);
    check_enqueued(&r, 2, 2000);
    check_kernel(&r, 3, 2);
    drop(&r);
}

/* Kernels of graphs belong to calls that were made once: to none of those here. */
static void test_graph_kernel(void **state)
{
    struct bench *b = *state;
    begin(b);
    call(b, 1, PW_OP_Allreduce, 1000, 0);
    task(b, 1, 50, 1100, PW_NCCL_TASK_LAUNCHED);
    kernel(b, 0, 1105, 5000, 1);
    bench_kernel[0].graph_node = 4;
    struct rows r = close_bench(b, 1);
    check_enqueued(&r, 1, 1000);
    drop(&r);
}

/* ---- by NVTX ---- */

enum { DOMAIN = 3, COMM_ID, BYTES, ROOT, RANKS, RANK, ALLREDUCE, BROADCAST, INIT };

static void name_nvtx(struct bench *b)
{
    static const char *const texts[] = {
        "NCCL",          "NCCL communicator ID", "Message size [bytes]",
        "Root",          "No. of ranks",         "Rank",
        "ncclAllReduce", "ncclBroadcast",        "ncclCommInitRank"};
    for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        bench_name(b, DOMAIN + i, texts[i]);
}

static void begin_nvtx(struct bench *b)
{
    begin(b);
    name_nvtx(b);
}

static void field(struct bench *b, int64_t id, uint32_t name, int64_t value)
{
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_NVTX_PAYLOAD,
                                  .op = PW_PAYLOAD_UINT,
                                  .payload = {.id = id, .field = name, .value = value}});
}

/* The range of the payload `id`, which lasts 20. */
static void range(struct bench *b, int64_t id, uint32_t name, uint64_t start)
{
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_NVTX,
                                  .op = PW_PAYLOAD_FIELDS,
                                  .start = start,
                                  .end = start + 20,
                                  .range = {.name = name, .domain = DOMAIN, .payload = id}});
}

static void nvtx_init(struct bench *b, int64_t id, int64_t uid, int64_t rank, int64_t size)
{
    field(b, id, COMM_ID, uid);
    field(b, id, RANKS, size);
    field(b, id, RANK, rank);
    range(b, id, INIT, 100);
}

static void nvtx_call(struct bench *b, int64_t id, int64_t uid, uint64_t start)
{
    field(b, id, COMM_ID, uid);
    field(b, id, BYTES, 800);
    range(b, id, ALLREDUCE, start);
}

/* Nothing else reports them; the kernel of one is known. One rank alone has none, and of two ranks
 * in a process it is unknown whose a call is. */
static void test_nvtx_alone(void **state)
{
    struct bench *b = *state;
    begin_nvtx(b);
    nvtx_init(b, 1, 70, 2, 4);
    nvtx_init(b, 2, 71, 0, 1);
    nvtx_init(b, 3, 72, 0, 2);
    nvtx_init(b, 4, 72, 1, 2);
    nvtx_call(b, 5, 70, 1000);
    nvtx_call(b, 6, 71, 2000);
    nvtx_call(b, 7, 72, 3000);
    nvtx_call(b, 8, 0, 4000); /* with a communicator that is none */
    field(b, 9, COMM_ID, 70);
    field(b, 9, BYTES, 400);
    field(b, 9, ROOT, 2);
    range(b, 9, BROADCAST, 5000);
    kernel(b, 0, 1010, 9000, 1);
    struct rows r = close_bench(b, 2);
    check_kernel(&r, 1, 0);
    check_enqueued(&r, 2, 5000);
    assert_int_equal(r.events[row_of(&r, 1)->comm_row].sent_bytes, 800);
    const struct pw_row_comm_event *cast = &r.events[row_of(&r, 2)->comm_row];
    assert_int_equal(cast->op, PW_OP_Bcast);
    assert_int_equal(cast->sent_bytes, 400);
    assert_int_equal(cast->recv_bytes, 0);
    assert_int_equal(cast->seq, 1);
    size_t n;
    struct pw_row_comms *comms = bench_rows(b, PW_TABLE_comms, &n);
    bench_assert_comm(&comms[cast->comm], 70, 4, 2, 2);
    free(comms);
    drop(&r);
}

/* A wrapper reports one of two calls: around its range. */
static void test_nvtx_and_wrappers(void **state)
{
    struct bench *b = *state;
    begin_nvtx(b);
    nvtx_call(b, 1, 70, 1000);
    nvtx_call(b, 2, 70, 2002);
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_NCCL_CALL,
                                  .op = PW_OP_Allreduce,
                                  .flags = PW_NCCL_CALL_ALONE,
                                  .start = 2000,
                                  .end = 2030,
                                  .nccl_call = {.id = 9, .seq = 1, .peer = -1}});
    struct rows r = close_bench(b, 2);
    check_enqueued(&r, 1, 1000);
    check_enqueued(&r, 9, 2000);
    drop(&r);
}

/* With the plugin no range is an operation, whether it says first that it is there or not. */
static void test_nvtx_and_plugin(void **state)
{
    struct bench *b = *state;
    begin_nvtx(b);
    nvtx_call(b, 1, 7, 1000);
    call(b, 1, PW_OP_Allreduce, 1005, 0);
    nvtx_call(b, 2, 7, 2000);
    bench_thread(b, 0, 0, true);
    bench_name(b, 1, "gemm");
    bench_name(b, 2, "gemm");
    name_nvtx(b);
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_NCCL_PLUGIN});
    nvtx_call(b, 3, 7, 3000);
    struct rows r = close_bench(b, 1);
    check_enqueued(&r, 1, 1005);
    drop(&r);
}

/* Records that nothing of ours wrote do no harm. */
static void test_hostile(void **state)
{
    struct bench *b = *state;
    uint64_t seed = 1;
    begin(b);
    for (int i = 0; i < 900; i++) {
        const struct pw_record r = bench_hostile(&seed, PW_REC_NCCL_COMM + i % 7);
        bench_put(b, 0, &r);
        if (i % 100 == 0)
            kernel(b, 0, (int64_t)r.start, (int64_t)r.end, 1);
    }
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_reported_launches),
        ON_BENCH(test_kernel_that_seems_to_start_before_its_call),
        ON_BENCH(test_operations_of_one_plan_share_its_kernel),
        ON_BENCH(test_launched_before),
        ON_BENCH(test_kernel_first),
        ON_BENCH(test_symmetric_kernels_have_a_call_only),
        ON_BENCH(test_graph_kernel),
        ON_BENCH(test_nvtx_alone),
        ON_BENCH(test_nvtx_and_wrappers),
        ON_BENCH(test_nvtx_and_plugin),
        ON_BENCH(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
