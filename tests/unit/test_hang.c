/* Who waits for whom, in jobs made by hand. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/hang.h"
#include "core/ops.h"
#include "core/tables.h"

enum { RANKS = 5, WORLD = 0x57, LEFT = 0x1, RIGHT = 0x2 };
#define S ((int64_t)1000000000)

/* Five ranks with a thread and three communicators each; no rank has begun a collective. */
struct job {
    struct pw_live ranks[RANKS];
    struct pw_live_thread threads[RANKS][2];
    struct pw_live_comm comms[RANKS][3];
    int32_t *scratch;
    struct pw_hang hang;
};

static int setup(void **state)
{
    static const uint64_t uids[] = {WORLD, LEFT, RIGHT};
    struct job *job = calloc(1, sizeof(*job));
    for (int r = 0; r < RANKS; r++) {
        job->threads[r][0] = (struct pw_live_thread){.since_ns = 60 * S, .seq = -1, .peer = -1};
        for (int c = 0; c < 3; c++)
            job->comms[r][c] = (struct pw_live_comm){.uid = uids[c], .size = RANKS};
        job->ranks[r] = (struct pw_live){
            .rank = r,
            .world_size = RANKS,
            .threads = job->threads[r],
            .nthreads = 1,
            .comms = job->comms[r],
            .ncomms = 3,
        };
    }
    job->scratch = malloc(sizeof(*job->scratch) * pw_hang_scratch(RANKS, 2 * RANKS));
    *state = job;
    return 0;
}

static int teardown(void **state)
{
    struct job *job = *state;
    free(job->scratch);
    free(job);
    return 0;
}

static struct pw_live_thread *enter(struct job *job, int rank, enum pw_op op, uint64_t uid,
                                    int64_t seq, int32_t peer)
{
    struct pw_live_thread *t = &job->threads[rank][0];
    *t = (struct pw_live_thread){
        .op = (uint16_t)op, .since_ns = 10 * S, .comm_uid = uid, .seq = seq, .peer = peer};
    for (int c = 0; c < 3 && seq >= 0; c++)
        if (job->comms[rank][c].uid == uid)
            job->comms[rank][c].reached = seq;
    return t;
}

static const struct pw_hang *find(struct job *job)
{
    pw_hang_find(job->ranks, RANKS, S, job->scratch, &job->hang);
    return &job->hang;
}

static void check_rows(const int32_t *found, size_t n, size_t wanted_n, const int32_t *wanted)
{
    assert_int_equal(n, wanted_n);
    assert_memory_equal(found, wanted, n * sizeof(*found));
}
#define ROWS(found, n, ...) \
    check_rows(found, n, sizeof((int32_t[]){__VA_ARGS__}) / 4, (int32_t[]){__VA_ARGS__})

static void test_no_hang_while_no_rank_waits(void **state)
{
    const struct pw_hang *hang = find(*state);
    assert_int_equal(hang->kind, PW_HANG_NOBODY);
    assert_int_equal(hang->waiting, 0);
}

/* Ranks 0, 1, 2, 4 wait in the 17th collective for rank 3, which has left 16 and computes. */
static void test_rank_that_has_not_entered_a_collective(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        if (r != 3)
            enter(job, r, PW_OP_Allreduce, WORLD, 16, -1);
    job->comms[3][0].reached = 16;
    job->threads[1][0].since_ns = 12 * S;
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 3);
    assert_int_equal(hang->held, 4);
    assert_int_equal(hang->waiting, 4);
    assert_int_equal(hang->ngroups, 1);
    ROWS(hang->groups[0].waiting, hang->groups[0].nwaiting, 0, 1, 2, 4);
    ROWS(hang->groups[0].missing, hang->groups[0].nmissing, 3);
    assert_int_equal(hang->groups[0].waited_ns, 12 * S);
    assert_int_equal(hang->groups[0].seq, 16);
    assert_int_equal(hang->groups[0].unknown, 0);
}

/* A member that is past the collective is not missed: of a Bcast the root may be. */
static void test_member_past_the_collective_is_not_missing(void **state)
{
    struct job *job = *state;
    for (int r = 1; r < RANKS - 1; r++)
        enter(job, r, PW_OP_Bcast, WORLD, 4, 0);
    job->comms[0][0].reached = 5;
    job->comms[4][0].reached = 4;
    const struct pw_hang *hang = find(job);
    ROWS(hang->groups[0].missing, hang->groups[0].nmissing, 4);
    ROWS(hang->roots, hang->nroots, 4);
    /* The root has not come: no rank waits for the other one that has not. */
    job->comms[0][0].reached = 4;
    hang = find(job);
    ROWS(hang->groups[0].missing, hang->groups[0].nmissing, 0, 4);
    ROWS(hang->roots, hang->nroots, 0);
    assert_int_equal(hang->held, 3);
}

