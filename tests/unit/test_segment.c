/* Shared-memory segments: made private, refused when they are not ours, rings that have memory. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "rank/collect/selfcost.h"
#include "rank/ring/ring.h"

struct made {
    char name[PW_SEGMENT_NAME_SIZE];
    struct pw_segment_shared *segment;
};

/* Of rings of 1024 records, and of 2048: with their control, up to the next multiple of 64 KiB. */
enum { STRIDE = 131072, STRIDE_2048 = 196608 };

static struct made made;

static int create(void **state)
{
    *state = &made;
    return pw_segment_create(7, 1 << 16, made.name, &made.segment);
}

static int destroy(void **state)
{
    (void)state;
    pw_segment_detach(made.segment);
    return shm_unlink(made.name);
}

static struct stat stat_of(const char *name)
{
    struct stat st;
    int fd = shm_open(name, O_RDONLY, 0);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    return st;
}

static void test_create(void **state)
{
    struct made *m = *state;
    struct stat st = stat_of(m->name);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(m->segment->ring_records, 1024); /* 64 KiB of 64-byte records */
    assert_int_equal(m->segment->ring_stride, STRIDE);
    assert_int_equal(st.st_size, 65536 + 256 * STRIDE + PW_POOL_BYTES);
    assert_true(st.st_blocks * 512 < 1 << 16); /* memory is given out as rings are used */
    assert_int_equal(m->segment->uid, geteuid());
    assert_int_equal(atomic_load(&m->segment->tool_pid), getpid());
    assert_int_equal(atomic_load(&m->segment->guard_pid), getpid());
    assert_int_equal(atomic_load(&m->segment->nrings), 0);
    assert_memory_equal(m->name, "/profwrap-7-", 12);
    assert_int_equal(strlen(m->name), 12 + 32);
}

static void test_sizes_and_names(void **state)
{
    struct made *m = *state, other;
    assert_int_equal(pw_segment_create(7, 100000, other.name, &other.segment), 0);
    assert_int_equal(other.segment->ring_records, 2048); /* 1562, rounded up */
    assert_string_not_equal(other.name, m->name);
    pw_segment_detach(other.segment);
    assert_int_equal(shm_unlink(other.name), 0);
}

static void test_attach(void **state)
{
    struct made *m = *state;
    struct pw_segment_shared *seen = NULL;
    m->segment->level = 2;
    assert_int_equal(pw_segment_attach(m->name, &seen), 0);
    assert_ptr_not_equal(seen, m->segment);
    assert_int_equal(seen->level, 2);
    atomic_store(&seen->wake, 41);
    assert_int_equal(atomic_load(&m->segment->wake), 41);
    pw_segment_detach(seen);
    seen = NULL;
    assert_int_equal(pw_segment_attach("/profwrap-7-nonesuch", &seen), -ENOENT);
    assert_null(seen);
}

static void test_attach_refuses_open_modes(void **state)
{
    struct made *m = *state;
    struct pw_segment_shared *seen = NULL;
    struct pw_ring_shared *ring = NULL;
    uint64_t records;
    static const mode_t modes[] = {0604, 0640, 0602, 0660, 0666};
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 0), 0);
    int fd = shm_open(m->name, O_RDWR, 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(fchmod(fd, modes[i]), 0);
        assert_int_equal(pw_segment_attach(m->name, &seen), -EPERM);
        assert_int_equal(pw_segment_map_ring(m->name, m->segment, 0, &ring, &records), -EPERM);
        assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 0), -EPERM);
    }
    assert_int_equal(fchmod(fd, 0600), 0);
    if (geteuid() == 0 && fchown(fd, 65534, (gid_t)-1) == 0) { /* another user's */
        assert_int_equal(pw_segment_attach(m->name, &seen), -EPERM);
        assert_int_equal(fchown(fd, 0, (gid_t)-1), 0);
    }
    close(fd);
    assert_null(seen);
    assert_null(ring);
}

