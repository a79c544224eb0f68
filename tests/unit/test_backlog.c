/* Records that wait for the intake. A program that records many times faster than the intake
 * processes gets room in its ring meanwhile, and the intake gets the same records in the same
 * order. The intake's collector plays the program: for each record that it gets, it writes some. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "rank/collect/backlog.h"
#include "test_drain_bench.h"

enum { RING = 32768, FASTER = 15 };

static struct {
    struct bench *bench;
    uint64_t to_write, written; /* by the program */
    uint64_t told, last;        /* to the intake */
    bool is_out_of_order, is_given_back, is_in_journal;
} play;

static void program_writes(uint64_t records)
{
    struct pw_ring *ring = &play.bench->rings[0];
    for (; records > 0 && play.written < play.to_write; records--) {
        uint64_t number = ++play.written;
        struct pw_record *slot = pw_ring_reserve(ring, number, PW_LOST_RANGE);
        if (!slot)
            continue;
        *slot = (struct pw_record){.type = PW_REC_RANGE, .start = number, .end = number};
        pw_ring_commit(ring);
    }
}

static void *play_create(struct pw_rankfile *file)
{
    (void)file;
    return &play;
}

static void play_record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    const struct pw_ring_shared *ring = play.bench->rings[0].shared;
    const uint64_t head = atomic_load(&ring->head);
    (void)state, (void)origin;
    if (play.told == 0) {
        play.is_given_back = atomic_load(&ring->tail) == head;
        play.is_in_journal = pw_journal_position(play.bench->journal, 0) == head;
    }
    play.is_out_of_order |= record->start <= play.last;
    play.last = record->start;
    play.told++;
    program_writes(FASTER);
}

static const struct pw_collector collectors[] = {
    {.name = "play",
     .activity = PW_ACTIVITY_ANNOTATIONS,
     .first_type = PW_REC_RANGE,
     .last_type = PW_REC_STEP,
     .create = play_create,
     .record = play_record},
    {.name = NULL},
};

static int setup(void **state)
{
    memset(&play, 0, sizeof(play));
    int err = bench_create_of(state, collectors, PW_ACTIVITY_ANNOTATIONS, RING);
    play.bench = *state;
    return err;
}

/* Runs the program until it has written `records`; its losses. */
static int64_t run_program(uint64_t records)
{
    struct bench *b = play.bench;
    struct pw_row_gap *gaps;
    size_t n;
    int64_t lost = 0;
    play.to_write = records;
    bench_thread(b, 0, 0, true);
    program_writes(RING / 2);
    while (play.written < records)
        pw_drain_run(b->drain);
    bench_close(b);
    gaps = bench_rows(b, PW_TABLE_gap, &n);
    for (size_t i = 0; i < n; i++)
        lost += gaps[i].lost;
    free(gaps);
    assert_false(play.is_out_of_order);
    assert_int_equal(play.told + (uint64_t)lost, records);
    return lost;
}

static int64_t mapped_bytes(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lld", &pages), 1);
    fclose(file);
    return pages * PW_SEGMENT_PAGE;
}

/* Ten rings full, all written before the intake has taken a tenth of them. */
static void test_a_burst_waits_for_the_intake(void **state)
{
    const uint64_t records = 10 * RING;
    pw_drain_delay(((struct bench *)*state)->drain,
                   2 * (int64_t)(records * sizeof(struct pw_record)));
    assert_int_equal(run_program(records), 0);
    assert_true(play.is_given_back);
    assert_true(play.is_in_journal);
}

/* Records for which the backlog has no memory are read again from the journal: 160 MB of them here.
 */
static void test_more_waits_in_the_journal(void **state)
{
    const uint64_t records = 80 * RING;
    const int64_t before = mapped_bytes();
    pw_drain_delay(((struct bench *)*state)->drain, 2 * PW_BACKLOG_CHUNK);
    assert_int_equal(run_program(records), 0);
    assert_int_equal(play.told, records);
    assert_true(mapped_bytes() - before < 16 * PW_BACKLOG_CHUNK);
}