/* Rank 0 waits for the message of 1, 1 for that of 2, 2 for that of 3, which computes. */
static void test_chain(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < 3; r++)
        enter(job, r, PW_OP_Recv, WORLD, -1, r + 1);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 3);
    assert_int_equal(hang->held, 3);
    assert_int_equal(hang->ngroups, 0);
    /* What a completion call waits for counts, not its own name. */
    struct pw_live_thread *t = enter(job, 3, PW_OP_Wait, WORLD, -1, 4);
    t->awaited = PW_OP_Irecv;
    hang = find(job);
    ROWS(hang->roots, hang->nroots, 4);
    assert_int_equal(hang->held, 4);
}

static void test_cycle(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Recv, WORLD, -1, 2); /* hangs behind the cycle 2 - 4 - 3 - 2 */
    enter(job, 2, PW_OP_Recv, WORLD, -1, 4);
    enter(job, 4, PW_OP_Send, WORLD, -1, 3);
    enter(job, 3, PW_OP_Ssend, WORLD, -1, 2);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_CYCLE);
    ROWS(hang->cycle, hang->ncycle, 2, 4, 3);
    assert_int_equal(hang->held, 1);
    assert_int_equal(hang->nroots, 0);
    enter(job, 2, PW_OP_Recv, WORLD, -1, 2); /* from itself */
    hang = find(job);
    ROWS(hang->cycle, hang->ncycle, 2);
    assert_int_equal(hang->held, 3);
}

static void test_crossed(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        enter(job, r, PW_OP_Barrier, r < 2 ? LEFT : RIGHT, 3, -1);
    for (int r = 0; r < RANKS; r++)
        job->comms[r][1].reached = job->comms[r][2].reached = 3;
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_CYCLE);
    ROWS(hang->cycle, hang->ncycle, 0, 2);
    assert_int_equal(hang->held, 3);
    assert_int_equal(hang->ngroups, 2);
    ROWS(hang->groups[0].missing, hang->groups[0].nmissing, 2, 3, 4);
    ROWS(hang->groups[1].missing, hang->groups[1].nmissing, 0, 1);
}

static void test_members_in_different_functions(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        enter(job, r, r == 2 ? PW_OP_Barrier : PW_OP_Allreduce, WORLD, 3, -1);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->ngroups, 1);
    assert_true(hang->groups[0].is_mismatched);
    assert_int_equal(hang->groups[0].nmissing, 0);
    assert_int_equal(hang->kind, PW_HANG_UNKNOWN);
}

/* All others have left the collective that rank 1 is in, and wait for it in the next one. */
static void test_still_in_a_collective_that_all_have_entered(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        enter(job, r, PW_OP_Barrier, WORLD, r == 1 ? 3 : 4, -1);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 1);
    assert_int_equal(hang->held, RANKS - 1);
}

/* Functions without a number: those that are not in the same one are missed. */
static void test_collective_functions_without_a_number(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < 3; r++)
        enter(job, r, PW_OP_Comm_split, WORLD, -1, -1);
    enter(job, 3, PW_OP_Finalize, 0, -1, -1);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->ngroups, 2);
    ROWS(hang->groups[0].missing, hang->groups[0].nmissing, 3, 4);
    ROWS(hang->groups[1].missing, hang->groups[1].nmissing, 0, 1, 2, 4);
    assert_int_equal(hang->groups[1].size, RANKS);
    assert_int_equal(hang->kind, PW_HANG_CYCLE); /* and rank 4 besides */
    ROWS(hang->roots, hang->nroots, 4);
}

/* Of functions without a number the collectors count the calls: who has left one is not missed in
 * it. Without this number, nobody is known to have left. */
static void test_calls_without_a_number_are_counted(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Comm_split, WORLD, -1, -1);
    enter(job, 1, PW_OP_Barrier, WORLD, 2, -1);
    for (int r = 0; r < RANKS; r++) {
        job->comms[r][0].unnumbered = r ? 1 : 0;
        job->comms[r][0].reached = r < 2 ? 2 : 3;
    }
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 0);
    job->comms[2][0].unnumbered = 0;
    hang = find(job);
    ROWS(hang->roots, hang->nroots, 2);
    job->comms[1][0].unnumbered = -1;
    assert_int_equal(find(job)->kind, PW_HANG_CYCLE);
}

/* A rank that has created the group of all ranks has left the call. */
static void test_creation_of_a_gloo_group(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS - 1; r++)
        enter(job, r, PW_OP_Init, 0, -1, -1)->source = PW_SOURCE_GLOO;
    const struct pw_hang *hang = find(job);
    ROWS(hang->roots, hang->nroots, 4);
    assert_int_equal(hang->held, 4);
    for (int r = 1; r < RANKS; r++) {
        job->comms[r][2].source = PW_SOURCE_GLOO;
        job->threads[r][0].op = PW_OP_None;
    }
    hang = find(job);
    assert_int_equal(hang->nroots, 0);
    assert_int_equal(hang->groups[0].nmissing, 0);
}