static void test_attach_refuses_strangers(void **state)
{
    struct made *m = *state;
    struct pw_segment_shared *seen = NULL;
    m->segment->magic ^= 1;
    assert_int_equal(pw_segment_attach(m->name, &seen), -EPROTO);
    m->segment->magic ^= 1;
    m->segment->version++;
    assert_int_equal(pw_segment_attach(m->name, &seen), -EPROTO);
    m->segment->version--;
    m->segment->uid++;
    assert_int_equal(pw_segment_attach(m->name, &seen), -EPROTO);
    m->segment->uid--;
    assert_int_equal(pw_segment_attach(m->name, &seen), 0);
    pw_segment_detach(seen);
}

static void test_attach_refuses_short(void **state)
{
    (void)state;
    char name[64];
    struct pw_segment_shared *seen = NULL;
    snprintf(name, sizeof(name), "/profwrap-unit-%d", (int)getpid());
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pw_segment_attach(name, &seen), -EPROTO); /* mapping it would be SIGBUS */
    assert_int_equal(ftruncate(fd, PW_SEGMENT_HEADER - 1), 0);
    assert_int_equal(pw_segment_attach(name, &seen), -EPROTO);
    /* Its creator was killed before it had memory: no page is touched, which would be SIGBUS too
     * where there is none to have. */
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(pw_segment_attach(name, &seen), -EPROTO);
    assert_int_equal(stat_of(name).st_blocks, 0);
    close(fd);
    shm_unlink(name);
    assert_null(seen);
}

static uint32_t state_of(const struct made *m, int index)
{
    return atomic_load(&m->segment->rings[index].state);
}

static void test_rings(void **state)
{
    struct made *m = *state;
    const int end = PW_MAX_RINGS - 1;
    struct pw_ring_shared *first, *last, *again;
    uint64_t records;
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 0), 0);
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, end), 0);
    assert_true(stat_of(m->name).st_blocks * 512 >= 2 * 65536);
    assert_int_equal(pw_segment_map_ring(m->name, m->segment, 0, &first, &records), 0);
    assert_int_equal(records, 1024);
    assert_int_equal(pw_segment_map_ring(m->name, m->segment, end, &last, &records), 0);
    assert_int_equal(records, 1024);
    assert_int_equal(state_of(m, 0), PW_RING_READY);

    struct pw_ring ring;
    pw_ring_init(&ring, last, records);
    for (uint64_t i = 0; i < 1024; i++) { /* to the last byte before the pool */
        struct pw_record *record = pw_ring_reserve(&ring, i, PW_LOST_OTHER);
        assert_non_null(record);
        memset(record, 0xff, sizeof(*record));
        pw_ring_commit(&ring);
    }
    assert_null(pw_ring_reserve(&ring, 0, PW_LOST_OTHER));
    assert_int_equal(atomic_load(&first->head), 0); /* rings do not overlap */

    atomic_store(&m->segment->rings[0].state, PW_RING_OWNED);
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 0), 0);
    assert_int_equal(state_of(m, 0), PW_RING_OWNED); /* not taken from its thread */
    assert_int_equal(pw_segment_map_ring(m->name, m->segment, 0, &again, &records), 0);
    atomic_store(&again->tail, 5);
    assert_int_equal(atomic_load(&first->tail), 5);
    pw_segment_unmap_ring(again, 1024);
    pw_segment_unmap_ring(first, 1024);
    pw_segment_unmap_ring(last, 1024);
}

/* Where in its file the mapping at this address begins. */
static unsigned long long offset_of(const void *address)
{
    char line[512];
    unsigned long long begin, offset, found = UINT64_MAX;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%llx-%*x %*s %llx", &begin, &offset) == 2 && begin == (uintptr_t)address)
            found = offset;
    fclose(maps);
    return found;
}

/* A machine with pages of 64 KiB can map every part. */
static void test_large_pages(void **state)
{
    struct made *m = *state;
    for (int i = 0; i < 3; i++) {
        struct pw_ring_shared *ring;
        uint64_t records;
        assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, i), 0);
        assert_int_equal(pw_segment_map_ring(m->name, m->segment, i, &ring, &records), 0);
        assert_int_equal(offset_of(ring), 65536 + i * STRIDE);
        pw_segment_unmap_ring(ring, records);
    }
    void *pool;
    assert_int_equal(pw_segment_allocate_pool(m->name, m->segment, PW_SEGMENT_PAGE), 0);
    assert_int_equal(pw_segment_map_pool(m->name, m->segment, PW_SEGMENT_PAGE, &pool), 0);
    assert_int_equal(offset_of(pool), 65536 + PW_MAX_RINGS * STRIDE);
    munmap(pool, PW_SEGMENT_PAGE);
}

