/* Which requests of several are missing, in jobs made by hand. */
#include "unit.h"

#include <stdlib.h>

#include "analysis/hang.h"
#include "core/ops.h"

enum { RANKS = 4, MOST = 6, WORLD = 0x57 };
#define S ((int64_t)1000000000)

/* Four ranks with a thread, MPI_COMM_WORLD, and room for requests and numbers of messages. */
struct job {
    struct pw_live ranks[RANKS];
    struct pw_live_thread threads[RANKS];
    struct pw_live_comm comms[RANKS];
    struct pw_live_request requests[RANKS][MOST];
    struct pw_live_pair pairs[RANKS][MOST];
    struct pw_live_queued queued[RANKS][MOST];
    struct pw_hang hang;
    int32_t scratch[4096];
};

static int setup(void **state)
{
    struct job *job = calloc(1, sizeof(*job));
    for (int r = 0; r < RANKS; r++) {
        job->threads[r] = (struct pw_live_thread){.since_ns = 60 * S, .seq = -1, .peer = -1};
        job->comms[r] = (struct pw_live_comm){.uid = WORLD, .size = RANKS};
        job->ranks[r] = (struct pw_live){
            .rank = r,
            .world_size = RANKS,
            .threads = &job->threads[r],
            .nthreads = 1,
            .comms = &job->comms[r],
            .ncomms = 1,
            .requests = job->requests[r],
            .pairs = job->pairs[r],
            .queued = job->queued[r],
            .pairs_known = 1,
            .messages_known = 1,
        };
    }
    assert_true(pw_hang_scratch(RANKS, RANKS * (MOST + 1)) <= 4096);
    *state = job;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void enter(struct job *job, int rank, enum pw_op op)
{
    job->threads[rank].op = (uint16_t)op;
    job->threads[rank].since_ns = 10 * S;
}

static struct pw_live_request *await(struct job *job, int rank, enum pw_op op, int peer)
{
    struct pw_live_request *r = &job->requests[rank][job->ranks[rank].nrequests++];
    *r = (struct pw_live_request){
        .op = (uint16_t)op, .peer = peer, .tag = 7, .count = 1, .comm_uid = WORLD, .seq = -1};
    return r;
}

static void exchange(struct job *job, int rank, int peer, int64_t sent, int64_t received)
{
    job->pairs[rank][job->ranks[rank].npairs++] =
        (struct pw_live_pair){.comm_uid = WORLD, .peer = peer, .sent = sent, .received = received};
}

static const struct pw_hang *find(struct job *job)
{
    pw_awaited_settle(job->ranks, RANKS);
    pw_hang_find(job->ranks, RANKS, S, job->scratch, &job->hang);
    return &job->hang;
}

/* Each rank has sent 5 messages to both neighbours and received 4; rank 3 computes and has sent 4.
 * So ranks 0 and 2 miss the message of rank 3, and nothing else; rank 1 has all. */
static void make_halo(struct job *job)
{
    for (int r = 0; r < RANKS; r++)
        for (int way = 1; way <= 3; way += 2) {
            exchange(job, r, (r + way) % RANKS, r == 3 ? 4 : 5, 4);
            if (r != 3)
                await(job, r, PW_OP_Irecv, (r + way) % RANKS);
        }
    for (int r = 0; r < 3; r++)
        enter(job, r, PW_OP_Waitall);
}

static void test_of_a_halo_exchange_the_late_rank_is_named(void **state)
{
    struct job *job = *state;
    make_halo(job);
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_MATCHED); /* from rank 1 */
    assert_int_equal(job->requests[0][1].need, PW_LIVE_MISSING); /* from rank 3 */
    assert_int_equal(job->requests[2][0].need, PW_LIVE_MISSING);
    assert_int_equal(job->requests[2][1].need, PW_LIVE_MATCHED);
    assert_int_equal(job->requests[1][0].need, PW_LIVE_UNKNOWN); /* all matched: it goes on */
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->nroots, 1);
    assert_int_equal(hang->roots[0], 3);
    assert_int_equal(hang->held, 2);
}

