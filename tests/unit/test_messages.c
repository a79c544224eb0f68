/* Messages that are matched round after round: what blocks a span of time is in, who meets whom,
 * and what is summed up, whatever the rounds. */
#include "unit.h"

#include <string.h>

#include "aggregate/input/events.h"
#include "aggregate/input/input.h"
#include "aggregate/match/messages.h"
#include "aggregate/match/messagesums.h"
#include "core/ops.h"

/* A call from Fortran and an operation of NCCL that was only enqueued have the same bit. */
static void test_a_call_from_fortran_is_not_enqueued(void **state)
{
    (void)state;
    const struct pw_row_comm_event fortran = {.source = PW_SOURCE_MPI, .flags = PW_FLAG_FORTRAN};
    const struct pw_row_comm_event nccl = {.source = PW_SOURCE_NCCL, .flags = PW_FLAG_ENQUEUED};
    const struct pw_row_comm_event timed = {.source = PW_SOURCE_NCCL, .flags = PW_FLAG_NONBLOCKING};
    assert_false(pw_event_is_enqueued(&fortran));
    assert_true(pw_event_is_enqueued(&nccl));
    assert_false(pw_event_is_enqueued(&timed));
}

/* ---- where messages begin ---- */

enum { BLOCKS = 100, ROWS = 10 };

/* Blocks of sends, one begun at each whole number; in the last block also a receive that was open
 * from the beginning. */
static struct pw_start_index make_index(void)
{
    struct pw_start_index index;
    assert_int_equal(pw_start_index_init(&index, BLOCKS), 0);
    for (int b = 0; b < BLOCKS; b++) {
        struct pw_row_comm_event rows[ROWS + 2] = {{0}};
        for (int i = 0; i < ROWS; i++)
            rows[i] = (struct pw_row_comm_event){
                .start = b * ROWS + i, .end = b * ROWS + i + 1, .op = PW_OP_Send};
        /* Neither collectives nor nonsense count. */
        rows[ROWS] = (struct pw_row_comm_event){.start = 1, .end = 5000, .op = PW_OP_Barrier};
        rows[ROWS + 1] = (struct pw_row_comm_event){.start = 5000, .end = 1, .op = PW_OP_Send};
        if (b == BLOCKS - 1)
            rows[ROWS] = (struct pw_row_comm_event){.start = 0, .end = 1000, .op = PW_OP_Irecv};
        pw_start_index_note(&index, (size_t)b, rows, ROWS + 2);
    }
    pw_start_index_finish(&index);
    return index;
}

static void test_long_open_receive_is_no_reason_to_read_all(void **state)
{
    (void)state;
    struct pw_start_index index = make_index();
    size_t first, end;
    pw_start_index_find(&index, 200, 220, &first, &end);
    assert_int_equal(first, 20);
    assert_int_equal(end, 22);
    /* It counts as begun with the last that was begun so many blocks before it. */
    int64_t floor = pw_start_index_floor(&index, BLOCKS - 1);
    assert_int_equal(floor, (BLOCKS - PW_START_INDEX_LATE) * ROWS - 1);
    pw_start_index_find(&index, floor, floor + 1, &first, &end);
    assert_int_equal(end, BLOCKS);
    pw_start_index_find(&index, floor - ROWS, floor, &first, &end);
    assert_int_equal(end, BLOCKS - PW_START_INDEX_LATE);
    pw_start_index_find(&index, INT64_MIN, INT64_MAX, &first, &end);
    assert_int_equal(first, 0);
    assert_int_equal(end, BLOCKS);
    pw_start_index_fini(&index);
}

static void test_counts_what_is_begun(void **state)
{
    (void)state;
    struct pw_start_index index = make_index();
    assert_int_equal(pw_start_index_count(&index, INT64_MIN), 0);
    assert_int_equal(pw_start_index_count(&index, 0), 0);
    assert_in_range((int64_t)pw_start_index_count(&index, 500), 498, 502);
    assert_int_equal(pw_start_index_count(&index, INT64_MAX), BLOCKS * ROWS + 1);
    pw_start_index_fini(&index);
    assert_int_equal(pw_start_index_count(&index, INT64_MAX), 0);
}

/* ---- who meets whom ---- */

struct met {
    int64_t sends[8], receives[8]; /* by their local_enter */
    int64_t alone[8];              /* receives as negative numbers */
    int n, nalone;
};

static void note_match(void *context, const struct pw_endpoint *send,
                       const struct pw_endpoint *receive)
{
    struct met *met = context;
    met->sends[met->n] = send->local_enter;
    met->receives[met->n++] = receive->local_enter;
}

static void note_alone(void *context, const struct pw_endpoint *endpoint, int receives)
{
    struct met *met = context;
    met->alone[met->nalone++] = receives ? -endpoint->local_enter : endpoint->local_enter;
}

static struct pw_endpoint endpoint_of(int32_t src, int32_t dst, int32_t tag, int64_t enter)
{
    return (struct pw_endpoint){.comm_uid = 1,
                                .src = src,
                                .dst = dst,
                                .tag = tag,
                                .at = {enter, enter + 10, enter},
                                .local_enter = enter,
                                .bytes = 100};
}

