/* The ring in one thread: filling, wrapping, losing and saying so; and with a reader beside it. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rank/ring/ring.h"

enum { SLOTS = 8, RACE_SLOTS = 1024, RACE_RECORDS = 1000000 };

static struct pw_ring_shared *create_ring(uint64_t slots)
{
    size_t bytes = PW_RING_CONTROL + slots * sizeof(struct pw_record);
    struct pw_ring_shared *shared = aligned_alloc(64, bytes);
    assert_non_null(shared);
    memset(shared, 0, bytes);
    return shared;
}

/* Writes a record whose `start` and `end` are `now`; 1 when it fitted. */
static int put(struct pw_ring *ring, uint64_t now)
{
    struct pw_record *record = pw_ring_reserve(ring, now, PW_LOST_RANGE);
    if (!record)
        return 0;
    *record = (struct pw_record){.type = PW_REC_RANGE, .start = now, .end = now};
    pw_ring_commit(ring);
    return 1;
}

static uint64_t lost(struct pw_ring_shared *shared)
{
    return atomic_load(&shared->lost[PW_LOST_RANGE]);
}

static struct pw_record get(struct pw_ring_shared *shared, uint64_t slots)
{
    uint64_t tail = atomic_load(&shared->tail);
    assert_true(tail < atomic_load(&shared->head));
    struct pw_record record = pw_ring_records(shared)[tail & (slots - 1)];
    atomic_store(&shared->tail, tail + 1);
    return record;
}

static void test_fill_and_wrap(void **state)
{
    (void)state;
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, SLOTS);
    uint64_t next = 0, read = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < SLOTS; i++)
            assert_true(put(&ring, next++));
        assert_true(pw_ring_is_valid(&ring));
        for (int i = 0; i < SLOTS - 3; i++) /* leave some, so that the wrap moves */
            assert_int_equal(get(shared, SLOTS).start, read++);
        for (int i = 0; i < SLOTS - 3; i++)
            assert_true(put(&ring, next++));
        while (read < next)
            assert_int_equal(get(shared, SLOTS).start, read++);
    }
    assert_int_equal(atomic_load(&shared->head), 5 * (2 * SLOTS - 3));
    assert_int_equal(lost(shared), 0);
    assert_true(pw_ring_is_valid(&ring));
    free(shared);
}

static void test_loss_is_marked_in_band(void **state)
{
    (void)state;
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, SLOTS);
    for (uint64_t i = 0; i < SLOTS; i++)
        assert_true(put(&ring, i));
    for (uint64_t i = 0; i < 5; i++)
        assert_false(put(&ring, 100 + i));
    assert_int_equal(lost(shared), 5); /* mirrored, for a run that ends here */
    assert_int_equal(atomic_load(&shared->lost_start), 100);
    assert_int_equal(atomic_load(&shared->lost_end), 104);
    assert_true(pw_ring_is_valid(&ring));

    get(shared, SLOTS);
    assert_false(put(&ring, 105)); /* one slot: marker and record need two */
    get(shared, SLOTS);
    assert_true(put(&ring, 200));
    assert_int_equal(lost(shared), 0);
    for (uint64_t i = 2; i < SLOTS; i++)
        assert_int_equal(get(shared, SLOTS).start, i);
    struct pw_record marker = get(shared, SLOTS);
    assert_int_equal(marker.type, PW_REC_LOST);
    assert_int_equal(marker.lost.lost[PW_LOST_RANGE], 6);
    assert_int_equal(marker.start, 100);
    assert_int_equal(marker.end, 105);
    assert_int_equal(get(shared, SLOTS).start, 200);
    assert_int_equal(atomic_load(&shared->head), atomic_load(&shared->tail));

    assert_true(put(&ring, 201)); /* the loss was told once */
    assert_int_equal(get(shared, SLOTS).type, PW_REC_RANGE);
    free(shared);
}

