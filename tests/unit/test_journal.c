/* Journals: what was written comes back in order; a journal that ends anywhere, is damaged anywhere
 * or has no room gives what is before that; a rank file made from one is that of the rings. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank/journal/journal.h"
#include "rank/journal/journalform.h"
#include "rank/journal/losscount.h"

enum { RINGS = 3, BATCHES = 40, RINGLESS_END = 7 };

static const struct pw_journal_head head = {
    .id = {.rank = 2, .size = 4, .job = "job", .hostname = "host"},
    .start_unix_ns = 17,
    .compression = 1,
    .activities = PW_ACTIVITY_ANNOTATIONS,
    .command = "prog",
};

static struct pw_record record_at(uint64_t i)
{
    return (struct pw_record){.type = PW_REC_RANGE, .start = i * 10, .end = i * 10 + 5};
}

/* Batches of growing length on three rings, a reading and a row between them, an end. */
static struct pw_journal *write_journal(void **state, int with_end)
{
    struct pw_journal *j;
    uint64_t position[RINGS] = {0};
    assert_int_equal(pw_journal_create(*state, &head, &j), 0);
    for (int b = 0; b < BATCHES; b++) {
        struct pw_record batch[PW_JOURNAL_BATCH];
        const int ring = b % RINGS;
        const uint32_t n = 1 + (uint32_t)b * 25;
        for (uint32_t i = 0; i < n; i++)
            batch[i] = record_at(position[ring] + i);
        pw_journal_add_reading(j, (uint64_t)b * 1000, b * 500);
        pw_journal_add_records(j, ring, position[ring], batch, n);
        position[ring] += n;
        assert_int_equal(pw_journal_position(j, ring), position[ring]);
        const struct pw_record ringless = {.type = (uint8_t)(b % PW_REC_TYPE_COUNT),
                                           .end = RINGLESS_END};
        pw_journal_add_ringless(j, ring, &ringless);
        const struct pw_row_step row = {.step = b};
        pw_journal_add_row(j, PW_TABLE_step, &row);
    }
    if (with_end)
        pw_journal_add_end(j, &(struct pw_journal_end){.exit_code = 3, .pid = 77});
    assert_int_equal(pw_journal_commit(j), 0);
    return j;
}

struct found {
    uint64_t records, rings[RINGS];
    int readings, rows, ends, ringless, losses;
    uint64_t lost;
};

static uint64_t lost_of(const struct pw_record *loss)
{
    uint64_t lost = 0;
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        lost += loss->lost.lost[kind];
    return lost;
}

static struct found read_journal(const char *path)
{
    struct found f = {0};
    struct pw_journal_reader *r;
    struct pw_journal_block block;
    if (pw_journal_open(path, &r))
        return f;
    while (pw_journal_next(r, &block)) {
        if (block.kind == PW_JOURNAL_RECORDS) {
            assert_in_range(block.records.ring, 0, RINGS - 1);
            assert_int_equal(block.records.first, f.rings[block.records.ring]);
            for (uint32_t i = 0; i < block.records.n; i++) {
                struct pw_record wanted = record_at(f.rings[block.records.ring]++);
                assert_memory_equal(&block.records.records[i], &wanted, sizeof(wanted));
            }
            f.records += block.records.n;
        }
        if (block.kind == PW_JOURNAL_ROW_OF) {
            assert_int_equal(block.row.table, PW_TABLE_step);
            assert_int_equal(((const struct pw_row_step *)block.row.row)->step, f.rows++);
        }
        if (block.kind == PW_JOURNAL_RINGLESS) {
            const struct pw_record *record = &block.records.records[0];
            f.ringless++;
            f.losses += record->type == PW_REC_LOST && record->end != RINGLESS_END;
            f.lost += record->end != RINGLESS_END ? lost_of(record) : 0;
        }
        f.readings += block.kind == PW_JOURNAL_READING;
        if (block.kind == PW_JOURNAL_END)
            assert_int_equal(block.end.exit_code, 3);
        f.ends += block.kind == PW_JOURNAL_END;
    }
    pw_journal_reader_close(r);
    return f;
}

static uint64_t records_of_all(void)
{
    uint64_t n = 0;
    for (int b = 0; b < BATCHES; b++)
        n += 1 + (uint64_t)b * 25;
    return n;
}

