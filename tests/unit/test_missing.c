/* Who is missing in the operations of dumps, and the sentence about it. All answers were worked out
 * by hand. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/missing.h"
#include "core/ops.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"

enum { WORLD = 0x57, TP = 0x71, DP = 0x44, MOST = 16 };

/* Four ranks with whole dumps; WORLD is of all, TP of ranks 2 and 3. No operation is open. */
struct job {
    struct pw_row_c_open_call calls[MOST];
    struct pw_missing_comm comms[MOST];
    struct pw_missing_member members[MOST];
    uint8_t dumps[4];
    int64_t unread; /* entries of rank 0 */
    struct pw_missing_input in;
};

static void make(struct job *j)
{
    memset(j, 0, sizeof(*j));
    j->in = (struct pw_missing_input){.calls = j->calls,
                                      .comms = j->comms,
                                      .members = j->members,
                                      .dumps = j->dumps,
                                      .nranks = 4};
    for (int64_t r = 0; r < 4; r++) {
        j->dumps[r] = PW_DUMP_FULL;
        j->members[j->in.nmembers++] = (struct pw_missing_member){WORLD, 3 - r};
        j->comms[j->in.ncomms++] = (struct pw_missing_comm){WORLD, 3 - r, 6};
    }
    for (int64_t r = 2; r < 4; r++)
        j->members[j->in.nmembers++] = (struct pw_missing_member){TP, r};
}

/* Calls must be added by rank. */
static void wait_in(struct job *j, int32_t rank, uint64_t comm, uint16_t op, int64_t seq)
{
    struct pw_row_c_open_call *call = &j->calls[j->in.ncalls++];
    *call = (struct pw_row_c_open_call){
        .rank = rank, .op = op, .comm_uid = comm, .seq = seq, .peer = -1, .source = 1, .count = -1};
    strcpy(call->comm_name, comm == WORLD ? "default_pg 0" : comm == TP ? "tp 7" : "undefined 9");
}

static void wait_for(struct job *j, int32_t rank, uint16_t op, int32_t peer)
{
    wait_in(j, rank, WORLD, op, -1);
    j->calls[j->in.ncalls - 1].peer = peer;
}

static void all_but(struct job *j, int32_t missing)
{
    for (int32_t r = 0; r < 4; r++)
        if (r != missing)
            wait_in(j, r, WORLD, PW_OP_Allreduce, 6);
}

static void check(struct job *j, int has_missing, const char *wanted)
{
    char text[PW_HEADLINE_BYTES] = "";
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    struct pw_row_c_rank ranks[4];
    struct pw_cluster c = {
        .imported = "flight", .nopen_calls = j->in.ncalls, .ranks = ranks, .nranks = 4};
    for (int32_t r = 0; r < 4; r++)
        ranks[r] = (struct pw_row_c_rank){.rank = r,
                                          .present = j->dumps[r] != PW_DUMP_NONE,
                                          .events = j->dumps[r] == PW_DUMP_FULL,
                                          .dropped_events = r ? 0 : j->unread};
    assert_int_equal(pw_missing_find(&j->in, &c.hang, &c.nhang), 0);
    pw_hang_write(&c, &s);
    assert_string_equal(text, wanted);
    assert_int_equal(pw_hang_has_missing(&c), has_missing);
    free(c.hang);
}

static void test_one_rank_is_missing(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    all_but(&j, 2);
    wait_in(&j, 3, WORLD, PW_OP_Allreduce, 7); /* enqueued behind the one that holds the rank */
    check(&j, 1,
          "Rank 2 did not reach all_reduce 6 of default_pg, in which ranks 0, 1 and 3 wait.");
}

static void test_several_are_missing(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    wait_in(&j, 0, WORLD, PW_OP_Allreduce, 6);
    check(&j, 1, "Ranks 1-3 did not reach all_reduce 6 of default_pg, in which rank 0 waits.");
}

/* Rank 2 waits in a group of its own for rank 3, which waits nowhere. */
static void test_a_chain_ends_with_who_waits_nowhere(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    wait_in(&j, 0, WORLD, PW_OP_Allreduce, 6);
    wait_in(&j, 1, WORLD, PW_OP_Allreduce, 6);
    wait_in(&j, 2, TP, PW_OP_Allgather, 3);
    check(&j, 1,
          "Rank 3 did not reach all_reduce 6 of default_pg, in which ranks 0 and 1 wait; nor did "
          "rank 2, which waits elsewhere. Rank 3 did not reach all_gather 3 of tp 7, in which rank "
          "2 waits.");
}

