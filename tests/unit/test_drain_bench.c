/* See test_drain_bench.h. */
#include "test_drain_bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int bench_create(void **state, const struct pw_module *modules, uint32_t activities)
{
    return bench_create_of(state, modules, activities, 1024);
}

int bench_create_of(void **state, const struct pw_module *modules, uint32_t activities,
                    uint64_t records)
{
    struct bench *b = calloc(1, sizeof(*b));
    const struct pw_identity id = {.size = 1, .job = "job", .hostname = "host"};
    pw_h5_quiet();
    if (unit_dir_create(&b->dir) ||
        pw_segment_create(0, records * sizeof(struct pw_record), b->name, &b->segment))
        return -1;
    b->segment->tick_source = PW_TICK_RAW;
    b->segment->activities = activities;
    for (int i = 0; i < 2; i++) {
        struct pw_ring_shared *shared;
        uint64_t capacity;
        if (pw_segment_allocate_ring(b->name, b->segment, i) ||
            pw_segment_map_ring(b->name, b->segment, i, &shared, &capacity))
            return -1;
        pw_ring_init(&b->rings[i], shared, capacity);
    }
    atomic_store(&b->segment->nrings, 2);
    if (pw_rankfile_create(b->dir, &id, "prog", 1, &b->file))
        return -1;
    b->read = -1;
    const struct pw_intake_setup setup = {
        .activities = activities, .tick_source = PW_TICK_RAW, .segment = b->segment};
    const struct pw_journal_head head = {.id = id, .activities = activities};
    if (pw_journal_create(b->dir, &head, &b->journal))
        return -1;
    pw_rankfile_use_journal(b->file, b->journal);
    b->intake = pw_intake_create(&setup, b->file, modules);
    if (!b->intake)
        return -1;
    b->drain = pw_drain_create(b->name, b->segment, b->journal, b->intake);
    *state = b;
    return b->drain ? 0 : -1;
}

void bench_put(struct bench *b, int ring, const struct pw_record *record)
{
    struct pw_record *slot = pw_ring_reserve(&b->rings[ring], record->end, PW_LOST_OTHER);
    assert_non_null(slot);
    *slot = *record;
    pw_ring_commit(&b->rings[ring]);
}

void bench_thread(struct bench *b, int ring, uint32_t thread, bool is_of_new_process)
{
    static uint64_t process;
    process += is_of_new_process;
    const struct pw_record record = {
        .type = PW_REC_THREAD,
        .thread = {.thread = thread, .tid = 1, .pid = 1, .process = process}};
    bench_put(b, ring, &record);
}

void bench_name(struct bench *b, uint32_t id, const char *text)
{
    struct pw_record r = {.type = PW_REC_STRING, .string = {.id = id, .total = strlen(text)}};
    assert_true(strlen(text) <= sizeof(r.string.bytes));
    memcpy(r.string.bytes, text, strlen(text));
    bench_put(b, 0, &r);
}

struct pw_record bench_hostile(uint64_t *seed, int type)
{
    struct pw_record r;
    uint64_t words[sizeof(r) / sizeof(uint64_t)];
    for (size_t w = 0; w < sizeof(r) / sizeof(uint64_t); w++)
        words[w] = unit_random(seed) >> (unit_random(seed) & 63);
    memcpy(&r, words, sizeof(r));
    r.type = (uint8_t)type;
    return r;
}

struct pw_row_kernel bench_kernel[64];

static void *kernels_create(struct pw_rankfile *file)
{
    return file;
}

static void kernels_record(void *state, const struct pw_record *record,
                           const struct pw_origin *origin)
{
    (void)origin;
    pw_rankfile_append(state, PW_TABLE_kernel, &bench_kernel[record->mark.value]);
}

const struct pw_module bench_kernels = {.name = "kernels",
                                        .activity = PW_ACTIVITY_NULL,
                                        .first_type = PW_REC_MARK,
                                        .last_type = PW_REC_MARK,
                                        .create = kernels_create,
                                        .record = kernels_record};

hid_t bench_close(struct bench *b)
{
    char path[UNIT_PATH];
    const struct pw_rankfile_end end = {.complete = 1, .pid = 1};
    pw_drain_finish(b->drain);
    pw_drain_destroy(b->drain);
    b->drain = NULL;
    pw_intake_finish(b->intake, pw_local_ns());
    pw_intake_destroy(b->intake);
    b->intake = NULL;
    assert_int_equal(pw_rankfile_close(b->file, &end), 0);
    b->file = NULL;
    assert_int_equal(pw_h5_open(unit_path(path, &b->dir, "rank-00000.h5"), &b->read), 0);
    return b->read;
}

void *bench_rows(struct bench *b, int table, size_t *count)
{
    void *rows = NULL;
    assert_int_equal(pw_h5_read_all(b->read, table, &rows, count), 0);
    return rows;
}

int bench_destroy(void **state)
{
    struct bench *b = *state;
    const struct pw_rankfile_end end = {.complete = 1};
    pw_drain_destroy(b->drain);
    pw_intake_destroy(b->intake);
    pw_journal_remove(b->journal);
    if (b->file)
        pw_rankfile_close(b->file, &end);
    if (b->read >= 0)
        H5Fclose(b->read);
    for (int i = 0; i < 2; i++)
        pw_segment_unmap_ring(b->rings[i].shared, b->rings[i].mask + 1);
    pw_segment_detach(b->segment);
    int err = shm_unlink(b->name) || unit_dir_destroy(&b->dir);
    free(b);
    return err;
}

void bench_assert_comm(const struct pw_row_comms *row, uint64_t uid, int size, int my_rank,
                       int64_t collectives)
{
    assert_int_equal(row->uid, uid);
    assert_int_equal(row->size, size);
    assert_int_equal(row->my_rank, my_rank);
    assert_int_equal(row->collectives, collectives);
}