/* Rank 0 has PyTorch's store, and waits for rank 4; the others have connected to it, and create a
 * group: rank 4 alone is missing there. */
static void test_connection_to_a_store(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS - 1; r++) {
        enter(job, r, r ? PW_OP_Init : PW_OP_Init_thread, 0, -1, -1)->source = PW_SOURCE_GLOO;
        job->ranks[r].meetings = r > 0;
    }
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 4);
    assert_int_equal(hang->held, 4);
    ROWS(hang->groups[0].waiting, hang->groups[0].nwaiting, 0);
    ROWS(hang->groups[0].missing, hang->groups[0].nmissing, 4);
}

/* Of two ranks that are in no call, one has left MindSpore's init(), and one has not come to it. */
static void test_init_of_mindspore(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS - 2; r++)
        enter(job, r, PW_OP_Init, 0, -1, -1)->source = PW_SOURCE_MCCL;
    job->ranks[3].meetings = 1;
    const struct pw_hang *hang = find(job);
    ROWS(hang->roots, hang->nroots, 4);
    ROWS(hang->groups[0].waiting, hang->groups[0].nwaiting, 0, 1, 2);
    ROWS(hang->groups[0].missing, hang->groups[0].nmissing, 4);
}

/* A rank that has MPI_COMM_WORLD has left MPI_Init; one that still is in it, which had no CPU, is
 * not said to wait for those that have left, but they for it. */
static void test_mpi_init(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        job->ranks[r].ncomms = 0;
    for (int r = 0; r < RANKS - 1; r++)
        enter(job, r, r ? PW_OP_Init_thread : PW_OP_Init, 0, -1, -1);
    const struct pw_hang *hang = find(job);
    ROWS(hang->roots, hang->nroots, 4);
    assert_int_equal(hang->held, 4);
    assert_int_equal(hang->ngroups, 1);
    assert_false(hang->groups[0].is_mismatched);

    for (int r = 1; r < RANKS; r++) {
        job->ranks[r].ncomms = 1;
        job->threads[r][0].op = PW_OP_None;
    }
    hang = find(job);
    assert_int_equal(hang->groups[0].nmissing, 0);
    assert_int_equal(hang->nroots, 0);

    for (int r = 1; r < RANKS; r++)
        enter(job, r, PW_OP_Barrier, WORLD, 0, -1);
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 0);
    assert_int_equal(hang->held, 4);
}

/* Where counts are not known, a member that has left an operation on a file may have been in it. */
static void test_operations_on_files_may_be_left(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_File_write_all, WORLD, -1, -1);
    for (int r = 0; r < RANKS; r++) {
        if (r)
            enter(job, r, PW_OP_Barrier, WORLD, 3, -1);
        job->comms[r][0].unnumbered = -1;
        job->comms[r][0].reached = r ? 4 : 3;
    }
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 0);
}

/* A rank counts a nonblocking creation when it has waited for it, so the counts of ranks that are
 * in the same call differ. */
static void test_nonblocking_creations_are_no_number(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++) {
        enter(job, r, PW_OP_Wait, WORLD, -1, -1)->awaited = PW_OP_Comm_idup;
        job->comms[r][0].unnumbered = r;
    }
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->ngroups, 1);
    assert_int_equal(hang->groups[0].nmissing, 0);
}

/* The last thread to do something speaks for the rank. */
static void test_threads(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Recv, WORLD, -1, 1);
    /* A helper of rank 1 waits for rank 0 since long; its main thread left MPI later. */
    enter(job, 1, PW_OP_Recv, WORLD, -1, 0)->since_ns = 50 * S;
    job->threads[1][1] = (struct pw_live_thread){.since_ns = 20 * S, .seq = -1, .peer = -1};
    job->ranks[1].nthreads = 2;
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 1);
    /* It only started MPI, before: the other is what the rank is about. */
    job->threads[1][1].since_ns = 55 * S;
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_CYCLE);
    ROWS(hang->cycle, hang->ncycle, 0, 1);
    /* What the helper waits for does not hold the rank. */
    job->threads[1][1] = (struct pw_live_thread){
        .tid = 1, .op = PW_OP_Recv, .comm_uid = WORLD, .since_ns = 5 * S, .seq = -1, .peer = 2};
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 2);
}

static void test_calls_shorter_than_the_limit_do_not_wait(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Recv, WORLD, -1, 1);
    enter(job, 1, PW_OP_Recv, WORLD, -1, 0)->since_ns = S / 2; /* it goes on: no deadlock */
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    ROWS(hang->roots, hang->nroots, 1);
}