static void test_ranks_that_wait_for_each_other(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    wait_in(&j, 2, TP, PW_OP_Allreduce, 3);
    wait_in(&j, 3, DP, PW_OP_Allreduce, 1);
    j.members[j.in.nmembers++] = (struct pw_missing_member){DP, 2};
    j.members[j.in.nmembers++] = (struct pw_missing_member){DP, 3};
    check(&j, 1,
          "Ranks wait for each other: rank 2 waits in all_reduce 3 of tp 7 for rank 3, which waits "
          "in all_reduce 1 of process group 9 for rank 2. This is a deadlock, unless a rank called "
          "its operation without waiting for it and stands still elsewhere. "
          "Rank 3 did not reach all_reduce 3 of tp 7, in which rank 2 waits: it waits in "
          "all_reduce 1 of process group 9. Rank 2 did not reach all_reduce 1 of process group 9, "
          "in which rank 3 waits: it waits in all_reduce 3 of tp 7.");
}

/* Ranks 0 and 1 wait for rank 3, rank 3 in a group for rank 2, which waits for a message of rank 0:
 * nobody can go on. When rank 0 has sent it, rank 2's device is stuck. */
static void test_three_that_wait_for_each_other(void **state)
{
    struct job j;
    uint8_t begun[MOST] = {0};
    (void)state;
    for (int is_begun = 0; is_begun < 2; is_begun++) {
        make(&j);
        wait_in(&j, 0, WORLD, PW_OP_Allgather, 6);
        wait_in(&j, 1, WORLD, PW_OP_Allgather, 6);
        wait_for(&j, 2, PW_OP_Recv, 0);
        wait_in(&j, 3, TP, PW_OP_Reduce_scatter_block, 1);
        begun[2] = (uint8_t)is_begun;
        j.in.begun = begun;
        check(
            &j, 1,
            is_begun
                ? "Rank 2 did not reach reduce_scatter 1 of tp 7, in which rank 3 waits: it "
                  "waits in recv from rank 0 of default_pg. Ranks 2 and 3 did not reach "
                  "all_gather 6 of default_pg, in which ranks 0 and 1 wait: they wait in others, "
                  "as rank 2 in recv from rank 0 of default_pg. Rank 2 waits in recv from rank 0 "
                  "of default_pg, which rank 0 has ended."
                : "Ranks wait for each other: rank 0 waits in all_gather 6 of default_pg for rank "
                  "2, which waits in recv from rank 0 of default_pg for rank 0. This is a "
                  "deadlock, unless a rank called its operation without waiting for it and "
                  "stands still elsewhere, or a message had been sent: the dumps do not tell. "
                  "Ranks 2 and 3 did not reach "
                  "all_gather 6 of default_pg, in which ranks 0 and 1 wait: they wait in others, "
                  "as rank 2 in recv from rank 0 of default_pg. Rank 0 did not reach send to "
                  "rank 2 in default_pg, for which that rank waits in recv: it waits in "
                  "all_gather 6 of default_pg. Rank 2 did not reach reduce_scatter 1 of tp 7, in "
                  "which rank 3 waits: it waits in recv from rank 0 of default_pg.");
    }
}

static void test_messages_without_their_other_side(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    wait_for(&j, 0, PW_OP_Send, 1);
    wait_for(&j, 0, PW_OP_Send, 1);
    wait_for(&j, 2, PW_OP_Recv, 3);
    wait_for(&j, 3, PW_OP_Send, 2);
    check(&j, 1,
          "Rank 1 did not reach recv from rank 0 in default_pg, for which that rank waits in "
          "send.");
    make(&j);
    wait_for(&j, 2, PW_OP_Recv, 3);
    wait_for(&j, 3, PW_OP_Send, 2);
    check(&j, 0,
          "No rank is missing: 2 operations had not ended when the dumps were written, and both "
          "sides of each had been reached.");
}

