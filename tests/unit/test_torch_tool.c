/* The tool half of module torch: operations of process groups from records of several threads.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/modules.h"
#include "core/ops.h"
#include "test_drain_bench.h"

enum { ASKS, RUNS }; /* rings: of the program's thread, and of the group's */

static int setup(void **state)
{
    static struct pw_module table[2];
    table[0] = pw_module_torch;
    return bench_create(state, table, PW_ACTIVITY_TORCH);
}

/* Group 0: ranks 2, 3 and 7; this rank is the second. */
static void begin(struct bench *b)
{
    bench_thread(b, ASKS, 0, true);
    bench_thread(b, RUNS, 1, false);
    bench_put(b, ASKS,
              &(struct pw_record){.type = PW_REC_TORCH_GROUP,
                                  .def = {.uid = 77, .comm = 0, .size = 3, .my_rank = 1}});
    struct pw_record members = {.type = PW_REC_TORCH_MEMBERS, .members = {.comm = 0, .nruns = 2}};
    members.members.runs[0].first = 2;
    members.members.runs[0].stride = 1;
    members.members.runs[0].count = 2;
    members.members.runs[1].first = 7;
    members.members.runs[1].stride = 1;
    members.members.runs[1].count = 1;
    bench_put(b, ASKS, &members);
}

static void call(struct bench *b, uint64_t id, uint16_t op, uint64_t start)
{
    bench_put(b, ASKS,
              &(struct pw_record){.type = PW_REC_TORCH_CALL,
                                  .op = op,
                                  .start = start,
                                  .end = start + 10,
                                  .torch_call = {.id = id,
                                                 .seq = (uint32_t)id - 1,
                                                 .sent_bytes = 400,
                                                 .recv_bytes = 400,
                                                 .peer = -1}});
}

static void done(struct bench *b, uint64_t id, uint64_t end)
{
    bench_put(
        b, RUNS,
        &(struct pw_record){
            .type = PW_REC_TORCH_DONE, .start = end - 5, .end = end, .torch_work = {.id = id}});
}

static void wait_for(struct bench *b, uint64_t id, uint64_t start, uint64_t end)
{
    bench_put(b, ASKS,
              &(struct pw_record){
                  .type = PW_REC_TORCH_WAIT, .start = start, .end = end, .torch_work = {.id = id}});
}

/* The operations' rows; those of waits are behind them in the order in which they came. */
static struct pw_row_comm_event *close_bench(struct bench *b, size_t wanted, size_t waits)
{
    size_t n, operations = 0;
    bench_close(b);
    struct pw_row_comm_event *all = bench_rows(b, PW_TABLE_comm_event, &n);
    struct pw_row_comm_event *rows = calloc(n + 1, sizeof(*rows));
    assert_non_null(rows);
    assert_int_equal(n, wanted + waits);
    for (int is_wait = 0; is_wait < 2; is_wait++)
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(all[i].source, PW_SOURCE_GLOO);
            if ((pw_op_info(all[i].op)->cls == PW_CLASS_WAIT) != is_wait)
                continue;
            assert_int_equal(all[i].flags & PW_FLAG_NONBLOCKING, is_wait ? 0 : PW_FLAG_NONBLOCKING);
            rows[operations++] = all[i];
        }
    free(all);
    return rows;
}

/* Asked at 1000 for 10 ns, awaited from 1100 on, done at 1300: it stood still for 200 ns. */
static void test_operation_that_is_awaited(void **state)
{
    struct bench *b = *state;
    begin(b);
    call(b, 1, PW_OP_Allreduce, 1000);
    done(b, 1, 1300);
    wait_for(b, 1, 1100, 1310);
    struct pw_row_comm_event *rows = close_bench(b, 1, 1);
    assert_int_equal(rows[0].op, PW_OP_Allreduce);
    assert_int_equal(rows[0].start, 1000);
    assert_int_equal(rows[0].end, 1300);
    assert_int_equal(rows[0].wait_start, 1100);
    assert_int_equal(rows[0].inside_ns, 10 + 200);
    assert_int_equal(rows[0].sent_bytes, 400);
    assert_int_equal(rows[0].thread, 0);
    assert_int_equal(rows[1].op, PW_OP_Wait);
    assert_int_equal(rows[1].start, 1100);
    assert_int_equal(rows[1].end, 1310);
    free(rows);
}