/* Records of rank 3 were dropped: it may have sent more. Nothing is claimed, and no circle. */
static void test_without_all_records_nothing_is_claimed(void **state)
{
    struct job *job = *state;
    make_halo(job);
    job->ranks[3].pairs_known = 0;
    job->ranks[1].pairs_known = 0;
    const struct pw_hang *hang = find(job);
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(job->requests[r][i].need, PW_LIVE_UNKNOWN);
    assert_int_equal(hang->kind, PW_HANG_UNKNOWN);
}

/* A send whose request is open counts as sent: it may have arrived. */
static void test_open_send_is_no_missing_message(void **state)
{
    struct job *job = *state;
    make_halo(job);
    job->pairs[3][0].sending = 1; /* to rank 0 */
    find(job);
    assert_int_equal(job->requests[0][1].need, PW_LIVE_UNKNOWN);
    assert_int_equal(job->requests[2][0].need, PW_LIVE_MISSING);
}

/* Two receives from one rank, which has sent one of them, with a tag that no receive has. */
static void test_one_partner_is_waited_for(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Waitall);
    await(job, 0, PW_OP_Irecv, 2);
    exchange(job, 2, 0, 1, 0);
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_MISSING);
    assert_int_equal(hang->roots[0], 2);
    job->threads[0].unlisted = 1; /* it may be another one */
    assert_int_equal(find(job)->kind, PW_HANG_UNKNOWN);
}

/* Rank 0 has begun a partitioned send to rank 1, and waits for it; it has not made all partitions
 * ready. That a receive has a send does not tell that it can complete, and such a send may wait for
 * its own rank: rank 0 waits for none that is known. Rank 2 has sent what rank 1 receives. */
static void test_partitioned_messages(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Wait);
    await(job, 0, PW_OP_Psend_init, 1);
    enter(job, 1, PW_OP_Waitall);
    await(job, 1, PW_OP_Precv_init, 0);
    await(job, 1, PW_OP_Irecv, 2);
    exchange(job, 2, 1, 1, 0);
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_UNKNOWN);
    assert_int_equal(job->requests[1][0].need, PW_LIVE_MISSING);
    assert_int_equal(job->requests[1][1].need, PW_LIVE_MATCHED);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->nroots, 1);
    assert_int_equal(hang->roots[0], 0);
    /* A partitioned message is none of those that an ordinary receive can get. */
    job->requests[1][1].peer = 0;
    find(job);
    assert_int_equal(job->requests[1][0].need, PW_LIVE_UNKNOWN);
    assert_int_equal(job->requests[1][1].need, PW_LIVE_MISSING);
}

/* Rank 1 waits to receive what rank 0 sends; so rank 0 waits for rank 2, which does not receive. */
static void test_send_to_a_rank_that_does_not_receive(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Waitall);
    await(job, 0, PW_OP_Isend, 1);
    await(job, 0, PW_OP_Isend, 2);
    exchange(job, 0, 1, 0, 0);
    exchange(job, 0, 2, 0, 0);
    job->pairs[0][0].sending = job->pairs[0][1].sending = 1;
    enter(job, 1, PW_OP_Waitall);
    await(job, 1, PW_OP_Irecv, 0);
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_MATCHED);
    assert_int_equal(job->requests[0][1].need, PW_LIVE_MISSING);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->roots[0], 2);
}

/* MPI_Waitany returns with any of its requests: it waits for either partner. It is in a circle only
 * when both wait for it. */
static void test_waitany_of_two_partners(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Waitany);
    await(job, 0, PW_OP_Irecv, 1);
    await(job, 0, PW_OP_Irecv, 2);
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_EITHER);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->nroots, 2);
    enter(job, 2, PW_OP_Recv);
    job->threads[2].peer = 0;
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->nroots, 1);
    assert_int_equal(hang->roots[0], 1);
    enter(job, 1, PW_OP_Recv);
    job->threads[1].peer = 0;
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_CYCLE);
    assert_int_equal(hang->is_likely, 0);
    job->ranks[0].world_size = RANKS + 1; /* one has not answered */
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->roots[0], 0);
    job->ranks[0].world_size = RANKS;
    job->requests[0][1].peer = -1;
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->roots[0], 0);
    job->requests[0][1].peer = 1;
    hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_MISSING);
    assert_int_equal(hang->kind, PW_HANG_CYCLE);
}