static void test_round_trip(void **state)
{
    char path[UNIT_PATH];
    struct stat st;
    struct pw_journal *j = write_journal(state, 1);
    unit_path(path, state, "rank-00002.journal");
    struct found f = read_journal(path);
    assert_int_equal(f.records, records_of_all());
    assert_int_equal(f.readings, BATCHES);
    assert_int_equal(f.rows, BATCHES);
    assert_int_equal(f.ends, 1);
    assert_int_equal(f.ringless, BATCHES); /* of every type */
    assert_int_equal(f.losses, 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(pw_journal_bytes(j), st.st_size);
    pw_journal_remove(j);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Only one may write it; the next goes on where the last one stopped. */
static void test_resume(void **state)
{
    int has_end;
    struct pw_journal *other, *j = write_journal(state, 0);
    assert_int_equal(pw_journal_create(*state, &head, &other), -EEXIST);
    assert_int_equal(pw_journal_resume(*state, 2, &other, &has_end), -EBUSY);
    assert_int_equal(pw_journal_resume(*state, 3, &other, &has_end), -ENOENT);
    uint64_t position = pw_journal_position(j, 1);
    pw_journal_close(j);
    assert_int_equal(pw_journal_resume(*state, 2, &other, &has_end), 0);
    assert_int_equal(has_end, 0);
    assert_int_equal(pw_journal_position(other, 1), position);
    struct pw_record more = record_at(position);
    pw_journal_add_records(other, 1, position, &more, 1);
    pw_journal_add_end(other, &(struct pw_journal_end){.exit_code = 3});
    pw_journal_close(other);
    assert_int_equal(pw_journal_resume(*state, 2, &other, &has_end), 0);
    assert_int_equal(has_end, 1);
    char path[UNIT_PATH];
    assert_int_equal(read_journal(unit_path(path, state, "rank-00002.journal")).records,
                     records_of_all() + 1);
    pw_journal_close(other);
}

static char *read_bytes(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    char *bytes = malloc((size_t)st.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    *size = (size_t)st.st_size;
    return bytes;
}

/* Writes a journal of all kinds of records: its path and bytes, which the caller frees. */
static char *written_bytes(void **state, char path[UNIT_PATH], size_t *size)
{
    pw_journal_close(write_journal(state, 1));
    return read_bytes(unit_path(path, state, "rank-00002.journal"), size);
}

/* Cut at every kind of place: a prefix is read, and can be gone on with. */
static void test_torn(void **state)
{
    char path[UNIT_PATH];
    size_t size;
    uint64_t last = 0;
    char *bytes = written_bytes(state, path, &size);
    for (size_t cut = size; cut > 4000; cut -= cut % 97 + 1) {
        assert_int_equal(truncate(path, (off_t)cut), 0);
        struct found f = read_journal(path);
        assert_true(last == 0 || f.records <= last);
        last = f.records;
    }
    assert_in_range(last, 0, 1000);
    for (size_t cut = 3000; cut < size; cut += 1009) {
        int has_end;
        struct pw_journal *j;
        unlink(path);
        unit_write(path, bytes, cut, 0600);
        uint64_t before = read_journal(path).records;
        assert_int_equal(pw_journal_resume(*state, 2, &j, &has_end), 0);
        struct pw_record more = record_at(pw_journal_position(j, 0));
        pw_journal_add_records(j, 0, pw_journal_position(j, 0), &more, 1);
        pw_journal_close(j);
        assert_int_equal(read_journal(path).records, before + 1);
    }
    assert_int_equal(truncate(path, 100), 0);
    struct pw_journal *none;
    int has_end;
    assert_int_equal(pw_journal_resume(*state, 2, &none, &has_end), -EBADMSG);
    free(bytes);
}

/* A flipped bit ends it there; what is before is read. */
static void test_damaged(void **state)
{
    char path[UNIT_PATH];
    size_t size;
    uint64_t seed = 3;
    char *bytes = written_bytes(state, path, &size);
    for (int round = 0; round < 300; round++) {
        size_t at = unit_random(&seed) % size;
        bytes[at] ^= (char)(1 << unit_random(&seed) % 8);
        unlink(path);
        unit_write(path, bytes, size, 0600);
        struct found f = read_journal(path);
        assert_true(f.records < records_of_all() || f.rows < BATCHES || f.ends == 0 ||
                    f.readings < BATCHES);
        unlink(path);
        unit_write(path, bytes, size, 0600);
        bytes[at] ^= bytes[at]; /* and worse from here on */
    }
    free(bytes);
}

/* Version 6 numbered the types of records in another way: nothing of it is read. */
static void test_older(void **state)
{
    char path[UNIT_PATH];
    size_t size;
    char *bytes = written_bytes(state, path, &size);
    struct pw_block_header header;
    struct pw_block_head block;
    struct pw_journal_reader *r;
    memcpy(&header, bytes, sizeof(header));
    memcpy(&block, bytes + sizeof(header), sizeof(block));
    assert_true(PW_JOURNAL_VERSION > 6);
    for (int is_older = 0; is_older < 2; is_older++) {
        block.version = is_older ? 6 : PW_JOURNAL_VERSION;
        header.check = 0;
        header.check = pw_block_check(&header, &block);
        memcpy(bytes, &header, sizeof(header));
        memcpy(bytes + sizeof(header), &block, sizeof(block));
        unlink(path);
        unit_write(path, bytes, size, 0600);
        assert_int_equal(pw_journal_open(path, &r), is_older ? -EBADMSG : 0);
        if (!is_older)
            pw_journal_reader_close(r);
    }
    free(bytes);
}

/* A limit on file sizes is a full disk: the end, and how much is lacking, are there all the same.
 */
static void test_full(void **state)
{
    char path[UNIT_PATH];
    unit_path(path, state, "rank-00002.journal");
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {20000, 20000};
        struct pw_journal *j;
        struct pw_record batch[100];
        uint64_t position = 0;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        if (pw_journal_create(*state, &head, &j))
            _exit(1);
        while (position < 100000) {
            for (uint64_t i = 0; i < 100; i++)
                batch[i] = record_at(position + i);
            pw_journal_add_records(j, 0, position, batch, 100);
            position += 100;
        }
        if (pw_journal_commit(j) == 0)
            _exit(2);
        pw_journal_add_end(j, &(struct pw_journal_end){.exit_code = 3});
        pw_journal_close(j);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    struct found f = read_journal(path);
    assert_int_equal(f.ends, 1);
    assert_int_equal(f.losses, 1);
    assert_true(f.records > 100);
    assert_int_equal(f.records + f.lost, 100000);
}

static void add_many(struct pw_journal *j, uint64_t first, uint64_t end)
{
    struct pw_record batch[100];
    for (uint64_t position = first; position < end; position += 100) {
        for (uint64_t i = 0; i < 100; i++)
            batch[i] = record_at(position + i);
        pw_journal_add_records(j, 0, position, batch, 100);
    }
}

static void fill_disk(const char *path)
{
    static const char zeros[4096];
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    while (write(fd, zeros, sizeof(zeros)) > 0)
        ;
    close(fd);
}

/* Begins a journal on a disk of 1 MiB, in a mount namespace of the process's own: 77 where there
 * can be none. */
static int create_on_small_disk(const char *dir, struct pw_journal **j)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", dir, "tmpfs", 0, "size=1m"))
        return 77;
    return pw_journal_create(dir, &head, j) ? 1 : 0;
}

/* Skips the test if the child could make no disk, and fails it if the child found something wrong.
 */
static void await_child_with_disk(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: no mount namespace of our own\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* Writes a journal that fills its last page, fills the disk, and has a second writer add `more`
 * records and the end. In a process and mount namespace of its own. */
static int write_on_full_disk(const char *dir, const char *filler, uint64_t more, uint64_t *all)
{
    enum { LEAST_BLOCK = 24 }; /* bytes: no block is shorter */
    struct pw_journal *j;
    int has_end, err = create_on_small_disk(dir, &j);
    if (err)
        return err;
    uint64_t n = 0;
    for (; pw_journal_bytes(j) % 4096 < 4096 - LEAST_BLOCK; n++) {
        const struct pw_record one = record_at(n);
        pw_journal_add_records(j, 0, n, &one, 1);
    }
    fill_disk(filler);
    pw_journal_close(j);
    if (pw_journal_resume(dir, head.id.rank, &j, &has_end) || has_end)
        return 2;
    add_many(j, n, n + more);
    *all = n + (more + 99) / 100 * 100;
    if (pw_journal_commit(j) != -ENOSPC)
        return 3;
    pw_journal_add_end(j, &(struct pw_journal_end){.exit_code = 3});
    pw_journal_close(j);
    return 0;
}

/* A disk without room for one more block, which a second writer meets: the end, and how much is
 * lacking, have a place that was kept for them. */
static void test_full_disk(void **state)
{
    enum { MORE = 100000 };
    char path[UNIT_PATH], filler[UNIT_PATH];
    unit_path(path, state, "rank-00002.journal");
    unit_path(filler, state, "filler");
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t all = 0;
        int result = write_on_full_disk(*state, filler, MORE, &all);
        struct found f = {0};
        if (!result)
            f = read_journal(path);
        if (!result && (f.ends != 1 || f.losses != 1))
            result = 4;
        if (!result && (f.lost == 0 || (uint64_t)(f.records + f.lost) != all))
            result = 5;
        _exit(result);
    }
    await_child_with_disk(pid);
}

/* Fills the disk beside a journal whose last block has its place and no more than the end's behind
 * it, and adds `ringless` records that are in no ring (each tenth one is a loss of 5), and the end.
 * In a process and mount namespace of its own. */
static int write_ringless_on_full_disk(const char *dir, const char *filler, int ringless)
{
    char path[UNIT_PATH];
    struct pw_journal *j;
    int has_end, err = create_on_small_disk(dir, &j);
    if (err)
        return err;
    add_many(j, 0, 500);
    const off_t length = pw_journal_bytes(j);
    pw_journal_close(j);
    snprintf(path, sizeof(path), "%s/rank-00002.journal", dir);
    if (truncate(path, length)) /* without what was allocated ahead */
        return 2;
    fill_disk(filler);
    struct stat st;
    if (stat(filler, &st) || truncate(filler, st.st_size - 12288) ||
        pw_journal_resume(dir, head.id.rank, &j, &has_end))
        return 3;
    add_many(j, 500, 600);
    if (pw_journal_commit(j))
        return 4;
    fill_disk(filler);
    for (int i = 0; i < ringless; i++) {
        const struct pw_record range = record_at((uint64_t)i);
        const struct pw_record loss = {.type = PW_REC_LOST, .end = 9, .lost = {{2, 3}}};
        pw_journal_add_ringless(j, 0, i % 10 ? &range : &loss);
    }
    pw_journal_add_end(j, &(struct pw_journal_end){.exit_code = 3});
    err = pw_journal_commit(j);
    pw_journal_close(j);
    return err ? 5 : 0;
}

/* What must be in the journal then: all records, and each one ringless or its number. */
static int check_ringless(const char *path, int ringless)
{
    const struct found f = read_journal(path);
    const uint64_t told = (uint64_t)(ringless / 10 * 5 + ringless - ringless / 10);
    const uint64_t kept = (uint64_t)(f.ringless - f.losses);
    if (f.ends != 1)
        return 6;
    if (f.records != 600)
        return 7;
    return kept + f.lost == told ? 0 : 8;
}

/* Records that are in no ring when the disk is full: as many as the place that is kept for the end
 * can take are written, of more the end tells how many they are; and no record gives way to it. */
static void test_full_disk_with_ringless(void **state)
{
    static const int counts[] = {20, 100, 10000};
    char path[UNIT_PATH], filler[UNIT_PATH];
    unit_path(path, state, "rank-00002.journal");
    unit_path(filler, state, "filler");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            int result = write_ringless_on_full_disk(*state, filler, counts[i]);
            _exit(result ? result : check_ringless(path, counts[i]));
        }
        await_child_with_disk(pid);
    }
}