/* Done before it is awaited: nothing stood still. */
static void test_wait_after_the_end(void **state)
{
    struct bench *b = *state;
    begin(b);
    call(b, 1, PW_OP_Allreduce, 1000);
    done(b, 1, 1300);
    wait_for(b, 1, 1400, 1401);
    struct pw_row_comm_event *rows = close_bench(b, 1, 1);
    assert_int_equal(rows[0].end, 1300);
    assert_int_equal(rows[0].wait_start, 0);
    assert_int_equal(rows[0].inside_ns, 10);
    free(rows);
}

/* One wait for all that were begun, as at the end of a backward pass; later ones are not of it.
 * Their ends are told in another order, and one before its call. */
static void test_one_wait_for_all(void **state)
{
    struct bench *b = *state;
    begin(b);
    done(b, 2, 1500);
    call(b, 1, PW_OP_Allreduce, 1000);
    call(b, 2, PW_OP_Allreduce, 1020);
    wait_for(b, UINT64_MAX, 1100, 1600);
    call(b, 3, PW_OP_Allreduce, 2000);
    done(b, 3, 2100);
    done(b, 1, 1400);
    struct pw_row_comm_event *rows = close_bench(b, 3, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rows[i].seq, i);
    assert_int_equal(rows[0].wait_start, 1100);
    assert_int_equal(rows[0].end, 1400);
    assert_int_equal(rows[1].wait_start, 1100);
    assert_int_equal(rows[1].end, 1500);
    assert_int_equal(rows[2].wait_start, 0);
    assert_int_equal(rows[2].end, 2100);
    assert_int_equal(rows[3].op, PW_OP_Waitall);
    free(rows);
}

/* An operation whose end is not known has only the call's times; it is counted. */
static void test_operation_without_an_end(void **state)
{
    struct bench *b = *state;
    begin(b);
    call(b, 1, PW_OP_Barrier, 1000);
    call(b, 0, PW_OP_Barrier, 1100);
    struct pw_row_comm_event *rows = close_bench(b, 2, 0);
    size_t n;
    assert_int_equal(rows[0].start + rows[1].start, 2100);
    assert_int_equal(rows[0].end - rows[0].start, 10);
    struct pw_row_overhead *overhead = bench_rows(b, PW_TABLE_overhead, &n);
    int found = 0;
    for (size_t i = 0; i < n; i++)
        found += strcmp(overhead[i].name, "gloo_unended") == 0 && overhead[i].value == 2;
    assert_int_equal(found, 1);
    free(overhead);
    free(rows);
}

/* More operations that are not awaited than are kept: all have a row, in their order. */
static void test_more_than_are_kept(void **state)
{
    enum { N = 3000 };
    struct bench *b = *state;
    begin(b);
    for (uint64_t id = 1; id <= N; id++) {
        call(b, id, PW_OP_Allreduce, id * 100);
        done(b, id, id * 100 + 50);
        if (id % 200 == 0)
            assert_true(pw_drain_run(b->drain) >= 0);
    }
    struct pw_row_comm_event *rows = close_bench(b, N, 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(rows[i].seq, i);
        assert_int_equal(rows[i].end - rows[i].start, 50);
    }
    free(rows);
}

static void test_group_and_root(void **state)
{
    struct bench *b = *state;
    size_t n;
    begin(b);
    call(b, 1, PW_OP_Bcast, 1000);
    done(b, 1, 1300);
    struct pw_row_comm_event *rows = close_bench(b, 1, 0);
    assert_int_equal(rows[0].sent_bytes, 0); /* not the root */
    assert_int_equal(rows[0].recv_bytes, 400);
    struct pw_row_comms *comms = bench_rows(b, PW_TABLE_comms, &n);
    assert_int_equal(n, 1);
    bench_assert_comm(&comms[0], 77, 3, 1, 1);
    assert_int_equal(comms[0].source, PW_SOURCE_GLOO);
    struct pw_row_member *members = bench_rows(b, PW_TABLE_member, &n);
    assert_int_equal(n, 3);
    assert_int_equal(members[comms[0].first_member + 2].world_rank, 7);
    free(members);
    free(comms);
    free(rows);
}

