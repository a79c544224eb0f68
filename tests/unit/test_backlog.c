/* Records that wait for the intake. A program that records many times faster than the intake
 * processes gets room in its ring meanwhile, and the intake gets the same records in the same
 * order. The intake's module plays the program: for each record that it gets, it writes some. */
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

static const struct pw_module modules[] = {
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
    int err = bench_create_of(state, modules, PW_ACTIVITY_ANNOTATIONS, RING);
    play.bench = *state;
    return err;
}

/* The journal has room for `bytes` more. Returns the limit before. */
static struct rlimit limit_journal(int64_t bytes)
{
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    if (bytes >= 0)
        limit.rlim_cur = (rlim_t)(pw_journal_bytes(play.bench->journal) + bytes);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

/* Runs the program until it has written `records`. The journal has room for `bytes` more; -1: for
 * all. Returns the program's losses. */
static int64_t run_with_room(int64_t bytes, uint64_t records)
{
    struct bench *b = play.bench;
    struct pw_row_gap *gaps;
    size_t n;
    int64_t lost = 0;
    const struct rlimit before = limit_journal(bytes);
    play.to_write = records;
    bench_thread(b, 0, 0, true);
    program_writes(RING / 2);
    while (play.written < records)
        pw_drain_run(b->drain);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    bench_close(b);
    gaps = bench_rows(b, PW_TABLE_gap, &n);
    for (size_t i = 0; i < n; i++)
        lost += gaps[i].lost;
    free(gaps);
    assert_false(play.is_out_of_order);
    assert_int_equal(play.told + (uint64_t)lost, records);
    return lost;
}

static int64_t run_program(uint64_t records)
{
    return run_with_room(-1, records);
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
    (void)state;
    assert_int_equal(run_program(records), 0);
    assert_true(play.is_given_back);
    assert_true(play.is_in_journal);
}

/* 160 MB of records take no memory while they wait. */
static void test_waiting_takes_no_memory(void **state)
{
    const uint64_t records = 80 * RING;
    const int64_t before = mapped_bytes();
    (void)state;
    assert_int_equal(run_program(records), 0);
    assert_int_equal(play.told, records);
    assert_true(mapped_bytes() - before < 16 << 20);
}

/* Without memory for anything, they wait, too, and are read. */
static void test_without_memory_nothing_is_lost(void **state)
{
    struct bench *b = *state;
    struct rlimit before, none;
    pw_drain_run(b->drain); /* maps the rings */
    play.to_write = RING / 2;
    program_writes(RING / 2);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    for (int i = 0; i < 2; i++)
        pw_drain_run(b->drain);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(play.told, RING / 2);
    assert_false(play.is_out_of_order);
}

/* When the journal takes no more, the intake gets what it has, and then records from the ring,
 * which keep their place there meanwhile. So the ring is full, and records are lost. */
static void test_a_full_journal(void **state)
{
    (void)state;
    assert_in_range(run_with_room(64 << 10, 10 * RING), 1, 9 * RING);
    assert_true(play.is_given_back);
    assert_true(play.is_in_journal);
}

static void test_no_room_from_the_first_record_on(void **state)
{
    (void)state;
    assert_in_range(run_with_room(0, 10 * RING), 1, 9 * RING);
    assert_false(play.is_given_back);
}

/* An answer to `profwrap ctl status` tells of all records that there were when it was asked for. */
static void test_answers_wait_for_the_intake(void **state)
{
    struct bench *b = *state;
    struct pw_live live = {0};
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

/* Records that wait and can no longer be read are counted by kind. */
static void test_what_cannot_be_read_is_counted(void **state)
{
    struct bench *b = *state;
    struct pw_row_gap *gaps;
    char path[UNIT_PATH];
    size_t n;
    bench_thread(b, 0, 0, true);
    play.to_write = RING / 2;
    program_writes(RING / 2); /* fills half of the ring at once: all wait after the first pass */
    FILE *journal = fopen(unit_path(path, &b->dir, "rank-00000.journal"), "r+e");
    assert_non_null(journal);
    const int64_t at = pw_journal_bytes(b->journal);
    pw_drain_sync(b->drain);
    assert_int_equal(play.told, 0);
    assert_int_equal(fseek(journal, (long)at, SEEK_SET), 0);
    assert_int_equal(fputc(0, journal), 0); /* damages the first block that waits */
    assert_int_equal(fclose(journal), 0);
    bench_close(b);
    gaps = bench_rows(b, PW_TABLE_gap, &n);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        const bool is_range = gaps[i].kind == PW_LOST_RANGE;
        assert_int_equal(gaps[i].reason, PW_REASON_DISK);
        assert_int_equal(gaps[i].kind, is_range ? PW_LOST_RANGE : PW_LOST_OTHER);
        assert_int_equal(gaps[i].lost, is_range ? RING / 2 : 1); /* the other: of the thread */
    }
    free(gaps);
    assert_int_equal(play.told, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_a_burst_waits_for_the_intake),     ON_BENCH(test_waiting_takes_no_memory),
        ON_BENCH(test_without_memory_nothing_is_lost),   ON_BENCH(test_a_full_journal),
        ON_BENCH(test_no_room_from_the_first_record_on), ON_BENCH(test_answers_wait_for_the_intake),
        ON_BENCH(test_what_cannot_be_read_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
