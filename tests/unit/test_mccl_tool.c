/* The tool half of module mindspore: groups, operations, and records that cannot be. */
#include "unit.h"

#include <stdlib.h>

#include "collectors/modules.h"
#include "core/ops.h"
#include "test_drain_bench.h"

static int setup(void **state)
{
    static struct pw_module table[2];
    table[0] = pw_module_mindspore;
    return bench_create(state, table, PW_ACTIVITY_MINDSPORE);
}

/* Group 0: ranks 2, 3 and 7; this rank is the second. */
static void begin(struct bench *b)
{
    bench_thread(b, 0, 0, true);
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_MCCL_GROUP,
                                  .def = {.uid = 77, .comm = 0, .size = 3, .my_rank = 1}});
    struct pw_record members = {.type = PW_REC_MCCL_MEMBERS, .members = {.comm = 0, .nruns = 2}};
    members.members.runs[0].first = 2;
    members.members.runs[0].stride = 1;
    members.members.runs[0].count = 2;
    members.members.runs[1].first = 7;
    members.members.runs[1].stride = 1;
    members.members.runs[1].count = 1;
    bench_put(b, 0, &members);
}

static void test_operations(void **state)
{
    struct bench *b = *state;
    size_t n;
    begin(b);
    bench_put(b, 0,
              &(struct pw_record){
                  .type = PW_REC_MCCL_CALL,
                  .op = PW_OP_Allreduce,
                  .start = 1000,
                  .end = 1300,
                  .torch_call = {.seq = 4, .sent_bytes = 400, .recv_bytes = 400, .peer = -1}});
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_MCCL_CALL,
                                  .op = PW_OP_Bcast,
                                  .flags = PW_FLAG_ROOT | PW_FLAG_ERROR,
                                  .start = 1400,
                                  .end = 1500,
                                  .torch_call = {.comm = UINT32_MAX, .sent_bytes = 8, .peer = 3}});
    bench_close(b);
    struct pw_row_comm_event *rows = bench_rows(b, PW_TABLE_comm_event, &n);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].source, PW_SOURCE_MCCL);
    assert_int_equal(rows[0].op, PW_OP_Allreduce);
    assert_int_equal(rows[0].start, 1000);
    assert_int_equal(rows[0].end, 1300);
    assert_int_equal(rows[0].inside_ns, 300);
    assert_int_equal(rows[0].comm, 0);
    assert_int_equal(rows[0].seq, 4);
    assert_int_equal(rows[0].sent_bytes, 400);
    assert_int_equal(rows[0].flags, 0);
    assert_int_equal(rows[1].comm, -1); /* of a group that is not known */
    assert_int_equal(rows[1].flags, PW_FLAG_ROOT | PW_FLAG_ERROR);
    assert_int_equal(rows[1].peer, 3);
    free(rows);
    struct pw_row_comms *comms = bench_rows(b, PW_TABLE_comms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(comms[0].uid, 77);
    assert_int_equal(comms[0].size, 3);
    assert_int_equal(comms[0].source, PW_SOURCE_MCCL);
    assert_int_equal(comms[0].collectives, 5);
    free(comms);
    struct pw_row_member *members = bench_rows(b, PW_TABLE_member, &n);
    assert_int_equal(n, 3);
    assert_int_equal(members[2].world_rank, 7);
    free(members);
}

static void test_hostile(void **state)
{
    struct bench *b = *state;
    uint64_t seed = 1;
    begin(b);
    for (int i = 0; i < 900; i++) {
        const struct pw_record r = bench_hostile(&seed, PW_REC_MCCL_GROUP + i % 3);
        bench_put(b, 0, &r);
    }
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_operations),
        ON_BENCH(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