static void test_nonblocking_collective(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        job->comms[r].reached = r == 1 ? 3 : 4;
    enter(job, 0, PW_OP_Waitall);
    await(job, 0, PW_OP_Iallreduce, -1)->seq = 2; /* all have begun it */
    await(job, 0, PW_OP_Iallreduce, -1)->seq = 3;
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_MATCHED);
    assert_int_equal(job->requests[0][1].need, PW_LIVE_MISSING);
    assert_int_equal(hang->ngroups, 1);
    assert_int_equal(hang->groups[0].seq, 3);
    assert_int_equal(hang->roots[0], 1);
}

static void test_circle_of_waitalls(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < 2; r++) {
        enter(job, r, PW_OP_Waitall);
        await(job, r, PW_OP_Irecv, 1 - r);
    }
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_CYCLE);
    assert_int_equal(hang->ncycle, 2);
}

/* A loop of tests may end for another reason: no circle. But if its partner computes, that is the
 * cause. */
static void test_polling(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        job->comms[r].reached = 3;
    enter(job, 0, PW_OP_Barrier);
    job->threads[0].comm_uid = WORLD;
    job->threads[0].seq = 3;
    enter(job, 1, PW_OP_Test);
    job->threads[1].polls = 1;
    job->threads[1].peer = 0;
    job->threads[1].awaited = PW_OP_Irecv;
    for (int r = 2; r < RANKS; r++)
        job->comms[r].reached = 4;
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->nroots, 1);
    assert_int_equal(hang->roots[0], 1);
    job->comms[2].reached = 3;
    job->threads[1].peer = 2;
    hang = find(job);
    assert_int_equal(hang->nroots, 1);
    assert_int_equal(hang->roots[0], 2);
}

/* All that wait call tests: a rank that does not wait is the cause. Without one, a circle is likely
 * a deadlock; not when it is not known what one of them tests. */
static void test_all_poll(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS - 1; r++) {
        enter(job, r, PW_OP_Test);
        job->threads[r].polls = 1;
        job->threads[r].awaited = PW_OP_Ibarrier;
        job->threads[r].comm_uid = WORLD;
        job->threads[r].seq = 3;
        job->comms[r].reached = 4;
    }
    job->comms[3].reached = 3;
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->roots[0], 3);
    enter(job, 3, PW_OP_Test);
    job->threads[3].polls = 1;
    job->threads[3].awaited = PW_OP_Irecv;
    job->threads[3].peer = 0;
    hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_CYCLE);
    assert_int_equal(hang->is_likely, 1);
    job->threads[3].peer = -1;
    assert_int_equal(find(job)->kind, PW_HANG_UNKNOWN);
}

/* Another rank may hold the lock; and of MPI_Comm_create_group the members are not known. */
static void test_calls_without_a_known_partner(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Win_lock);
    job->threads[0].peer = 1;
    assert_int_equal(find(job)->kind, PW_HANG_UNKNOWN);
    enter(job, 0, PW_OP_Comm_create_group);
    job->threads[0].peer = -1;
    job->threads[0].comm_uid = WORLD;
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_UNKNOWN);
    assert_int_equal(hang->ngroups, 0);
}

/* The source of an MPI_Sendrecv has sent, but perhaps with another tag: it is not known whether the
 * target does not receive. */
static void test_sendrecv(void **state)
{
    struct job *job = *state;
    enter(job, 0, PW_OP_Sendrecv);
    job->threads[0].comm_uid = WORLD;
    job->threads[0].peer = 1;
    await(job, 0, PW_OP_Recv, 1);
    await(job, 0, PW_OP_Send, 2);
    exchange(job, 1, 0, 1, 0);
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->requests[0][0].need, PW_LIVE_MATCHED);
    assert_int_equal(job->requests[0][1].need, PW_LIVE_UNKNOWN);
    assert_int_equal(hang->kind, PW_HANG_UNKNOWN);
}

/* ---- operations on GPUs ---- */