/* When the journal takes no more, only as much waits as there is memory for, and the rest is lost.
 */
static void test_no_more_waits_than_may(void **state)
{
    const uint64_t records = 10 * RING;
    struct rlimit before, none;
    struct bench *b = *state;
    pw_drain_delay(b->drain, 2 * PW_BACKLOG_CHUNK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)pw_journal_bytes(b->journal) + (64 << 10);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    play.to_write = records;
    program_writes(RING / 2);
    while (play.written < records)
        pw_drain_run(b->drain);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(play.told > 2 * PW_BACKLOG_CHUNK / sizeof(struct pw_record));
    assert_true(play.told < records);
    assert_false(play.is_out_of_order);
}

static void test_full_ring_drops_records_without_wait(void **state)
{
    (void)state;
    assert_in_range(run_program(10 * RING), 1, 10 * RING);
    assert_false(play.is_given_back);
}

/* Memory that cannot be had: the intake takes at once what comes. */
static void test_without_memory_nothing_is_lost(void **state)
{
    struct bench *b = *state;
    struct rlimit before, none;
    pw_drain_delay(b->drain, 64 << 20);
    pw_drain_run(b->drain); /* maps the rings */
    play.to_write = RING / 2;
    program_writes(RING / 2);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    pw_drain_run(b->drain);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(play.told, RING / 2);
    assert_false(play.is_out_of_order);
}

/* An answer to `profwrap ctl status` tells of all records that there were when it was asked for. */
static void test_answers_wait_for_the_intake(void **state)
{
    struct bench *b = *state;
    struct pw_live live = {0};
    pw_drain_delay(b->drain, 64 << 20);
    play.to_write = RING / 2 + RING;
    program_writes(RING / 2);
    pw_drain_run(b->drain);
    assert_int_equal(play.written, play.to_write);
    assert_true(pw_drain_must_go_on(b->drain)); /* some wait */
    assert_true(play.told < play.to_write);
    assert_int_equal(pw_drain_live(b->drain, &live), 0);
    assert_int_equal(live.events, play.to_write);
    pw_live_fini(&live);
}

static void test_memory_is_given_back(void **state)
{
    enum { MOST = 32 * PW_BACKLOG_CHUNK, LOOKS = 1000 };
    struct bench *b = *state;
    struct pw_backlog *backlog = pw_backlog_create(b->intake, NULL, MOST);
    const int64_t before = mapped_bytes();
    struct pw_record *records;
    while ((records = pw_backlog_add_records(backlog, 0, PW_JOURNAL_BATCH)))
        memset(records, 0, PW_JOURNAL_BATCH * sizeof(*records));
    const int64_t full = pw_backlog_bytes(backlog);
    assert_in_range(full, MOST / 8 * 7 / 16 * 15,
                    MOST / 8 * 7); /* a chunk has room for 15 batches */
    assert_true(mapped_bytes() - before >= full);
    for (int i = 0; i < LOOKS; i++)
        pw_backlog_trim(backlog);
    assert_int_equal(pw_backlog_bytes(backlog), full); /* it is needed */
    pw_backlog_hand_over_all(backlog);
    for (int i = 0; i < LOOKS; i++)
        pw_backlog_trim(backlog);
    assert_true(mapped_bytes() - before < MOST / 2);
    assert_int_equal(pw_backlog_bytes(backlog), 0);
    pw_backlog_destroy(backlog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_a_burst_waits_for_the_intake),
        ON_BENCH(test_more_waits_in_the_journal),
        ON_BENCH(test_no_more_waits_than_may),
        ON_BENCH(test_full_ring_drops_records_without_wait),
        ON_BENCH(test_without_memory_nothing_is_lost),
        ON_BENCH(test_answers_wait_for_the_intake),
        ON_BENCH(test_memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