static void test_make_room(void **state)
{
    (void)state;
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, SLOTS);
    assert_int_equal(pw_ring_make_room(&ring, SLOTS, 1, PW_LOST_RANGE), 0);
    assert_int_equal(pw_ring_make_room(&ring, SLOTS + 1, 2, PW_LOST_RANGE),
                     -ENOSPC); /* all or nothing */
    assert_int_equal(lost(shared), SLOTS + 1);
    assert_int_equal(pw_ring_make_room(&ring, SLOTS, 3, PW_LOST_RANGE),
                     -ENOSPC); /* the marker needs one */
    assert_int_equal(lost(shared), 2 * SLOTS + 1);
    assert_int_equal(pw_ring_make_room(&ring, SLOTS - 1, 4, PW_LOST_RANGE), 0);
    assert_int_equal(lost(shared), 0);
    struct pw_record marker = get(shared, SLOTS);
    assert_int_equal(marker.type, PW_REC_LOST);
    assert_int_equal(marker.lost.lost[PW_LOST_RANGE], 2 * SLOTS + 1);
    assert_int_equal(marker.start, 2);
    assert_int_equal(marker.end, 3);
    pw_ring_count_loss(&ring, 4, 9, PW_LOST_STEP);
    assert_int_equal(atomic_load(&shared->lost[PW_LOST_STEP]), 4);
    assert_true(put(&ring, 10));
    assert_int_equal(get(shared, SLOTS).lost.lost[PW_LOST_STEP], 4);
    free(shared);
}

static void test_commit_signals_every_part(void **state)
{
    enum { MANY = 64, PART = MANY / PW_RING_STEP, SMALL = MANY / PW_RING_STEP_FULL };
    (void)state;
    struct pw_ring_shared *shared = create_ring(MANY);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, MANY);
    for (uint64_t i = 1; i <= 2 * MANY; i++) {
        assert_non_null(pw_ring_reserve(&ring, i, PW_LOST_RANGE));
        assert_int_equal(pw_ring_commit(&ring), i % PART == 0);
        atomic_store(&shared->tail, i);
    }
    for (uint64_t i = 1; i < MANY - 1; i++) { /* nothing is taken any more; the ring gets full */
        assert_non_null(pw_ring_reserve(&ring, i, PW_LOST_RANGE));
        assert_int_equal(pw_ring_commit(&ring), i % (i <= MANY / 2 ? PART : SMALL) == 0);
    }
    free(shared);
}

static void test_another_thread_goes_on(void **state)
{
    (void)state;
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring first, second;
    pw_ring_init(&first, shared, SLOTS);
    for (uint64_t i = 0; i < 5; i++)
        assert_true(put(&first, i));
    get(shared, SLOTS);
    pw_ring_init(&second, shared, SLOTS);
    assert_int_equal(second.head, 5);
    assert_int_equal(second.tail_seen, 1);
    for (uint64_t i = 5; i < 9; i++)
        assert_true(put(&second, i));
    assert_false(put(&second, 9));
    for (uint64_t i = 1; i < 9; i++)
        assert_int_equal(get(shared, SLOTS).start, i);
    free(shared);
}

static void test_is_valid_sees_damage(void **state)
{
    (void)state;
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, SLOTS);
    put(&ring, 1);
    assert_true(pw_ring_is_valid(&ring));
    atomic_store(&shared->tail, 2); /* past the head */
    assert_false(pw_ring_is_valid(&ring));
    atomic_store(&shared->tail, 0);
    ring.head += 1;
    assert_false(pw_ring_is_valid(&ring));
    ring.head -= 1;
    ring.mask = 5;
    assert_false(pw_ring_is_valid(&ring));
    ring.mask = SLOTS - 1;
    ring.tail_seen = 1;
    assert_false(pw_ring_is_valid(&ring));
    free(shared);
}

