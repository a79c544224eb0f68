/* The open requests of a program, read from this process's own memory. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/mpi/mpi_open.h"
#include "collectors/mpi/mpi_requeststate.h"
#include "core/ops.h"
#include "rank/collect/drainedring.h"

/* An entry as the program has it, with handles of 8 bytes. */
struct entry {
    struct pw_record record;
    uint64_t handle;
    struct entry *next;
    uint32_t state;
    char rest[PW_REQUEST_BYTES - sizeof(struct pw_record) - 20];
};
static_assert(sizeof(struct entry) == PW_REQUEST_BYTES, "as in the program");

static struct entry front[PW_REQUEST_FRONT], hashed[2];
static struct entry *buckets[PW_REQUEST_FIRST_BUCKETS];
static struct entry **segments[PW_REQUEST_SEGMENTS] = {buckets};
static uint32_t nbuckets = PW_REQUEST_FIRST_BUCKETS;
static uint64_t awaited[4];

struct fixture {
    struct pw_segment_shared *segment;
    struct pw_mpi_pairs *pairs;
    struct pw_live live;
    struct pw_live_thread thread;
};

static void fill(struct entry *entry, uint64_t handle, enum pw_op op, int peer, uint32_t state)
{
    *entry = (struct entry){.handle = handle, .state = state};
    entry->record = (struct pw_record){.type = PW_REC_COMM, .op = (uint16_t)op};
    entry->record.comm.peer = peer;
    entry->record.comm.tag = 7;
    entry->record.comm.comm = 2;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    f->segment = calloc(1, sizeof(*f->segment));
    f->pairs = calloc(1, sizeof(*f->pairs));
    struct pw_request_places *places = &f->segment->requests;
    atomic_store(&places->front, (uintptr_t)front);
    atomic_store(&places->segments, (uintptr_t)segments);
    atomic_store(&places->buckets, (uintptr_t)&nbuckets);
    atomic_store(&places->handle_bytes, 8);
    atomic_store(&places->handle_at, offsetof(struct entry, handle));
    atomic_store(&places->next_at, offsetof(struct entry, next));
    atomic_store(&places->state_at, offsetof(struct entry, state));
    f->thread = (struct pw_live_thread){.op = PW_OP_Waitall, .peer = -1, .seq = -1};
    f->live = (struct pw_live){.pid = getpid(), .threads = &f->thread, .nthreads = 1};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    free(f->live.requests);
    free(f->live.pairs);
    free(f->segment);
    free(f->pairs);
    free(f);
    return 0;
}

static uint64_t uid_of(const void *state, uint32_t index)
{
    (void)state;
    return 0x50 + index;
}

static void add(struct fixture *f)
{
    const struct pw_mpi_uids uids = {NULL, uid_of};
    pw_mpi_open_add(f->segment, f->pairs, &uids, &f->live);
}

/* Two receives that are alike in the front, one that has been taken, and in the hash table a send
 * that no call waits for and a persistent receive that is not started. */
static void test_requests_of_a_call(void **state)
{
    struct fixture *f = *state;
    fill(&front[5], 100, PW_OP_Irecv, 3, PW_CLASS_RECV | PW_REQUEST_OPEN | PW_REQUEST_HELD);
    fill(&front[6], 101, PW_OP_Irecv, 3, PW_CLASS_RECV | PW_REQUEST_OPEN | PW_REQUEST_HELD);
    fill(&front[7], 102, PW_OP_Irecv, 4, PW_CLASS_RECV | PW_REQUEST_HELD);
    fill(&hashed[0], 103, PW_OP_Isend, 1, PW_CLASS_SEND);
    fill(&hashed[1], 104, PW_OP_Recv_init, 1, PW_CLASS_RECV | PW_REQUEST_PERSISTENT);
    hashed[0].next = &hashed[1];
    buckets[9] = &hashed[0];
    memcpy(awaited, (uint64_t[]){101, 102, 104, 100}, sizeof(awaited));
    f->thread.requests_at = (uintptr_t)awaited;
    f->thread.requests_n = 4;
    add(f);
    assert_int_equal(f->live.nrequests, 1);
    assert_int_equal(f->live.requests[0].op, PW_OP_Irecv);
    assert_int_equal(f->live.requests[0].peer, 3);
    assert_int_equal(f->live.requests[0].tag, 7);
    assert_int_equal(f->live.requests[0].count, 2);
    assert_int_equal(f->live.requests[0].comm_uid, 0x52);
    assert_int_equal(f->thread.unlisted, 0);
    assert_int_equal(f->live.pairs_known, 1);
    assert_int_equal(f->live.npairs, 1);
    assert_int_equal(f->live.pairs[0].peer, 1);
    assert_int_equal(f->live.pairs[0].sending, 1);
    assert_int_equal(f->live.pairs[0].sent, 0);
}

static void test_memory_that_is_not_there(void **state)
{
    struct fixture *f = *state;
    f->thread.requests_at = 16;
    f->thread.requests_n = 3;
    add(f);
    assert_int_equal(f->live.nrequests, 0);
    assert_int_equal(f->thread.unlisted, 3);
    assert_int_equal(f->live.pairs_known, 1);
}

static void forget(struct fixture *f)
{
    free(f->live.requests);
    free(f->live.pairs);
    f->live.pairs = NULL;
    f->live.nrequests = f->live.npairs = 0;
}