static void add(struct pw_channels *c, int receives, int32_t src, int32_t dst, int32_t tag,
                int64_t enter)
{
    struct pw_endpoint endpoint = endpoint_of(src, dst, tag, enter);
    assert_int_equal(pw_channels_add(c, &endpoint, receives), 0);
}

static void test_kth_send_matches_kth_receive_in_any_round(void **state)
{
    (void)state;
    struct met met = {0};
    struct pw_channels c = pw_channels_make(note_match, note_alone, &met);
    const int64_t ends[3] = {100, 100, 100};
    add(&c, 0, 0, 1, 5, 1);
    add(&c, 0, 0, 1, 5, 2);
    add(&c, 1, 0, 1, 6, 3); /* another tag */
    pw_channels_end(&c, ends, 10);
    assert_int_equal(c.waiting, 3);
    assert_int_equal(met.n, 0);
    add(&c, 1, 0, 1, 5, 11);
    add(&c, 0, 0, 1, 6, 12);
    pw_channels_end(&c, ends, 20);
    add(&c, 1, 0, 1, 5, 21);
    add(&c, 1, 0, 1, 5, 22);
    pw_channels_end(&c, ends, 30);
    const int64_t sends[] = {1, 12, 2}, receives[] = {11, 3, 21};
    assert_int_equal(met.n, 3);
    assert_memory_equal(met.sends, sends, sizeof(sends));
    assert_memory_equal(met.receives, receives, sizeof(receives));
    assert_int_equal(c.waiting, 1);
    pw_channels_end(&c, ends, INT64_MAX);
    assert_int_equal(met.nalone, 1);
    assert_int_equal(met.alone[0], -22);
    pw_channels_fini(&c);
}

/* Where a file ends early, who waits for its rank must not wait in memory until the end. */
static void test_no_message_waits_for_a_rank_that_ended(void **state)
{
    (void)state;
    struct met met = {0};
    struct pw_channels c = pw_channels_make(note_match, note_alone, &met);
    const int64_t ends[3] = {100, 20, INT64_MIN};
    add(&c, 1, 1, 0, 5, 7);  /* from 1, which ends at 20 */
    add(&c, 0, 0, 1, 5, 8);  /* to 1 */
    add(&c, 1, 2, 0, 5, 9);  /* from 2, which has no messages */
    add(&c, 0, 0, 0, 5, 10); /* to itself */
    pw_channels_end(&c, ends, 20);
    assert_int_equal(met.nalone, 1);
    assert_int_equal(met.alone[0], -9);
    pw_channels_end(&c, ends, 21);
    assert_int_equal(met.nalone, 3);
    assert_int_equal(met.alone[1], -7);
    assert_int_equal(met.alone[2], 8);
    assert_int_equal(c.waiting, 1);
    pw_channels_fini(&c);
}