/* Events find no room where definitions still do. */
static void test_definitions_have_room_of_their_own(void **state)
{
    (void)state;
    enum { KEPT = RACE_SLOTS / 64 };
    struct pw_ring_shared *shared = create_ring(RACE_SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, RACE_SLOTS);
    for (uint64_t i = 0; i < RACE_SLOTS - KEPT; i++)
        assert_true(put(&ring, i));
    assert_false(put(&ring, 5000));
    assert_int_equal(pw_ring_make_room(&ring, KEPT - 1, 5001, PW_LOST_NAME), 0); /* and a marker */
    for (int i = 0; i < KEPT - 1; i++) {
        struct pw_record *record = pw_ring_reserve(&ring, 5001, PW_LOST_NAME);
        assert_non_null(record);
        record->type = PW_REC_STRING;
        pw_ring_commit(&ring);
    }
    assert_false(put(&ring, 5002));
    assert_null(pw_ring_reserve(&ring, 5003, PW_LOST_NAME));
    assert_true(pw_ring_is_valid(&ring));
    assert_int_equal(lost(shared), 1);
    assert_int_equal(atomic_load(&shared->lost[PW_LOST_NAME]), 1);
    atomic_store(&shared->tail, RACE_SLOTS - KEPT);
    struct pw_record marker = get(shared, RACE_SLOTS);
    assert_int_equal(marker.type, PW_REC_LOST);
    assert_int_equal(marker.lost.lost[PW_LOST_RANGE], 1);
    assert_int_equal(marker.lost.lost[PW_LOST_NAME], 0);
    free(shared);
}

/* A thread that ends with a loss untold leaves it to the next; one that dies between writing the
 * marker and clearing the counts has told it. */
static void test_loss_of_the_thread_before(void **state)
{
    (void)state;
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, SLOTS);
    pw_ring_count_loss(&ring, 3, 10, PW_LOST_RANGE);
    pw_ring_init(&ring, shared, SLOTS);
    assert_true(put(&ring, 20));
    struct pw_record marker = get(shared, SLOTS);
    assert_int_equal(marker.lost.lost[PW_LOST_RANGE], 3);
    assert_int_equal(marker.start, 10);

    pw_ring_count_loss(&ring, 4, 30, PW_LOST_RANGE);
    atomic_store(&shared->lost_marked, ring.head + 1);
    assert_false(pw_ring_loss_is_marked(shared)); /* the marker is not committed yet */
    atomic_store(&shared->lost_marked, ring.head);
    assert_true(pw_ring_loss_is_marked(shared));
    pw_ring_init(&ring, shared, SLOTS);
    assert_int_equal(lost(shared), 0);
    get(shared, SLOTS);
    assert_true(put(&ring, 40));
    assert_int_equal(get(shared, SLOTS).type, PW_REC_RANGE);
    free(shared);
}

/* There is no reader: the producer waits once, and again only when the tail has moved. */
static void test_wait_without_a_reader_is_not_repeated(void **state)
{
    (void)state;
    struct pw_segment_shared segment = {.tick_source = PW_TICK_RAW};
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, SLOTS);
    ring.waits_for = &segment;
    for (uint64_t i = 0; i < SLOTS; i++)
        assert_true(put(&ring, i));
    int64_t begin = pw_local_ns();
    assert_false(put(&ring, (uint64_t)begin));
    int64_t gave_up = pw_local_ns();
    assert_true(gave_up - begin > 1900000000 && gave_up - begin < 20000000000);
    for (int i = 0; i < 1000; i++)
        assert_false(put(&ring, (uint64_t)gave_up));
    assert_true(pw_local_ns() - gave_up < 1000000000);
    atomic_store(&shared->tail, SLOTS);
    assert_true(put(&ring, (uint64_t)gave_up));
    struct pw_record waited = get(shared, SLOTS), marker = get(shared, SLOTS);
    assert_int_equal(waited.type, PW_REC_WAIT);
    assert_int_equal(waited.start, begin);
    assert_true((int64_t)(waited.end - waited.start) > 1900000000);
    assert_int_equal(marker.lost.lost[PW_LOST_RANGE], 1001);
    assert_int_equal(get(shared, SLOTS).type, PW_REC_RANGE);
    free(shared);
}

