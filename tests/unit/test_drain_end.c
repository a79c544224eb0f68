/* The end of a rank's recording when records are left in its rings: without room for them in the
 * journal, and with rings that cannot be mapped. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_drain_bench.h"

static uint64_t taken;

static void count_record(void *state, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    (void)state, (void)record, (void)origin;
    taken++;
}

static void *create(struct pw_rankfile *file)
{
    (void)file;
    return &taken;
}

static const struct pw_module counter[] = {
    {.name = "counter",
     .activity = PW_ACTIVITY_ANNOTATIONS,
     .first_type = PW_REC_RANGE,
     .last_type = PW_REC_STEP,
     .create = create,
     .record = count_record},
    {.name = NULL},
};

static int setup(void **state)
{
    taken = 0;
    return bench_create(state, counter, PW_ACTIVITY_ANNOTATIONS);
}

/* Lets files grow by so many bytes more than the journal has; NO_LIMIT: as they like. */
enum { NO_LIMIT = INT32_MAX };

static void limit_files(const struct bench *b, int more)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur =
        more == NO_LIMIT ? limit.rlim_max : (rlim_t)(pw_journal_bytes(b->journal) + more);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* As a recovery does: another one goes on with the journal and the rings. */
static void begin_again(struct bench *b)
{
    int has_end;
    int64_t written_ns;
    limit_files(b, NO_LIMIT);
    pw_drain_destroy(b->drain);
    pw_journal_close(b->journal);
    assert_int_equal(pw_journal_resume_ended(b->dir, 0, &b->journal, &has_end, &written_ns), 0);
    assert_false(has_end);
    b->drain = pw_drain_create(b->name, b->segment, b->journal, NULL);
    assert_non_null(b->drain);
}

static void assert_in_journal(const struct bench *b, uint32_t records, int ringless, int ends)
{
    char path[UNIT_PATH];
    struct pw_journal_reader *reader;
    struct pw_journal_block block;
    uint32_t n = 0;
    void *dir = b->dir;
    assert_int_equal(pw_journal_open(unit_path(path, &dir, "rank-00000.journal"), &reader), 0);
    while (pw_journal_next(reader, &block)) {
        n += block.kind == PW_JOURNAL_RECORDS ? block.records.n : 0;
        ringless -= block.kind == PW_JOURNAL_RINGLESS;
        ends -= block.kind == PW_JOURNAL_END;
    }
    pw_journal_reader_close(reader);
    assert_int_equal(n, records);
    assert_int_equal(ringless, 0);
    assert_int_equal(ends, 0);
}

/* A recovery that finds no room leaves the rings to the next one, and nothing is there twice. */
static void test_what_cannot_be_written_stays(void **state)
{
    enum { RECORDS = 300, HALF = 150 };
    struct bench *b = *state;
    struct pw_ring_shared *shared = b->rings[0].shared;
    const struct pw_journal_end end = {.exit_code = -1};
    signal(SIGXFSZ, SIG_IGN);
    begin_again(b);
    for (uint64_t i = 1; i <= RECORDS; i++) {
        const struct pw_record r = {.type = PW_REC_RANGE, .start = i, .end = i};
        bench_put(b, (int)(i % 2), &r);
    }
    pw_ring_count_loss(&b->rings[0], 8, 2000, PW_LOST_STEP);
    for (int i = 0; i < 2; i++) { /* no record fits, and then those of one ring */
        limit_files(b, i ? 600 : 10);
        assert_int_equal(pw_drain_finish_whole(b->drain), -EFBIG);
        assert_int_equal(atomic_load(&shared->tail), i ? HALF : 0);
        assert_int_equal(atomic_load(&b->rings[1].shared->tail), 0);
        begin_again(b);
        assert_in_journal(b, i ? HALF : 0, 0, 0);
    }
    assert_int_equal(pw_drain_finish_whole(b->drain), 0);
    limit_files(b, -60); /* of the last block */
    assert_int_equal(pw_journal_add_whole_end(b->journal, &end), -EFBIG);
    begin_again(b);
    assert_int_equal(pw_drain_finish_whole(b->drain), 0);
    assert_int_equal(pw_journal_add_whole_end(b->journal, &end), 0);
    assert_int_equal(atomic_load(&shared->tail), HALF);
    assert_in_journal(b, RECORDS, 1, 1);
}