/* Rank 2 is in 5 yet, which the others have ended, though it has enqueued 6, too. */
static void test_a_rank_whose_device_is_stuck(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    for (int32_t r = 0; r < 4; r++) {
        if (r == 2)
            wait_in(&j, 2, WORLD, PW_OP_Allgather, 5);
        wait_in(&j, r, WORLD, PW_OP_Allreduce, 6);
    }
    check(&j, 1,
          "Rank 2 did not reach all_reduce 6 of default_pg, in which ranks 0, 1 and 3 wait: it "
          "waits in all_gather 5 of default_pg. Rank 2 waits in all_gather 5 of default_pg, which "
          "ranks 0, 1 and 3 have ended.");
}

/* Ranks 2 and 3 are in an operation, or a message, of which nobody is missing. */
static void test_what_holds_the_others_comes_first(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    wait_in(&j, 0, WORLD, PW_OP_Allreduce, 6);
    wait_in(&j, 1, WORLD, PW_OP_Allreduce, 6);
    wait_in(&j, 2, TP, PW_OP_Bcast, 3);
    wait_in(&j, 3, TP, PW_OP_Bcast, 3);
    check(&j, 1,
          "Ranks 2 and 3 wait in broadcast 3 of tp 7, which all its members have reached. Ranks 2 "
          "and 3 did not reach all_reduce 6 of default_pg, in which ranks 0 and 1 wait: they wait "
          "in others, as rank 2 in broadcast 3 of tp 7.");
    make(&j);
    wait_in(&j, 0, WORLD, PW_OP_Allreduce, 6);
    wait_in(&j, 1, WORLD, PW_OP_Allreduce, 6);
    wait_for(&j, 2, PW_OP_Recv, 3);
    wait_for(&j, 3, PW_OP_Send, 2);
    check(&j, 1,
          "Rank 2 waits in recv from rank 3 of default_pg, which that rank has reached, too. Rank "
          "3 waits in send to rank 2 of default_pg, which that rank has reached, too. Ranks 2 and "
          "3 did not reach all_reduce 6 of default_pg, in which ranks 0 and 1 wait: they wait in "
          "others, as rank 2 in recv from rank 3 of default_pg.");
}

static void test_what_dumps_do_not_tell(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    all_but(&j, 2);
    j.dumps[2] = PW_DUMP_NONE;
    check(&j, 1,
          "Rank 2 has no dump, so it is not known whether it reached all_reduce 6 of default_pg, "
          "in which ranks 0, 1 and 3 wait.");
    j.dumps[2] = PW_DUMP_EMPTY;
    check(&j, 1,
          "Rank 2 has no operations in the dump, so it is not known whether it reached all_reduce "
          "6 of default_pg, in which ranks 0, 1 and 3 wait.");
    make(&j);
    wait_in(&j, 0, WORLD, PW_OP_Allreduce, 6);
    wait_in(&j, 1, WORLD, PW_OP_Allreduce, 6);
    j.dumps[3] = PW_DUMP_NONE;
    check(&j, 1,
          "Rank 2 did not reach all_reduce 6 of default_pg, in which ranks 0 and 1 wait; whether "
          "rank 3 did is not known, because it has no dump.");
    j.in.nmembers = 0; /* a group whose ranks are not told has no numbers either */
    j.calls[0].seq = j.calls[1].seq = -1;
    check(&j, 0,
          "Ranks 0 and 1 wait in all_reduce of default_pg, whose members or number the dumps do "
          "not have.");
    j.calls[1].op = PW_OP_Allgather; /* which of the group's operations it is, is not known */
    check(&j, 0,
          "Rank 0 waits in all_reduce of default_pg, whose members or number the dumps do not "
          "have. Rank 1 "
          "waits in all_gather of default_pg, whose members or number the dumps do not have.");
}

static void test_all_are_there(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    all_but(&j, 2);
    j.comms[1].reached = 7; /* of rank 2: it is past the operation */
    check(&j, 0, "Ranks 0, 1 and 3 wait in all_reduce 6 of default_pg, which rank 2 has ended.");
    make(&j);
    for (int32_t r = 0; r < 4; r++)
        wait_in(&j, r, WORLD, PW_OP_Allreduce, 6);
    check(&j, 0,
          "Ranks 0-3 wait in all_reduce 6 of default_pg, which all its members have reached.");
    make(&j);
    check(
        &j, 0,
        "No rank waits in an operation that the dumps have: all had ended when they were written. "
        "Not in dumps are new_group(), monitored_barrier() and messages of Gloo.");
}