/* The thread was cancelled before it could say when its wait ended. */
static void test_wait_that_was_cancelled(void **state)
{
    (void)state;
    enum { BEGIN = 7, LATER = 9 };
    struct pw_ring_shared *shared = create_ring(SLOTS);
    struct pw_ring ring;
    pw_ring_init(&ring, shared, SLOTS);
    atomic_store(&shared->wait_start, BEGIN);
    assert_int_equal(pw_ring_make_room(&ring, 1, LATER, PW_LOST_RANGE), 0);
    struct pw_record waited = get(shared, SLOTS);
    assert_int_equal(waited.type, PW_REC_WAIT);
    assert_int_equal(waited.start, BEGIN);
    assert_int_equal(waited.end, BEGIN);
    free(shared);
}

static struct pw_segment_shared race_segment = {.tick_source = PW_TICK_RAW};

static void *produce(void *arg)
{
    struct pw_ring ring;
    pw_ring_init(&ring, arg, RACE_SLOTS);
    ring.waits_for = race_segment.waits ? &race_segment : NULL;
    for (uint64_t i = 0; i < RACE_RECORDS; i++) {
        struct pw_record *record = pw_ring_reserve(&ring, i, PW_LOST_RANGE);
        if (!record)
            continue;
        *record = (struct pw_record){.type = PW_REC_RANGE, .start = i, .end = ~i};
        pw_ring_commit(&ring);
    }
    return NULL;
}

/* Reads what there is; `next` is the number that must come. Returns the records received. */
static uint64_t consume(struct pw_ring_shared *shared, uint64_t *next, int *intact)
{
    uint64_t tail = atomic_load_explicit(&shared->tail, memory_order_relaxed), received = 0;
    uint64_t head = atomic_load_explicit(&shared->head, memory_order_acquire);
    for (; tail != head; tail++) {
        const struct pw_record *r = &pw_ring_records(shared)[tail & (RACE_SLOTS - 1)];
        if (r->type == PW_REC_WAIT)
            continue;
        if (r->type == PW_REC_LOST) {
            uint64_t n = r->lost.lost[PW_LOST_RANGE];
            *intact &= r->start == *next && r->end == *next + n - 1;
            *next += n;
            continue;
        }
        *intact &= r->type == PW_REC_RANGE && r->start == *next && r->end == ~*next;
        (*next)++;
        received++;
    }
    atomic_store_explicit(&shared->tail, tail, memory_order_release);
    return received;
}

/* Whatever the two threads do, every record is either received, in order and whole, or counted in
 * the one gap where it belongs. */
static void race(int waits)
{
    struct pw_ring_shared *shared = create_ring(RACE_SLOTS);
    pthread_t producer;
    uint64_t received = 0, next = 0;
    int intact = 1, rounds = 0;
    race_segment.waits = (uint32_t)waits;
    assert_int_equal(pthread_create(&producer, NULL, produce, shared), 0);
    while (pthread_tryjoin_np(producer, NULL) != 0) {
        received += consume(shared, &next, &intact);
        for (volatile int pause = 0; pause < 3000 * (rounds % 4); pause++) /* slow at times */
            ;
        rounds++;
    }
    received += consume(shared, &next, &intact);
    assert_true(intact);
    uint64_t at_the_end = lost(shared);
    assert_int_equal(next + at_the_end, RACE_RECORDS);
    uint64_t missing = next - received + at_the_end;
    print_message("%llu received, %llu lost\n", (unsigned long long)received,
                  (unsigned long long)missing);
    assert_int_equal(received + missing, RACE_RECORDS);
    assert_true(received > 0);
    if (waits)
        assert_int_equal(missing, 0);
    free(shared);
}

static void test_race(void **state)
{
    (void)state;
    race(0);
}

static void test_race_of_one_that_waits(void **state)
{
    (void)state;
    race(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill_and_wrap),
        cmocka_unit_test(test_loss_is_marked_in_band),
        cmocka_unit_test(test_make_room),
        cmocka_unit_test(test_commit_signals_every_part),
        cmocka_unit_test(test_another_thread_goes_on),
        cmocka_unit_test(test_is_valid_sees_damage),
        cmocka_unit_test(test_definitions_have_room_of_their_own),
        cmocka_unit_test(test_loss_of_the_thread_before),
        cmocka_unit_test(test_wait_without_a_reader_is_not_repeated),
        cmocka_unit_test(test_wait_that_was_cancelled),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_race_of_one_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