/* A member that did not answer is not known to be there or not. */
static void test_unknown_members(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++) {
        job->comms[r][0].size = RANKS + 2;
        enter(job, r, PW_OP_Allreduce, WORLD, 3, -1);
    }
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_UNKNOWN);
    assert_int_equal(hang->groups[0].unknown, 2);
    assert_int_equal(hang->waiting, RANKS);
}

/* As many collectives as are looked at, and more. */
static void test_many_groups(void **state)
{
    enum { MANY = PW_HANG_GROUPS + 6 };
    static struct pw_live ranks[MANY];
    static struct pw_live_thread threads[MANY];
    static struct pw_live_comm comms[MANY];
    static struct pw_hang hang;
    (void)state;
    for (int r = 0; r < MANY; r++) {
        threads[r] = (struct pw_live_thread){
            .op = PW_OP_Barrier, .since_ns = 2 * S, .comm_uid = 100 + (uint64_t)r, .peer = -1};
        comms[r] = (struct pw_live_comm){.uid = 100 + (uint64_t)r, .size = 2};
        ranks[r] = (struct pw_live){.rank = r,
                                    .world_size = MANY,
                                    .threads = &threads[r],
                                    .nthreads = 1,
                                    .comms = &comms[r],
                                    .ncomms = 1};
    }
    int32_t *scratch = malloc(sizeof(*scratch) * pw_hang_scratch(MANY, MANY));
    pw_hang_find(ranks, MANY, S, scratch, &hang);
    assert_int_equal(hang.ngroups, PW_HANG_GROUPS);
    assert_int_equal(hang.more_groups, 6);
    assert_int_equal(hang.kind, PW_HANG_UNKNOWN);
    pw_hang_find(ranks, 0, S, scratch, &hang);
    assert_int_equal(hang.kind, PW_HANG_NOBODY);
    free(scratch);
}

/* The cycle of random graphs is one, and there is one whenever depth-first search finds any. */
static int reaches(const struct pw_digraph *g, int32_t from, int32_t to, int depth)
{
    for (int32_t e = g->first[from]; e < g->first[from + 1]; e++)
        if (g->to[e] == to || (depth > 0 && reaches(g, g->to[e], to, depth - 1)))
            return 1;
    return 0;
}

static void test_cycles_of_random_graphs(void **state)
{
    enum { NODES = 7, EDGES = 9, GRAPHS = 2000 };
    int32_t to[EDGES], first[NODES + 1], cycle[NODES], scratch[PW_DIGRAPH_SCRATCH * NODES];
    uint64_t seed = 7;
    int with = 0;
    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        struct pw_digraph g;
        pw_digraph_init(&g, to, first);
        int left = EDGES;
        for (int v = 0; v < NODES; v++) {
            for (int k = (int)(unit_random(&seed) % 3); k > 0 && left > 0; k--, left--)
                pw_digraph_add(&g, (int32_t)(unit_random(&seed) % NODES));
            pw_digraph_end_node(&g);
        }
        int any = 0;
        for (int32_t v = 0; v < NODES; v++)
            any |= reaches(&g, v, v, NODES);
        size_t n = pw_digraph_cycle(&g, cycle, scratch);
        assert_int_equal(n > 0, any);
        with += any;
        for (size_t k = 0; k < n; k++)
            assert_true(reaches(&g, cycle[k], cycle[(k + 1) % n], 0));
    }
    assert_in_range(with, GRAPHS / 10, GRAPHS - GRAPHS / 10);
}

int main(void)
{
#define IN_JOB(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        IN_JOB(test_no_hang_while_no_rank_waits),
        IN_JOB(test_rank_that_has_not_entered_a_collective),
        IN_JOB(test_member_past_the_collective_is_not_missing),
        IN_JOB(test_chain),
        IN_JOB(test_cycle),
        IN_JOB(test_crossed),
        IN_JOB(test_members_in_different_functions),
        IN_JOB(test_still_in_a_collective_that_all_have_entered),
        IN_JOB(test_collective_functions_without_a_number),
        IN_JOB(test_calls_without_a_number_are_counted),
        IN_JOB(test_creation_of_a_gloo_group),
        IN_JOB(test_connection_to_a_store),
        IN_JOB(test_init_of_mindspore),
        IN_JOB(test_mpi_init),
        IN_JOB(test_operations_on_files_may_be_left),
        IN_JOB(test_nonblocking_creations_are_no_number),
        IN_JOB(test_threads),
        IN_JOB(test_calls_shorter_than_the_limit_do_not_wait),
        IN_JOB(test_unknown_members),
        cmocka_unit_test(test_many_groups),
        cmocka_unit_test(test_cycles_of_random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