/* A third ring with so many records, which the drain has not seen yet. */
static void use_third_ring(struct bench *b, uint64_t records)
{
    struct pw_ring_shared *shared;
    struct pw_ring ring;
    uint64_t capacity;
    assert_int_equal(pw_segment_allocate_ring(b->name, b->segment, 2), 0);
    assert_int_equal(pw_segment_map_ring(b->name, b->segment, 2, &shared, &capacity), 0);
    pw_ring_init(&ring, shared, capacity);
    for (uint64_t i = 1; i <= records; i++) {
        struct pw_record *r = pw_ring_reserve(&ring, i, PW_LOST_RANGE);
        assert_non_null(r);
        *r = (struct pw_record){.type = PW_REC_RANGE, .start = i, .end = i};
        pw_ring_commit(&ring);
    }
    pw_segment_unmap_ring(shared, capacity);
    atomic_store(&b->segment->nrings, 3);
}

static void limit_descriptors(int more)
{
    static struct rlimit before;
    struct rlimit none = {0, 0};
    if (more) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        return;
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

/* A collector that cannot map a ring for want of something leaves it to a recovery. */
static void test_ring_that_cannot_be_mapped_yet(void **state)
{
    enum { RECORDS = 5 };
    struct bench *b = *state;
    use_third_ring(b, RECORDS);
    limit_descriptors(0);
    pw_drain_run(b->drain);
    const int err = pw_drain_finish(b->drain);
    limit_descriptors(1);
    assert_int_equal(err, -EMFILE);
    assert_int_equal(taken, 0);
    assert_in_journal(b, 0, 0, 0);
    assert_int_equal(pw_drain_finish(b->drain), 0); /* now it can */
    assert_int_equal(taken, RECORDS);
    assert_in_journal(b, RECORDS, 0, 0);
}

/* A ring that can never be mapped is counted: how many records it has is not known. */
static void test_ring_that_can_never_be_mapped(void **state)
{
    struct bench *b = *state;
    size_t n;
    use_third_ring(b, 1);
    atomic_store(&b->segment->rings[2].records, 3);
    bench_close(b);
    struct pw_row_gap *gaps = bench_rows(b, PW_TABLE_gap, &n);
    assert_int_equal(n, 1);
    assert_int_equal(gaps[0].reason, PW_REASON_NO_RING);
    assert_int_equal(gaps[0].kind, PW_LOST_OTHER);
    assert_int_equal(gaps[0].lost, 1);
    assert_true(gaps[0].start > 0);
    free(gaps);
}

/* When the collector last wrote is known to a second recovery, too, though the first one wrote. */
static void test_time_of_last_writing(void **state)
{
    const struct timespec then[] = {{1700000000, 5}, {1700000000, 5}};
    struct bench *b = *state;
    void *dir = b->dir;
    char path[UNIT_PATH];
    int has_end;
    int64_t written_ns;
    unit_path(path, &dir, "rank-00000.journal");
    pw_drain_destroy(b->drain); /* the journal must outlive it */
    b->drain = NULL;
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "half of a block", 15), 15);
    close(fd);
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    for (uint64_t i = 0; i < 3; i++) {
        const struct pw_record more = {.type = PW_REC_RANGE, .start = 1, .end = 1};
        pw_journal_close(b->journal);
        assert_int_equal(pw_journal_resume_ended(b->dir, 0, &b->journal, &has_end, &written_ns), 0);
        assert_int_equal(written_ns, INT64_C(1700000000000000005));
        assert_int_equal(pw_journal_position(b->journal, 0), i);
        pw_journal_add_records(b->journal, 0, i, &more, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_what_cannot_be_written_stays),
        ON_BENCH(test_ring_that_cannot_be_mapped_yet),
        ON_BENCH(test_ring_that_can_never_be_mapped),
        ON_BENCH(test_time_of_last_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