/* The rank has called `n` collectives on the communicator, the last of them 10 s ago and the one
 * before each a second earlier, of which the last `kept` are known. */
static void queue(struct job *job, int rank, int64_t n, int kept)
{
    job->comms[rank].reached = n;
    job->threads[rank] = (struct pw_live_thread){.queue = PW_LIVE_QUEUE,
                                                 .op = PW_OP_Bcast,
                                                 .since_ns = 10 * S,
                                                 .comm_uid = WORLD,
                                                 .seq = n - 1,
                                                 .peer = -1};
    job->ranks[rank].nqueued = 0;
    for (int i = 0; i < kept; i++)
        job->queued[rank][job->ranks[rank].nqueued++] =
            (struct pw_live_queued){.comm_uid = WORLD,
                                    .seq = n - 1 - i,
                                    .since_ns = (10 + i) * S,
                                    .op = i ? PW_OP_Allreduce : PW_OP_Bcast,
                                    .peer = -1};
}

/* Rank 3 has called 5, the others 7: theirs of number 5 cannot end, since 11 s. */
static void test_what_a_member_has_not_called_is_held(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        queue(job, r, r == 3 ? 5 : 7, 3);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->nroots, 1);
    assert_int_equal(hang->roots[0], 3);
    assert_int_equal(hang->held, 3);
    assert_int_equal(hang->ngroups, 1);
    assert_int_equal(hang->groups[0].seq, 5);
    assert_int_equal(hang->groups[0].op, PW_OP_Allreduce);
    assert_int_equal(hang->groups[0].waited_ns, 11 * S);
    assert_int_equal(job->threads[0].queue, PW_LIVE_HELD);
    assert_int_equal(job->threads[3].queue, PW_LIVE_QUEUE);
}

/* What all have called may have ended. */
static void test_what_all_members_have_called_is_not_held(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        queue(job, r, 7, 3);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_NOBODY);
    assert_int_equal(hang->waiting, 0);
    assert_int_equal(hang->ngroups, 0);
}

/* Of more than are known, the oldest that is known is held, too. */
static void test_of_a_long_queue_the_oldest_known_is_named(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        queue(job, r, r == 3 ? 5 : 90, 3);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->roots[0], 3);
    assert_int_equal(hang->groups[0].seq, 87);
    assert_int_equal(hang->groups[0].nmissing, 1);
}

/* The others have not answered: who is missing is not known. */
static void test_a_queue_alone_tells_nothing(void **state)
{
    struct job *job = *state;
    queue(job, 0, 7, 3);
    for (int r = 1; r < RANKS; r++)
        job->ranks[r].ncomms = 0;
    assert_int_equal(find(job)->kind, PW_HANG_NOBODY);
}

/* A rank that is in a call since waits there, and not on the GPU. */
static void test_a_call_since_then_stands_for_the_rank(void **state)
{
    struct job *job = *state;
    struct pw_live_thread both[2];
    for (int r = 0; r < RANKS; r++)
        queue(job, r, r == 3 ? 5 : 7, 3);
    both[0] = job->threads[0];
    both[1] = (struct pw_live_thread){.op = PW_OP_Recv, .since_ns = 5 * S, .seq = -1, .peer = 1};
    job->ranks[0].threads = both;
    job->ranks[0].nthreads = 2;
    pw_awaited_settle(job->ranks, RANKS);
    assert_ptr_equal(pw_live_main(&job->ranks[0]), &both[1]);
    both[1].since_ns = 20 * S; /* it was in that call before */
    assert_ptr_equal(pw_live_main(&job->ranks[0]), &both[0]);
    both[1].op = PW_OP_None; /* it has left a call since, which tells nothing */
    both[1].since_ns = 5 * S;
    assert_ptr_equal(pw_live_main(&job->ranks[0]), &both[0]);
    both[0].queue = PW_LIVE_QUEUE;
    assert_ptr_equal(pw_live_main(&job->ranks[0]), &both[1]);
}

/* A pipeline of the ranks 0 to 3: each has received and sent 3 messages, but rank 1 has sent 2. Its
 * ranks in the communicator are those of the job, backwards. */