/* What the system's answers are changed to (see the linker's --wrap): more than so many bytes at
 * once cannot be had; some calls are interrupted; so much of the file system is free. */
static off_t most_bytes = INT64_MAX;
static int interruptions;
static struct statfs *file_system;

int __real_posix_fallocate(int fd, off_t offset, off_t length);
int __wrap_posix_fallocate(int fd, off_t offset, off_t length);
int __wrap_posix_fallocate(int fd, off_t offset, off_t length)
{
    if (interruptions > 0) {
        interruptions--;
        return EINTR;
    }
    return length > most_bytes ? ENOSPC : __real_posix_fallocate(fd, offset, length);
}

int __real_fstatfs(int fd, struct statfs *out);
int __wrap_fstatfs(int fd, struct statfs *out);
int __wrap_fstatfs(int fd, struct statfs *out)
{
    if (!file_system)
        return __real_fstatfs(fd, out);
    *out = *file_system;
    return 0;
}

/* Memory that cannot be had is refused when it is asked for, not by SIGBUS at a later store. */
static void test_no_space(void **state)
{
    struct made *m = *state, other = {.segment = NULL};
    struct pw_ring_shared *ring = NULL;
    uint64_t records;
    void *pool = NULL;
    most_bytes = 0;
    int allocated = pw_segment_allocate_ring(m->name, m->segment, 0);
    int pooled = pw_segment_allocate_pool(m->name, m->segment, PW_SEGMENT_PAGE);
    int created = pw_segment_create(0, 1 << 16, other.name, &other.segment);
    most_bytes = INT64_MAX;
    assert_int_equal(allocated, -ENOSPC);
    assert_int_equal(pooled, -ENOSPC);
    assert_int_equal(created, -ENOSPC);
    assert_null(other.segment);
    assert_int_equal(shm_unlink(other.name), -1); /* nothing is left behind */
    assert_int_equal(pw_segment_map_ring(m->name, m->segment, 0, &ring, &records), -ENOENT);
    assert_int_equal(pw_segment_map_pool(m->name, m->segment, PW_SEGMENT_PAGE, &pool), -ENOENT);
    assert_null(ring);
    assert_null(pool);
    assert_int_equal(state_of(m, 0), PW_RING_NONE);
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 0), 0);
    assert_int_equal(state_of(m, 0), PW_RING_READY);
}

static uint64_t ring_in(struct made *m, int index)
{
    struct pw_ring_shared *ring;
    uint64_t records = 0;
    if (pw_segment_allocate_ring(m->name, m->segment, index))
        return 0;
    assert_int_equal(pw_segment_map_ring(m->name, m->segment, index, &ring, &records), 0);
    memset(pw_ring_records(ring), 1, records * sizeof(struct pw_record)); /* it has memory */
    pw_segment_unmap_ring(ring, records);
    return records;
}

/* Where shared memory is short a ring takes a small part of it, and the last of it is left. */
static void test_rings_shrink(void **state)
{
    (void)state;
    struct made m;
    struct statfs fs = {.f_bsize = 1 << 20, .f_blocks = 64};
    assert_int_equal(pw_segment_create(0, 1 << 20, m.name, &m.segment), 0);
    file_system = &fs;
    fs.f_bavail = 64; /* MiB, of which 8 are the program's */
    assert_int_equal(ring_in(&m, 0), 16384);
    fs.f_bavail = 20;
    assert_int_equal(ring_in(&m, 1), 8192);
    fs.f_bavail = 9;
    assert_int_equal(ring_in(&m, 2), 1024);
    fs.f_bavail = 8;
    assert_int_equal(ring_in(&m, 3), 0);
    fs.f_blocks = fs.f_bavail = 0; /* a file system without a limit */
    assert_int_equal(ring_in(&m, 3), 16384);
    file_system = NULL;
    most_bytes = 300000; /* others are faster */
    assert_int_equal(ring_in(&m, 4), 4096);
    most_bytes = INT64_MAX;
    atomic_store(&m.segment->memory_bytes, 1 << 20);
    assert_int_equal(ring_in(&m, 5), 2048);
    atomic_store(&m.segment->memory_bytes, -5);
    assert_int_equal(ring_in(&m, 6), 1024);
    assert_int_equal(ring_in(&m, 0), 16384); /* what has memory keeps its size */
    pw_segment_detach(m.segment);
    assert_int_equal(shm_unlink(m.name), 0);
}

