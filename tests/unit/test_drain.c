/* The collector's end of the rings. Records written by hand reach the right collector with the
 * right times. Lost and invalid records are handled. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_drain_bench.h"

enum { SEEN_MAX = 64 };

static struct {
    int created, samples, finished, destroyed;
    size_t n;
    struct pw_record records[SEEN_MAX];
    struct pw_origin origins[SEEN_MAX];
} seen;

static void *note_create(struct pw_rankfile *file)
{
    assert_non_null(file);
    seen.created++;
    return &seen;
}

static void note_record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    assert_ptr_equal(state, &seen);
    if (seen.n < SEEN_MAX) {
        seen.records[seen.n] = *record;
        seen.origins[seen.n] = *origin;
    }
    seen.n++;
}

static void note_sample(void *state, pid_t pid, int64_t now_ns)
{
    assert_ptr_equal(state, &seen);
    assert_int_equal(pid, 4711);
    assert_true(now_ns > 0);
    seen.samples++;
}

static void note_finish(void *state, int64_t end_ns)
{
    assert_ptr_equal(state, &seen);
    assert_true(end_ns > 0);
    seen.finished++;
}

static void note_destroy(void *state)
{
    assert_ptr_equal(state, &seen);
    seen.destroyed++;
}

static void never(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    (void)state, (void)record, (void)origin;
    fail_msg("a collector that was not asked for got a record");
}

static const struct pw_module fakes[] = {
    {.name = "off",
     .activity = PW_ACTIVITY_MPI,
     .first_type = PW_REC_COMM,
     .last_type = PW_REC_MPI_STATE,
     .record = never},
    {.name = "fake",
     .activity = PW_ACTIVITY_ANNOTATIONS,
     .first_type = PW_REC_RANGE,
     .last_type = PW_REC_STEP,
     .create = note_create,
     .record = note_record,
     .sample = note_sample,
     .finish = note_finish,
     .destroy = note_destroy},
    {.name = NULL},
};

static int setup(void **state)
{
    memset(&seen, 0, sizeof(seen));
    return bench_create(state, fakes, PW_ACTIVITY_ANNOTATIONS);
}

static void test_records_arrive(void **state)
{
    struct bench *b = *state;
    bench_thread(b, 0, 5, true);
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_RANGE,
                                  .start = 1000,
                                  .end = 2500,
                                  .range = {.name = 7, .depth = 2, .kind = 1}});
    bench_put(
        b, 0,
        &(struct pw_record){.type = PW_REC_STEP, .start = 3000, .end = 3000, .step = {.step = 12}});
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_COMM, .start = 1, .end = 2}); /* off */
    assert_int_equal(pw_drain_run(b->drain), 4);
    assert_int_equal(pw_drain_run(b->drain), 0);
    assert_int_equal(seen.created, 1);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.records[0].range.name, 7);
    assert_int_equal(seen.origins[0].start, 1000); /* ticks of the raw clock are ns */
    assert_int_equal(seen.origins[0].end, 2500);
    assert_int_equal(seen.origins[0].thread, 5);
    assert_int_equal(seen.origins[0].epoch, 1);
    assert_int_equal(seen.records[1].step.step, 12);
    assert_int_equal(atomic_load(&b->rings[0].shared->tail), 4); /* given back */
    pw_intake_sample(b->intake, 4711);
    assert_int_equal(seen.samples, 1);
    bench_close(b);
    assert_int_equal(seen.finished, 1);
    assert_int_equal(seen.destroyed, 1);
}

static void put_text(struct bench *b, int ring, uint32_t id, const char *text)
{
    uint32_t total = (uint32_t)strlen(text);
    for (uint32_t at = 0; at < total; at += PW_STRING_PIECE) {
        struct pw_record r = {.type = PW_REC_STRING,
                              .string = {.id = id, .total = total, .offset = at}};
        memcpy(r.string.bytes, text + at,
               total - at < PW_STRING_PIECE ? total - at : PW_STRING_PIECE);
        bench_put(b, ring, &r);
    }
}

static void test_names_of_two_processes(void **state)
{
    struct bench *b = *state;
    static const char *const expected[] = {"", "a name of more than twenty-eight bytes", "b",
                                           "another process"};
    char **strings;
    size_t n;
    bench_thread(b, 0, 0, true);
    put_text(b, 0, 1, expected[1]);
    put_text(b, 0, 2, expected[2]);
    pw_drain_run(b->drain);
    bench_thread(b, 0, 1, true); /* its ids begin at 1 again */
    put_text(b, 0, 1, expected[3]);
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_RANGE, .range = {.name = 1}});
    pw_drain_run(b->drain);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.origins[0].epoch, 2);
    assert_int_equal(pw_origin_name(&seen.origins[0], 1), 3);
    assert_int_equal(pw_origin_name(&seen.origins[0], 0), 0);
    hid_t file = bench_close(b);
    assert_int_equal(pw_h5_read_strings(file, "/strings", &strings, &n), 0);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(strings[i], expected[i]);
    free(strings);
}