static void test_what_dumps_do_not_have_is_not_known(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    j.dumps[0] = j.dumps[1] = PW_DUMP_NONE;
    check(&j, 0,
          "Whether a rank waits is not known: the operations that the dumps of 2 of 4 ranks have "
          "had ended when they were written, and 2 ranks have no dump.");
    j.dumps[0] = j.dumps[1] = PW_DUMP_EMPTY;
    j.unread = 3;
    check(&j, 0,
          "Whether a rank waits is not known: the operations that the dumps of 2 of 4 ranks have "
          "had ended when they were written, and 2 dumps have no operations, and 3 entries could "
          "not be read.");
    memset(j.dumps, PW_DUMP_EMPTY, sizeof(j.dumps));
    check(&j, 0,
          "Whether a rank waits is not known, because the dumps have no operations but 3 entries "
          "could not be read.");
}

static void test_another_function_under_the_same_number(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    for (int32_t r = 0; r < 4; r++)
        wait_in(&j, r, WORLD, r == 2 ? PW_OP_Allgather : PW_OP_Allreduce, 6);
    check(&j, 1,
          "Rank 2 called all_gather, ranks 0, 1 and 3 called all_reduce as operation 6 of "
          "default_pg.");
}

/* Gives the last rank that was added a size and a type. */
static void with(struct job *j, int64_t count, const char *datatype)
{
    j->calls[j->in.ncalls - 1].count = count;
    strcpy(j->calls[j->in.ncalls - 1].datatype, datatype);
}

static void test_other_sizes_in_the_same_operation(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    for (int32_t r = 0; r < 4; r++) {
        wait_in(&j, r, WORLD, PW_OP_Allreduce, 6);
        with(&j, r == 1 ? 960 : 1024, "Float");
    }
    check(
        &j, 1,
        "Rank 1 called all_reduce 6 of default_pg with 960 elements, ranks 0, 2 and 3 with 1024.");
    with(&j, 1024, "BFloat16");
    check(
        &j, 1,
        "Rank 1 called all_reduce 6 of default_pg with 960 elements of Float, rank 3 with 1024 of "
        "BFloat16, ranks 0 and 2 with 1024 of Float.");
    j.dumps[3] = PW_DUMP_NONE;
    j.in.ncalls--;
    check(&j, 1,
          "Rank 1 called all_reduce 6 of default_pg with 960 elements, ranks 0 and 2 with 1024; "
          "whether rank 3 did is not known, because it has no dump.");
    j.dumps[3] = PW_DUMP_FULL; /* who is missing is told first */
    check(&j, 1, "Rank 3 did not reach all_reduce 6 of default_pg, in which ranks 0-2 wait.");
}

static void test_sizes_that_are_not_known(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    for (int32_t r = 0; r < 4; r++) {
        wait_in(&j, r, WORLD, PW_OP_Allreduce, 6);
        with(&j, r == 1 ? -1 : 1024, r == 2 ? "" : "Float");
    }
    check(&j, 0,
          "Ranks 0-3 wait in all_reduce 6 of default_pg, which all its members have reached.");
}

static void test_an_operation_that_others_have_ended(void **state)
{
    struct job j;
    (void)state;
    make(&j);
    wait_in(&j, 1, WORLD, PW_OP_Allreduce, 5);
    check(&j, 0, "Rank 1 waits in all_reduce 5 of default_pg, which ranks 0, 2 and 3 have ended.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_rank_is_missing),
        cmocka_unit_test(test_several_are_missing),
        cmocka_unit_test(test_a_chain_ends_with_who_waits_nowhere),
        cmocka_unit_test(test_ranks_that_wait_for_each_other),
        cmocka_unit_test(test_three_that_wait_for_each_other),
        cmocka_unit_test(test_messages_without_their_other_side),
        cmocka_unit_test(test_a_rank_whose_device_is_stuck),
        cmocka_unit_test(test_what_holds_the_others_comes_first),
        cmocka_unit_test(test_what_dumps_do_not_tell),
        cmocka_unit_test(test_all_are_there),
        cmocka_unit_test(test_what_dumps_do_not_have_is_not_known),
        cmocka_unit_test(test_another_function_under_the_same_number),
        cmocka_unit_test(test_other_sizes_in_the_same_operation),
        cmocka_unit_test(test_sizes_that_are_not_known),
        cmocka_unit_test(test_an_operation_that_others_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