/* A signal that is pending makes the system give back what it had given. */
static void test_interrupted(void **state)
{
    struct made *m = *state;
    interruptions = 3;
    assert_int_equal(ring_in(m, 0), 1024);
    assert_int_equal(interruptions, 0);
    interruptions = 1000;
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 1), -EINTR);
    interruptions = 0;
    assert_int_equal(ring_in(m, 1), 1024);
}

/* No part of the segment can be mapped or given memory, though ring 0 has it. */
static void assert_layout_is_refused(struct made *m)
{
    struct pw_ring_shared *ring = NULL;
    uint64_t records;
    void *pool = NULL;
    assert_int_equal(pw_segment_map_ring(m->name, m->segment, 0, &ring, &records), -EPROTO);
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 1), -EPROTO);
    assert_int_equal(pw_segment_map_pool(m->name, m->segment, PW_SEGMENT_PAGE, &pool), -EPROTO);
    assert_int_equal(pw_segment_allocate_pool(m->name, m->segment, PW_POOL_BYTES), -EPROTO);
    assert_null(ring);
    assert_null(pool);
}

/* Where rings are is not believed either: what is mapped behind the file's end is SIGBUS. */
static void test_lying_layout(void **state)
{
    struct made *m = *state;
    static const struct {
        uint64_t records, stride;
    } lies[] = {
        {1024, 0},
        {1024, 4096},
        {1024, STRIDE + 4096},
        {1024, PW_RING_CONTROL + 65536}, /* no multiple of 64 KiB */
        {1024, UINT64_MAX - 4095},
        {1024, UINT64_C(1) << 40},
        {2048, STRIDE},
        {2048, STRIDE_2048}, /* fit each other, not the file */
        {UINT64_C(1) << 30, 65536 + (UINT64_C(1) << 36)},
        {UINT64_C(1) << 58, 65536}, /* the product overflows */
        {3000, 262144},
        {0, 65536},
    };
    assert_int_equal(pw_segment_allocate_pool(m->name, m->segment, PW_SEGMENT_PAGE), 0);
    assert_int_equal(pw_segment_allocate_ring(m->name, m->segment, 0), 0);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        m->segment->ring_records = lies[i].records;
        m->segment->ring_stride = lies[i].stride;
        assert_layout_is_refused(m);
    }
    m->segment->ring_records = 1024;
    m->segment->ring_stride = STRIDE;
    assert_int_equal(ring_in(m, 0), 1024);
    const off_t size = stat_of(m->name).st_size;
    int fd = shm_open(m->name, O_RDWR, 0);
    assert_int_equal(ftruncate(fd, size - 1), 0);
    close(fd);
    assert_layout_is_refused(m);
}

/* What the header says is not believed as a length. */
static void test_lying_header(void **state)
{
    struct made *m = *state;
    struct pw_ring_shared *ring = NULL;
    uint64_t records;
    static const uint32_t lies[] = {3, 2048, UINT32_MAX, 1u << 31};
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        atomic_store(&m->segment->rings[0].records, lies[i]);
        assert_int_equal(pw_segment_map_ring(m->name, m->segment, 0, &ring, &records), -EPROTO);
    }
    assert_null(ring);
}

static void test_selfcost(void **state)
{
    struct made *m = *state;
    m->segment->tick_source = PW_TICK_RAW;
    double cost = pw_selfcost_event_ns(m->segment);
    assert_true(cost > 1 && cost < 100000);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(test_create),
        WITH(test_sizes_and_names),
        WITH(test_attach),
        WITH(test_attach_refuses_open_modes),
        WITH(test_attach_refuses_strangers),
        WITH(test_attach_refuses_short),
        WITH(test_rings),
        WITH(test_large_pages),
        WITH(test_no_space),
        WITH(test_rings_shrink),
        WITH(test_interrupted),
        WITH(test_lying_header),
        WITH(test_lying_layout),
        WITH(test_selfcost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