/* A tag of its own for every message: what is empty is forgotten. */
static void test_channels_do_not_pile_up(void **state)
{
    (void)state;
    struct met met = {0};
    struct pw_channels c = pw_channels_make(note_match, note_alone, &met);
    const int64_t ends[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    for (int32_t tag = 0; tag < 10000; tag++) {
        met.n = 0;
        add(&c, 0, 0, 1, tag, tag);
        add(&c, 1, 0, 1, tag, tag);
        assert_int_equal(met.n, 1);
        if (tag % 100 == 99)
            pw_channels_end(&c, ends, tag);
    }
    assert_true(c.by_key.capacity <= 1024);
    assert_int_equal(c.n, 0);
    pw_channels_fini(&c);
}

/* ---- sums ---- */

struct sums {
    struct pw_messages out;
    struct pw_graph_parts graph;
    struct pw_message_sums kept;
};

static struct pw_message_sums *begin(struct sums *s)
{
    *s = (struct sums){.graph = {.until_ns = INT64_MIN}};
    s->kept = pw_message_sums_make(&s->out, &s->graph, (struct pw_flows){.least_ns = INT64_MAX});
    return &s->kept;
}

static void finish(struct sums *s)
{
    pw_message_sums_calls_until(&s->kept, INT64_MAX);
    pw_message_sums_finish(&s->kept);
    assert_false(s->kept.failed);
    pw_message_sums_fini(&s->kept);
}

/* How many messages of pair `i` were not hidden, and for how long. */
static void assert_unhidden(const struct sums *s, size_t i, int64_t n, int64_t ns)
{
    assert_int_equal(s->out.pairs[i].unhidden, n);
    assert_int_equal(s->out.pairs[i].unhidden_ns, ns);
}

/* A receive of rank 9 that a call completes at `end`, begun at `enter`; its rank was there. */
static struct pw_endpoint receive_of(struct pw_message_sums *t, int32_t src, int64_t enter,
                                     int64_t end)
{
    struct pw_endpoint endpoint = endpoint_of(src, 9, 0, enter);
    endpoint.at = (struct pw_message_end){enter, end, enter};
    endpoint.completion = pw_message_sums_call(t, 9, end, end);
    return endpoint;
}

static void match(struct pw_message_sums *t, const struct pw_endpoint *receive, int64_t sent)
{
    struct pw_endpoint send = endpoint_of(receive->src, receive->dst, 0, sent);
    send.at = (struct pw_message_end){sent, sent + 1, INT64_MAX};
    pw_message_sums_match(t, &send, receive);
}

/* Two receives that one call completes at 100. */
struct two {
    struct pw_endpoint a, b;
};

static struct two receive_two(struct pw_message_sums *t)
{
    struct two two = {.a = receive_of(t, 3, 10, 100)};
    two.b = receive_of(t, 2, 20, 100);
    return two;
}

/* One call completes three at 100: the one that came last, at 80, took 20, and only that counts,
 * also when the others are matched rounds later. */
static void test_one_of_a_call_counts(void **state)
{
    (void)state;
    struct sums s;
    struct pw_message_sums *t = begin(&s);
    struct two two = receive_two(t);
    struct pw_endpoint c = receive_of(t, 1, 30, 100);
    match(t, &two.b, 80);
    pw_message_sums_calls_until(t, 50);
    match(t, &two.a, 40);
    pw_message_sums_calls_until(t, 101);
    match(t, &c, 60);
    finish(&s);
    assert_int_equal(s.out.npairs, 3);
    assert_int_equal(s.out.pairs[0].src, 1);
    assert_unhidden(&s, 0, 0, 0);
    assert_unhidden(&s, 1, 1, 20);
    assert_int_equal(s.out.pairs[1].unhidden_squares_ns.low, 400);
    assert_unhidden(&s, 2, 0, 0);
    /* The rank waited for all of them in one call, until the last had come. */
    assert_int_equal(s.out.nwaits, 1);
    assert_int_equal(s.out.waits[0].start, 10);
    assert_int_equal(s.out.waits[0].end, 80);
    pw_messages_fini(&s.out);
}

static void test_none_counts_where_one_has_no_partner(void **state)
{
    (void)state;
    struct sums s;
    struct pw_message_sums *t = begin(&s);
    struct two two = receive_two(t);
    match(t, &two.a, 40);
    struct pw_endpoint other = receive_of(t, 2, 110, 200);
    match(t, &other, 150);
    pw_message_sums_alone(t, &two.b, 1);
    finish(&s);
    assert_int_equal(s.out.unmatched, 1);
    assert_unhidden(&s, 0, 1, 50);
    assert_unhidden(&s, 1, 0, 0);
    pw_messages_fini(&s.out);
}

/* A rank posts a receive at 10, which is sent to at 20, and computes. Where it waits from 90 to
 * 100, the message may have been there for 70: how long it took is not known. Where it waits from
 * 1055 to 1100, most of the 80 is seen. */
static void test_messages_to_a_busy_rank_do_not_count(void **state)
{
    (void)state;
    struct sums s;
    struct pw_message_sums *t = begin(&s);
    struct pw_endpoint busy = receive_of(t, 1, 10, 100), idle = receive_of(t, 2, 1010, 1100);
    busy.at.blocked = 90;
    idle.at.blocked = 1055;
    match(t, &busy, 20);
    match(t, &idle, 1020);
    finish(&s);
    assert_int_equal(s.out.npairs, 2);
    assert_int_equal(s.out.pairs[0].messages, 1);
    assert_unhidden(&s, 0, 0, 0);
    assert_unhidden(&s, 1, 1, 80);
    pw_messages_fini(&s.out);
}

/* Squares of some hours' ns do not fit 64 bits. */
static void test_squares_are_exact(void **state)
{
    (void)state;
    struct sums s;
    struct pw_message_sums *t = begin(&s);
    const int64_t long_ns = ((int64_t)1 << 40) + 3;
    for (int i = 0; i < 3; i++) {
        struct pw_endpoint a = receive_of(t, 1, 0, long_ns + i);
        match(t, &a, i);
    }
    finish(&s);
    /* 3 x (2^40 + 3)^2 = 3 x 2^80 + 18 x 2^40 + 27 */
    assert_int_equal(s.out.pairs[0].unhidden_squares_ns.high, 3 << 16);
    assert_int_equal(s.out.pairs[0].unhidden_squares_ns.low, ((int64_t)18 << 40) + 27);
    pw_messages_fini(&s.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_from_fortran_is_not_enqueued),
        cmocka_unit_test(test_long_open_receive_is_no_reason_to_read_all),
        cmocka_unit_test(test_counts_what_is_begun),
        cmocka_unit_test(test_kth_send_matches_kth_receive_in_any_round),
        cmocka_unit_test(test_no_message_waits_for_a_rank_that_ended),
        cmocka_unit_test(test_channels_do_not_pile_up),
        cmocka_unit_test(test_one_of_a_call_counts),
        cmocka_unit_test(test_none_counts_where_one_has_no_partner),
        cmocka_unit_test(test_messages_to_a_busy_rank_do_not_count),
        cmocka_unit_test(test_squares_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