/* A record of losses that is lost itself: the losses are still lost. */
static void test_losses_that_are_lost(void **state)
{
    (void)state;
    struct pw_record records[] = {
        {.type = PW_REC_LOST, .start = 3, .end = 9},
        {.type = PW_REC_COMM, .start = 10, .end = 11},
        {.type = PW_REC_COMM, .start = 12, .end = 13},
        {.type = PW_REC_LOST, .start = 14, .end = 15},
        {.type = PW_REC_RANGE, .start = 16, .end = 17},
    };
    records[0].lost.lost[PW_LOST_COMMUNICATION] = 100;
    records[3].lost.lost[PW_LOST_COMMUNICATION] = 20;
    records[3].lost.lost[PW_LOST_STEP] = 7;
    const struct pw_losscount all = pw_losscount_of(records, 5);
    assert_int_equal(all.by_kind[PW_LOST_COMMUNICATION], 122);
    assert_int_equal(all.by_kind[PW_LOST_RANGE], 1);
    assert_int_equal(all.by_kind[PW_LOST_STEP], 7);
    assert_int_equal(all.by_kind[PW_LOST_OTHER], 0);
    assert_int_equal(all.n, 130);
    assert_int_equal(all.start, 3);
    assert_int_equal(all.end, 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_that_are_lost),
        UNIT_IN_DIR(test_round_trip),
        UNIT_IN_DIR(test_resume),
        UNIT_IN_DIR(test_torn),
        UNIT_IN_DIR(test_damaged),
        UNIT_IN_DIR(test_older),
        UNIT_IN_DIR(test_full),
        UNIT_IN_DIR(test_full_disk),
        UNIT_IN_DIR(test_full_disk_with_ringless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