/* A chain that leads back to itself, and tables at addresses that are none. */
static void test_damaged_table(void **state)
{
    struct fixture *f = *state;
    hashed[1].next = &hashed[0];
    add(f);
    assert_int_equal(f->live.pairs_known, 0);
    hashed[1].next = NULL;
    forget(f);
    atomic_store(&f->segment->requests.front, 4096);
    atomic_store(&f->segment->requests.state_at, UINT32_MAX);
    f->thread.requests_n = 2;
    add(f);
    assert_int_equal(f->live.pairs_known, 0);
    assert_int_equal(f->thread.unlisted, 2);
}

/* The send of an open MPI_Isendrecv is not counted; when it has completed, all are. */
static void test_open_sendrecv(void **state)
{
    struct fixture *f = *state;
    fill(&front[9], 110, PW_OP_Isendrecv, 3,
         PW_CLASS_RECV | PW_REQUEST_OPEN | PW_REQUEST_HELD | PW_REQUEST_TWO_PARTS);
    add(f);
    assert_int_equal(f->live.pairs_known, 0);
    forget(f);
    front[9].state = 0;
    add(f);
    assert_int_equal(f->live.pairs_known, 1);
}

/* An entry that is freed while its chain is read leads to the unused ones. */
static void test_freed_entry(void **state)
{
    struct fixture *f = *state;
    hashed[0].state = PW_REQUEST_UNUSED;
    add(f);
    assert_int_equal(f->live.pairs_known, 0);
    forget(f);
    hashed[0].state = PW_CLASS_SEND;
    add(f);
    assert_int_equal(f->live.pairs_known, 1);
}

/* MPI_Startall shows its requests, but waits for none. */
static void test_start_waits_for_nothing(void **state)
{
    static struct pw_ring_shared ring;
    struct pw_shown_call call;
    (void)state;
    atomic_store(&ring.open.op, PW_OP_Startall);
    atomic_store(&ring.shown.count, 4);
    assert_true(pw_ringpage_read_call(&ring, &call));
    assert_int_equal(call.requests_n, 0);
    atomic_store(&ring.open.op, PW_OP_Waitall);
    assert_true(pw_ringpage_read_call(&ring, &call));
    assert_int_equal(call.requests_n, 4);
}

/* An error of MPI is of the call that the thread was in. */
static void test_error_of_the_call(void **state)
{
    static struct pw_ring_shared ring;
    struct pw_shown_call call;
    (void)state;
    atomic_store(&ring.open.op, PW_OP_Recv);
    atomic_store(&ring.open.start, 70);
    atomic_store(&ring.error.error, PW_MPI_ERROR_TRUNCATE);
    atomic_store(&ring.error.time, 75);
    atomic_store(&ring.error.start, 60);
    assert_true(pw_ringpage_read_call(&ring, &call));
    assert_int_equal(call.error, PW_MPI_ERROR_NONE);
    atomic_store(&ring.error.start, 70);
    assert_true(pw_ringpage_read_call(&ring, &call));
    const struct pw_record record = pw_ringpage_call_record(&call, 90);
    assert_int_equal(record.open.error, PW_MPI_ERROR_TRUNCATE);
    assert_int_equal(record.open.error_time, 75);
}

/* More partners than places: the numbers are not known. */
static void test_many_partners(void **state)
{
    struct fixture *f = *state;
    for (int peer = 0; peer < PW_MPI_PAIRS_MOST; peer++)
        pw_mpi_pairs_at(f->pairs, 0, peer)->sent = peer;
    assert_false(f->pairs->is_short);
    assert_int_equal(pw_mpi_pairs_at(f->pairs, 0, 77)->sent, 77);
    assert_null(pw_mpi_pairs_at(f->pairs, 1, 0));
    assert_true(f->pairs->is_short);
}

/* What a loop tests is in the open call, what it probes for is shown beside it. */
static void test_loop_of_tests(void **state)
{
    static struct pw_ring_shared ring;
    (void)state;
    assert_int_equal(pw_ringpage_polls(&ring).op, PW_OP_None);
    atomic_store(&ring.open.start, 900);
    atomic_store(&ring.open.awaited, PW_OP_Irecv);
    atomic_store(&ring.open.peer, 3);
    atomic_store(&ring.shown.start, 900);
    atomic_store(&ring.shown.count, 4);
    atomic_store(&ring.shown.poll_op, PW_OP_Test);
    assert_int_equal(pw_ringpage_polls(&ring).op, PW_OP_Test);
    struct pw_shown_call call = pw_ringpage_read_poll(&ring, PW_OP_Test);
    assert_int_equal(call.op, PW_OP_Test);
    assert_int_equal(call.awaited, PW_OP_Irecv);
    assert_int_equal(call.peer, 3);
    assert_int_equal(call.requests_n, 4);
    assert_int_equal(call.start, 0);
    atomic_store(&ring.shown.peer_tag, UINT64_C(0x6ffffffff)); /* from rank 6, any tag */
    call = pw_ringpage_read_poll(&ring, PW_OP_Iprobe);
    assert_int_equal(call.awaited, PW_OP_None);
    assert_int_equal(call.peer, 6);
    assert_int_equal(call.tag, -1);
    atomic_store(&ring.shown.poll_op, UINT32_MAX); /* no operation */
    assert_int_equal(pw_ringpage_polls(&ring).op, PW_OP_None);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_requests_of_a_call), CASE(test_memory_that_is_not_there),
        CASE(test_damaged_table),      CASE(test_many_partners),
        CASE(test_loop_of_tests),      CASE(test_open_sendrecv),
        CASE(test_freed_entry),        CASE(test_start_waits_for_nothing),
        CASE(test_error_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