/* The first thread of a process may be stopped before it writes its first record. The names that
 * another thread has given meanwhile are those of its process, too. */
static void test_names_before_the_first_thread(void **state)
{
    struct bench *b = *state;
    bench_thread(b, 1, 1, true);
    put_text(b, 1, 1, "a name");
    pw_drain_run(b->drain);
    bench_thread(b, 0, 0, false);
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_RANGE, .range = {.name = 1}});
    pw_drain_run(b->drain);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.origins[0].epoch, 1);
    assert_int_equal(pw_origin_name(&seen.origins[0], 1), 1);
}

/* A row of /events/gap, less its times. */
static void assert_gap(const struct pw_row_gap *gap, int reason, int kind, int thread, int64_t lost)
{
    assert_int_equal(gap->reason, reason);
    assert_int_equal(gap->kind, kind);
    assert_int_equal(gap->thread, thread);
    assert_int_equal(gap->lost, lost);
}

static void test_losses(void **state)
{
    struct bench *b = *state;
    bench_thread(b, 0, 3, false);
    bench_put(b, 0,
              &(struct pw_record){.type = PW_REC_LOST, .start = 100, .end = 900, .lost = {{42}}});
    pw_drain_run(b->drain);
    pw_ring_count_loss(&b->rings[0], 8, 2000,
                       PW_LOST_STEP); /* at the very end: no record says it */
    pw_ring_count_loss(&b->rings[0], 1, 2100, PW_LOST_STEP);
    hid_t file = bench_close(b);
    struct pw_row_gap *gaps;
    size_t n;
    int64_t dropped;
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_gap, (void **)&gaps, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(gaps[0].start, 100);
    assert_int_equal(gaps[0].end, 900);
    assert_gap(&gaps[0], PW_REASON_RING_FULL, PW_LOST_COMMUNICATION, 3, 42);
    assert_int_equal(gaps[1].start, 2000);
    assert_int_equal(gaps[1].end, 2100);
    assert_int_equal(gaps[1].lost, 9);
    assert_int_equal(gaps[1].kind, PW_LOST_STEP);
    assert_int_equal(pw_h5_get_int(file, "dropped_events", &dropped), 0);
    assert_int_equal(dropped, 51);
    free(gaps);
}