static void make_pipeline(struct job *job)
{
    for (int r = 0; r < RANKS; r++) {
        const int64_t sent = r == 1 ? 2 : 3;
        queue(job, r, 0, 0);
        job->comms[r].my_rank = RANKS - 1 - r;
        if (r > 0) {
            exchange(job, r, RANKS - r, 0, 3);
            job->queued[r][job->ranks[r].nqueued++] =
                (struct pw_live_queued){WORLD, 2, 10 * S, PW_OP_Recv, RANKS - r};
        }
        if (r < RANKS - 1) {
            exchange(job, r, RANKS - 2 - r, sent, 0);
            job->queued[r][job->ranks[r].nqueued++] =
                (struct pw_live_queued){WORLD, sent - 1, 12 * S, PW_OP_Send, RANKS - 2 - r};
        }
    }
}

static void test_a_message_that_was_not_sent(void **state)
{
    struct job *job = *state;
    make_pipeline(job);
    const struct pw_hang *hang = find(job);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->nroots, 1);
    assert_int_equal(hang->roots[0], 1);
    assert_int_equal(hang->held, 1); /* rank 3 has what rank 2 has sent */
    assert_int_equal(job->threads[2].queue, PW_LIVE_HELD);
    assert_int_equal(job->threads[2].op, PW_OP_Recv);
    assert_int_equal(job->threads[2].peer, 1);
}

/* What rank 1 has sent is not known: rank 2 may wait for it, and is not to blame that rank 3 waits.
 */
static void test_messages_of_a_rank_that_is_not_known(void **state)
{
    struct job *job = *state;
    make_pipeline(job);
    job->pairs[2][1].sent = 2;
    job->ranks[1].messages_known = 0;
    const struct pw_hang *hang = find(job);
    assert_int_equal(job->threads[2].queue, PW_LIVE_HELD);
    assert_int_equal(job->threads[2].peer, -1);
    assert_int_equal(job->threads[3].peer, 2);
    assert_int_equal(hang->kind, PW_HANG_HELD);
    assert_int_equal(hang->waiting, 2);
}

/* A send that its peer has not received counts, unless a later operation is held for sure. */
static void test_a_send_may_have_ended(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++) {
        queue(job, r, r == 3 ? 5 : 7, 3);
        job->comms[r].my_rank = r;
    }
    exchange(job, 0, 1, 1, 0);
    job->queued[0][job->ranks[0].nqueued++] =
        (struct pw_live_queued){WORLD, 0, 20 * S, PW_OP_Send, 1};
    pw_awaited_settle(job->ranks, RANKS);
    assert_int_equal(job->threads[0].op, PW_OP_Allreduce);
    queue(job, 3, 7, 3);
    queue(job, 0, 7, 3);
    job->queued[0][job->ranks[0].nqueued++] =
        (struct pw_live_queued){WORLD, 0, 20 * S, PW_OP_Send, 1};
    pw_awaited_settle(job->ranks, RANKS);
    assert_int_equal(job->threads[0].op, PW_OP_Send);
    assert_int_equal(job->threads[0].peer, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_of_a_halo_exchange_the_late_rank_is_named),
        CASE(test_without_all_records_nothing_is_claimed),
        CASE(test_open_send_is_no_missing_message),
        CASE(test_one_partner_is_waited_for),
        CASE(test_send_to_a_rank_that_does_not_receive),
        CASE(test_partitioned_messages),
        CASE(test_waitany_of_two_partners),
        CASE(test_nonblocking_collective),
        CASE(test_circle_of_waitalls),
        CASE(test_polling),
        CASE(test_all_poll),
        CASE(test_calls_without_a_known_partner),
        CASE(test_sendrecv),
        CASE(test_what_a_member_has_not_called_is_held),
        CASE(test_what_all_members_have_called_is_not_held),
        CASE(test_of_a_long_queue_the_oldest_known_is_named),
        CASE(test_a_queue_alone_tells_nothing),
        CASE(test_a_call_since_then_stands_for_the_rank),
        CASE(test_a_message_that_was_not_sent),
        CASE(test_messages_of_a_rank_that_is_not_known),
        CASE(test_a_send_may_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