static void assert_order(struct bench *b, size_t norder, uint32_t count, uint64_t hash)
{
    struct pw_live live = {.wants_order = 1, .recording = 1};
    assert_true(pw_drain_run(b->drain) >= 0);
    assert_int_equal(pw_drain_live(b->drain, &live), 0);
    assert_int_equal(live.ncomms, 1);
    assert_int_equal(live.comms[0].source, PW_SOURCE_GLOO);
    assert_int_equal(live.comms[0].norder, norder);
    for (size_t i = 0; i < norder; i++)
        if (live.comms[0].order[i].count == count)
            assert_true(live.comms[0].order[i].hash == hash);
    pw_live_fini(&live);
}

/* After two operations the hashes of #1 and of #2 are kept: a x factor + b. Another thread's record
 * may come late; an operation that is missing for long ends the comparison. */
static void test_order_of_collectives(void **state)
{
    enum { EARLY = 16 }; /* operations that are kept while one before them is missing */
    struct bench *b = *state;
    const uint64_t reduce = pw_callorder_sign(PW_OP_Allreduce, -1, 400, 400, true);
    const uint64_t barrier = pw_callorder_sign(PW_OP_Barrier, -1, 0, 0, true);
    assert_true(reduce != barrier);
    begin(b);
    call(b, 1, PW_OP_Allreduce, 1000);
    call(b, 2, PW_OP_Barrier, 1100);
    assert_order(b, 2, 1, reduce);
    assert_order(b, 2, 2, reduce * PW_CALLORDER_FACTOR + barrier);
    call(b, 4, PW_OP_Barrier, 1200);
    assert_order(b, 2, 2, reduce * PW_CALLORDER_FACTOR + barrier);
    call(b, 3, PW_OP_Allreduce, 1300);
    assert_order(b, 3, 3, (reduce * PW_CALLORDER_FACTOR + barrier) * PW_CALLORDER_FACTOR + reduce);
    for (int i = 0; i <= EARLY; i++)
        call(b, (uint32_t)(6 + i), PW_OP_Barrier, (uint64_t)(1400 + 10 * i));
    assert_order(b, 0, 0, 0);
    free(close_bench(b, 4 + EARLY + 1, 0));
}

/* Sizes that must be equal are part of a signature, others are not. */
static void test_signatures(void **state)
{
    (void)state;
    assert_int_not_equal(pw_callorder_sign(PW_OP_Bcast, 0, 8, 8, true),
                         pw_callorder_sign(PW_OP_Bcast, 0, 16, 16, true));
    assert_int_not_equal(pw_callorder_sign(PW_OP_Bcast, 0, 8, 8, true),
                         pw_callorder_sign(PW_OP_Bcast, 1, 8, 8, true));
    assert_int_equal(pw_callorder_sign(PW_OP_Alltoall, -1, 8, 8, true),
                     pw_callorder_sign(PW_OP_Alltoall, -1, 16, 24, true));
    assert_int_equal(pw_callorder_sign(PW_OP_Bcast, 0, 8, 8, false),
                     pw_callorder_sign(PW_OP_Bcast, 0, 16, 16, false));
    assert_int_equal(pw_callorder_sign(PW_OP_Allreduce, -1, -1, -1, true), PW_REDUCTION_UNKNOWN);
    assert_int_equal(pw_callorder_sign(PW_OP_Reduce, 3, 8, 8, true) & PW_CALLORDER_REDUCTION_MASK,
                     PW_REDUCTION_NONE);
}

/* Records that nothing of ours wrote do no harm. */
static void test_hostile(void **state)
{
    struct bench *b = *state;
    uint64_t seed = 1;
    begin(b);
    for (int i = 0; i < 900; i++) {
        const struct pw_record r = bench_hostile(&seed, PW_REC_TORCH_GROUP + i % 5);
        bench_put(b, i & 1, &r);
    }
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_operation_that_is_awaited),
        ON_BENCH(test_wait_after_the_end),
        ON_BENCH(test_one_wait_for_all),
        ON_BENCH(test_operation_without_an_end),
        ON_BENCH(test_more_than_are_kept),
        ON_BENCH(test_group_and_root),
        ON_BENCH(test_order_of_collectives),
        cmocka_unit_test(test_signatures),
        ON_BENCH(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