static double overhead(struct bench *b, const char *name)
{
    size_t n;
    double value = -1;
    struct pw_row_overhead *rows = bench_rows(b, PW_TABLE_overhead, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            value = rows[i].value;
    free(rows);
    return value;
}

/* A marker has every kind; a loss whose marker was written by one that died is counted once; waits
 * and calls without a ring have rows of their own. */
static void test_gaps_by_kind(void **state)
{
    struct bench *b = *state;
    size_t n;
    bench_thread(b, 0, 3, false);
    bench_thread(b, 1, 4, false);
    bench_put(b, 0,
              &(struct pw_record){
                  .type = PW_REC_LOST, .start = 100, .end = 900, .lost = {{5, 0, 1, 0, 2}}});
    bench_put(
        b, 0,
        &(struct pw_record){.type = PW_REC_WAIT, .start = 1000, .end = 1700, .op = PW_LOST_RANGE});
    pw_ring_count_loss(&b->rings[1], 7, 50, PW_LOST_RANGE);
    atomic_store(&b->rings[1].shared->lost_marked, atomic_load(&b->rings[1].shared->head));
    atomic_store(&b->rings[0].shared->wait_start, 2000);
    atomic_store(&b->rings[0].shared->wait_end, 2300);
    atomic_store(&b->rings[0].shared->nested, 11);
    atomic_store(&b->segment->no_ring, 13);
    atomic_store(&b->segment->cut_stacks, 17);
    bench_close(b);
    struct pw_row_gap *gaps = bench_rows(b, PW_TABLE_gap, &n);
    assert_int_equal(n, 6);
    assert_gap(&gaps[0], PW_REASON_RING_FULL, PW_LOST_COMMUNICATION, 3, 5);
    assert_gap(&gaps[1], PW_REASON_RING_FULL, PW_LOST_STEP, 3, 1);
    assert_gap(&gaps[2], PW_REASON_RING_FULL, PW_LOST_OTHER, 3, 2);
    assert_gap(&gaps[3], PW_REASON_RING_WAIT, PW_LOST_RANGE, 3, 0);
    assert_int_equal(gaps[3].start, 1000);
    assert_int_equal(gaps[3].end, 1700);
    assert_gap(&gaps[4], PW_REASON_RING_WAIT, PW_LOST_OTHER, 3, 0);
    assert_gap(&gaps[5], PW_REASON_NO_RING, PW_LOST_OTHER, UINT16_MAX, 13);
    free(gaps);
    assert_true(overhead(b, "ring_wait") == 1000);
    assert_true(overhead(b, "nested_calls") == 11);
    assert_true(overhead(b, "cut_stacks") == 17);
}

static void test_malformed_records_are_survived(void **state)
{
    struct bench *b = *state;
    for (int type = 0; type < 256; type++)
        if (type != PW_REC_RANGE && type != PW_REC_STEP) {
            struct pw_record r;
            memset(&r, 0xff, sizeof(r));
            r.type = (uint8_t)type;
            bench_put(b, 0, &r);
        }
    assert_int_equal(pw_drain_run(b->drain), 254);
    assert_int_equal(seen.n, 0);
    bench_put(b, 0, &(struct pw_record){.type = PW_REC_RANGE});
    assert_int_equal(pw_drain_run(b->drain), 1);

    uint64_t head = atomic_load(&b->rings[0].shared->head);
    atomic_store(&b->rings[0].shared->head, head + 100000); /* more than the ring holds */
    assert_int_equal(pw_drain_run(b->drain), 0);
    atomic_store(&b->rings[0].shared->head, head - 1); /* backwards */
    assert_int_equal(pw_drain_run(b->drain), 0);
    atomic_store(&b->segment->nrings, UINT32_MAX);
    pw_drain_run(b->drain);
    atomic_store(&b->segment->nrings, 2);
    assert_int_equal(seen.n, 1);
}

static void test_next_ring_is_readied(void **state)
{
    struct bench *b = *state;
    const struct pw_ring_entry *third = &b->segment->rings[2];
    assert_int_equal(atomic_load(&third->state), PW_RING_NONE);
    assert_int_equal(atomic_load(&third->records), 0);
    pw_drain_run(b->drain); /* two are used */
    assert_int_equal(atomic_load(&third->state), PW_RING_READY);
    assert_int_equal(atomic_load(&third->records), b->segment->ring_records);
}

/* A ring whose memory was never given: its pages are not touched, though it is said to be used. */
static void test_rings_without_memory_are_let_be(void **state)
{
    struct bench *b = *state;
    struct stat before, after;
    int fd = shm_open(b->name, O_RDONLY, 0);
    atomic_store(&b->segment->nrings, PW_MAX_RINGS);
    atomic_store(&b->segment->rings[7].state, PW_RING_OWNED);
    assert_int_equal(fstat(fd, &before), 0);
    pw_drain_run(b->drain);
    pw_drain_finish(b->drain);
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(before.st_blocks, after.st_blocks);
    close(fd);
}

enum { RACE_RECORDS = 200000 };

static void *produce(void *arg)
{
    struct pw_ring *ring = arg;
    for (uint64_t i = 1; i <= RACE_RECORDS; i++) {
        struct pw_record *r = pw_ring_reserve(ring, i, PW_LOST_RANGE);
        if (!r)
            continue;
        *r = (struct pw_record){.type = PW_REC_RANGE, .start = i, .end = i};
        pw_ring_commit(ring);
    }
    return NULL;
}

static void test_two_producers(void **state)
{
    struct bench *b = *state;
    pthread_t threads[2];
    struct pw_row_gap *gaps;
    size_t n;
    int64_t lost = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &b->rings[i]), 0);
    for (int i = 0; i < 2; i++)
        while (pthread_tryjoin_np(threads[i], NULL) != 0)
            pw_drain_run(b->drain);
    hid_t file = bench_close(b);
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_gap, (void **)&gaps, &n), 0);
    for (size_t i = 0; i < n; i++)
        lost += gaps[i].lost;
    free(gaps);
    assert_int_equal((int64_t)seen.n + lost, 2 * RACE_RECORDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_records_arrive),
        ON_BENCH(test_names_of_two_processes),
        ON_BENCH(test_names_before_the_first_thread),
        ON_BENCH(test_losses),
        ON_BENCH(test_gaps_by_kind),
        ON_BENCH(test_malformed_records_are_survived),
        ON_BENCH(test_next_ring_is_readied),
        ON_BENCH(test_rings_without_memory_are_let_be),
        ON_BENCH(test_two_producers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
